"""The circuit breaker of the states format: who is asked, what they are shown, and what becomes of their decision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kit import Ended, Project, closing, new_project

pytestmark = pytest.mark.slow

FREE = "cost_per_1k: {input: 0, output: 0}"
FLOW = f"""\
name: post
orchestrator:
  agent: boss
  session: {{enabled: true}}
  checkpoints: CHECKPOINTS
agents:
  boss:
    type: cli
    command: tools/boss
    resume_command: "tools/boss --resume {{session_id}}"
    token_tracking: {{result_field: answer, session_field: id}}
    {FREE}
  ann: {{type: cli, command: "tools/say ann", {FREE}}}
  ben: {{type: cli, command: "tools/say ben", {FREE}}}
  gate: {{type: cli, command: tools/gate, persona: prompts/gate.md, {FREE}}}
  strict: {{type: cli, command: tools/strict, persona: prompts/gate.md, {FREE}}}
states:
  draft:
    type: fan-out
    agents: [ann, ben]
    output: "drafts/{{agent}}_draft.md"
    transitions: {{all_success: draft-check, partial_success: draft-check, all_failure: halt}}
  draft-check:
    type: single
    agent: gate
    input: "drafts/*.md"
    transitions: {{proceed: merge, retry: draft, halt: halt}}
  merge:
    type: single
    agent: ann
    input: "drafts/*.md"
    output: final/post.md
    transitions: {{success: final-check, failure: halt}}
  final-check:
    type: single
    agent: strict
    input: "drafts/*.md"
    output: reviews/final.json
    transitions: {{proceed: complete, retry: complete, halt: halt}}
circuit_breaker:
  rules: RULES
"""
LOOP = '[{name: state_visit_limit, condition: "state_visits[state] >= 3"}]'
SAY = """\
#!/bin/sh
prompt=$(cat)
case $prompt in
  *"one more"*) n=2 ;;
  *) n=1 ;;
esac
case $prompt in
  *"draft 1 of ann"*) echo "a post of the first drafts" ;;
  *"draft 2 of ann"*) echo "a post of the second drafts" ;;
  *) echo "draft $n of $1" ;;
esac
"""
STUBBORN = """\
#!/bin/sh
prompt=$(cat)
case $prompt in
  *"draft 1 of ann"*) printf '{"decision": "retry", "quality_score": 6, "retry_guidance": "one more"}' ;;
  *) printf '{"decision": "retry", "quality_score": 4, "retry_guidance": "one more"}' ;;
esac
"""
PROCEED = '#!/bin/sh\ncat > /dev/null\nprintf \'{"decision": "proceed", "quality_score": %s}\'\n'


def boss(*answers: dict[str, Any]) -> str:
    """An orchestrator with a conversation: each turn has the next answer, and only a resumed one knows the turn before."""
    cases = "\n".join(
        f"  {number}) answer={json.dumps(json.dumps(json.dumps(answer)))} ;;"
        for number, answer in enumerate(answers, 1)
    )
    return f"""\
#!/bin/sh
turn=1
[ "$1" = --resume ] && turn=$(( ${{2#turn-}} + 1 ))
cat > /dev/null
case $turn in
{cases}
esac
printf '{{"answer": %s, "id": "turn-%s"}}' "$answer" "$turn"
"""


def play(
    project: Project, flow: str, *answers: dict[str, Any], gate: str = STUBBORN, strict: int = 8
) -> Ended:
    files = {
        "post.yaml": flow,
        "prompts/gate.md": "You judge.\n",
        "tools/say": SAY,
        "tools/gate": gate,
        "tools/strict": PROCEED % strict,
        "tools/boss": boss(*answers),
    }
    project.put(files)
    for name in ("say", "gate", "strict", "boss"):
        (project.root / "tools" / name).chmod(0o755)
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "programs")
    return project.podium("run", "post.yaml", "--json", "--no-human")


def flow(rules: str = LOOP, checkpoints: str = "[{on: loop_warning}]") -> str:
    return FLOW.replace("RULES", rules).replace("CHECKPOINTS", checkpoints)


def visits(data: Any) -> list[str]:
    return [f"{step['path']} {step['outcome']}" for step in data["steps"] if "/" not in step["path"]]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return new_project(tmp_path, {"readme.md": "A project.\n"})


@pytest.mark.req("R128", "R129")
def test_force_complete_accepts_the_best_draft_and_does_not_ask_its_gate_again(project: Project) -> None:
    with closing(project):
        done = play(project, flow(), {"decision": "force_complete", "reasoning": "Quality plateaued."})

        assert done.code == 0, done.err
        assert visits(done.data()) == [
            "draft passed",
            "draft_check rejected",
            "draft~2 passed",
            "draft_check~2 rejected",
            "draft~3 passed",
            "draft_check~3 passed",
            "merge passed",
            "final_check passed",
        ]
        # The first drafts had the better score.
        assert (project.root / "drafts/ann_draft.md").read_text() == "draft 1 of ann\n"
        assert (project.root / "final/post.md").read_text() == "a post of the first drafts\n"


def test_force_complete_takes_the_named_version_and_proceeds_from_the_named_state(project: Project) -> None:
    answer = {
        "decision": "force_complete",
        "reasoning": "The second is warmer.",
        "use_output": "drafts/ann_draft_v2.md",
        "proceed_from": "final-check",
    }
    with closing(project):
        done = play(project, flow(), answer)

        assert done.code == 0, done.err
        assert visits(done.data())[4:] == ["draft~3 passed", "final_check passed"]
        assert (project.root / "drafts/ann_draft.md").read_text() == "draft 2 of ann\n"
        versions = project.root / ".podium/runs" / done.data()["run"] / "versions"
        assert (versions / "drafts/ann_draft_v1.md").read_text() == "draft 1 of ann\n"


@pytest.mark.req("R128")
def test_the_orchestrator_is_shown_the_outputs_of_a_fan_out_by_their_names(project: Project) -> None:
    with closing(project):
        done = play(project, flow(), {"decision": "halt", "reasoning": "Stop.", "error": "No story."})

        assert done.code == 1
        run = done.data()["run"]
        asked = project.podium("prompt", run, "#1/!advice").out
        for shown in ("draft 2 of ben", "- drafts/ben_draft_v1.md of draft", "scores 6, 4", "visits"):
            assert shown in asked, asked
        log = (project.root / ".podium/runs" / run / "audit.log").read_text()
        assert "advice    #1/!advice about visits: halt by orchestrator: Stop." in log
        assert "halt by orchestrator: Stop." in project.podium("show", run).out
        summary = (project.root / ".podium/runs" / run / "run_summary.md").read_text()
        assert "| `#1/!advice` | visits | halt | orchestrator | Stop. |" in summary


@pytest.mark.req("R068", "C5")
def test_the_orchestrator_keeps_its_conversation(project: Project) -> None:
    once = {"decision": "proceed", "reasoning": "Allow one more try.", "override_limit": True}
    with closing(project):
        done = play(project, flow(), once, once, {"decision": "halt", "reasoning": "The third answer."})

        assert done.code == 1
        log = (project.root / ".podium/runs" / done.data()["run"] / "audit.log").read_text()
        assert "halt by orchestrator: The third answer." in log


@pytest.mark.req("R129")
def test_dump_context_writes_its_dump(project: Project) -> None:
    with closing(project):
        done = play(
            project, flow(), {"decision": "dump_context", "reasoning": "Unexpected.", "dump_path": "x"}
        )

        assert done.code == 1
        folder = project.root / ".podium/runs" / done.data()["run"]
        dump = json.loads((folder / "debug_dump.json").read_text())
        assert dump["advice"] == [{"step": "#1/!advice", "rule": "visits", "decision": "dump_context",
                                   "by": "orchestrator", "reason": "Unexpected."}]  # fmt: skip
        assert dump["state_visits"] == {"draft": 2, "draft_check": 2}
        assert dump["transition_history"] == ["draft", "draft_check", "draft~2", "draft_check~2"]
        assert "debug_dump.json" in project.podium("show", done.data()["run"]).out


@pytest.mark.req("R131")
def test_repeated_retry_counts_how_often_a_gate_sent_a_state_back(project: Project) -> None:
    with closing(project):
        done = play(
            project,
            flow("[]", "[{on: repeated_retry}]"),
            {"decision": "halt", "reasoning": "Twice is enough."},
        )

        assert done.code == 1
        log = (project.root / ".podium/runs" / done.data()["run"] / "audit.log").read_text()
        assert "about sent_back: halt by orchestrator: Twice is enough." in log


@pytest.mark.req("R131")
def test_gates_that_disagree_about_the_same_drafts_are_a_checkpoint(project: Project) -> None:
    with closing(project):
        done = play(
            project,
            flow("[]", "[{on: quality_gate_disagree}, {on: workflow_complete}]"),
            {"decision": "proceed", "reasoning": "The stricter one is right."},
            {"decision": "proceed", "reasoning": "Done."},
            gate=PROCEED % 9,
            strict=3,
        )

        assert done.code == 0, done.err
        log = (project.root / ".podium/runs" / done.data()["run"] / "audit.log").read_text()
        assert "about disagree: proceed by orchestrator: The stricter one is right." in log
        assert "about complete: proceed by orchestrator: Done." in log
