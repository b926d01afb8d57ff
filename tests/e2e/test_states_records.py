"""The records of a states-format run: its summary, its log texts, its name in the project, and how long it is kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

FLOW = """\
name: post
orchestrator: {agent: ann}
agents:
  ann: {type: cli, command: "tools/say ann {prompt}", PROGRAM}
  ben: {type: cli, command: "tools/say ben {prompt}", PROGRAM}
  gate: {type: cli, command: tools/gate, persona: prompts/gate.md, cost_per_1k: {input: 0, output: 0}}
states:
  start: {type: initial, next: draft, on_enter: [{log: Starting workflow}, {validate: input_exists}]}
  draft:
    type: fan-out
    agents: [ann, ben]
    input: "stories/{story}.md"
    output: "drafts/{agent}_draft.md"
    on_enter: [{log: Drafting}]
    transitions: {all_success: check, partial_success: check, all_failure: halt}
  check:
    type: single
    agent: gate
    input: "drafts/*.md"
    output: reviews/draft.json
    transitions: {proceed: final-check, retry: draft, halt: halt}
  final-check:
    type: single
    agent: gate
    input: "drafts/*.md"
    transitions: {proceed: synthesize, retry: draft, halt: halt}
  synthesize:
    type: orchestrator-task
    input: "drafts/*.md"
    output: final/final_post.md
    transitions: {success: final-analysis, failure: halt}
  final-analysis:
    type: orchestrator-task
    input: final/final_post.md
    output: analysis/final_analysis.md
    transitions: {success: complete, failure: halt}
  complete: {type: terminal, on_enter: [{log: Workflow complete}, {generate: run_summary.md}]}
  halt: {type: terminal, error: true}
logging:
  runs_dir: workflow/runs
  run_id_format: "{date}_{time}_{story}"
  retention_days: 0
  summaries: SUMMARIES
"""
PROGRAM = (
    "token_tracking: {input_field: usage.in, output_field: usage.out, result_field: answer}, "
    "context_window: 1000, cost_per_1k: {input: 0.001, output: 0.002}"
)
SAY = """\
#!/bin/sh
case $2 in
  *"state final-analysis"*) answer="Ready for publication." ;;
  *"state synthesize"*) answer="The GPU hit 94 degrees. It was loud." ;;
  *) answer="Words of $1 about rain" ;;
esac
printf '{"answer": "%s", "usage": {"in": 600, "out": 100}}' "$answer"
"""
GATE = """\
#!/bin/sh
cat > /dev/null
printf '{"decision": "proceed", "quality_score": 8, "scores": {"ann": 9, "ben": 7}, "issues": [{"severity": "minor", "issue": "No number"}]}'
"""


def play(tmp_path: Path, summaries: str) -> tuple[Project, Path]:
    files = {
        "post.yaml": FLOW.replace("SUMMARIES", summaries).replace("PROGRAM", PROGRAM),
        "stories/post_03.md": "Rain.\n",
        "prompts/gate.md": "You judge.\n",
        "tools/say": SAY,
        "tools/gate": GATE,
    }
    project = new_project(tmp_path, files)
    for name in ("say", "gate"):
        (project.root / "tools" / name).chmod(0o755)
    project.git("commit", "-q", "-a", "-m", "programs")
    done = project.podium("run", "post.yaml", "-i", "story=post_03", "--json")
    assert done.code == 0, done.err
    return project, project.root / ".podium/runs" / done.data()["run"]


@pytest.mark.req("R215", "R061")
def test_the_summary_has_tokens_windows_phases_scores_consensus_and_the_final_result(tmp_path: Path) -> None:
    project, folder = play(tmp_path, "{include_previews: true}")
    with closing(project):
        summary = (folder / "run_summary.md").read_text()
        for row in (
            "| ann |  | 3 | 1,800 | 0 | 300 | $0.0024 |",
            "| **total** |  | **6** |",
            "| `synthesize` | ann | 700 | 1,000 | 70% | watch |",
            "## Phase `draft`",
            "| ann | 5 | 700 | $0.0008 | Words of ann about rain |",
            "| `check/gate` | approve | 8/10 | ann 9, ben 7 |",
            "- all 2 decide: approve",
            "- mean score 8 of 2 judges, 0 apart",
            "- 2 judges: no number",
            "**Words:** 8",
            "**File:** `final/final_post.md`",
            "> The GPU hit 94 degrees. It was loud.",
            "- wrote `drafts/ben_draft.md`",
            "## Final determination\n\nReady for publication.",
        ):
            assert row in summary, summary
        assert (project.root / "final/final_post.md").read_text() == "The GPU hit 94 degrees. It was loud."


@pytest.mark.req("R040")
def test_the_summary_leaves_out_what_the_file_does_not_want(tmp_path: Path) -> None:
    wanted = "{include_previews: false, include_scores: false, include_token_summary: false}"
    project, folder = play(tmp_path, wanted)
    with closing(project):
        summary = (folder / "run_summary.md").read_text()
        for part in ("Words of ann", "## Audit scores", "## Agents", "The GPU hit"):
            assert part not in summary
        assert "**File:** `final/final_post.md`" in summary
        rebuilt = project.podium("show", "--rebuild")
        assert rebuilt.code == 0
        assert (folder / "run_summary.md").read_text() == summary


def test_a_file_may_want_no_summary(tmp_path: Path) -> None:
    project, folder = play(tmp_path, "{generate_markdown: false}")
    with closing(project):
        assert not (folder / "run_summary.md").exists()
        assert (folder / "run.json").exists()


@pytest.mark.req("R025", "R040")
def test_logs_names_and_retention_are_as_the_file_says(tmp_path: Path) -> None:
    project, folder = play(tmp_path, "{}")
    with closing(project):
        [link] = (project.root / "workflow/runs").iterdir()
        assert re.fullmatch(r"\d{4}-\d\d-\d\d_\d{6}_post_03", link.name)
        assert (link / "run_summary.md").samefile(folder / "run_summary.md")
        audit = (link / "audit.log").read_text()
        assert "log       draft Starting workflow; Drafting" in audit
        assert "run       passed, exit 0: Workflow complete" in audit
        assert '"log": "Starting workflow; Drafting"' in (link / "state_log.jsonl").read_text()

        listed = project.podium("gc", "--unlanded", "--json")
        assert [run["run"] for run in listed.data()["runs"]] == [folder.name]
