"""The states format from first to last state: every type of state, actions on entry, audits and verdicts."""

from __future__ import annotations

import json

import pytest

from podium.core.messages import Approve
from podium.errors import ConfigurationError
from tests.workflow.dialects.kit import ScriptedProject, status
from tests.workflow.dialects.test_blocks import top_level_steps

pytestmark = pytest.mark.slow

EVERY = """
orchestrator: {agent: claude}
agents:
  judge: {type: cli, command: "gemini {prompt}", persona: judge.md}
states:
  start: {type: initial, next: draft, on_enter: [{log: It begins}, {validate: input_exists}]}
  draft:
    type: fan-out
    agents: [claude, gemini, codex]
    input: story.md
    output: "drafts/{agent}.md"
    transitions: {all_success: cross-audit, partial_success: cross-audit, all_failure: halt}
  cross-audit:
    type: fan-out
    agents: [claude, gemini, codex]
    input: "drafts/*.md"
    output: "audits/{agent}.md"
    transitions: {all_success: synthesize, partial_success: synthesize, all_failure: halt}
  synthesize:
    type: orchestrator-task
    input: ["drafts/*.md", "audits/*.md"]
    output: final/post.md
    transitions: {success: check, failure: halt}
  check:
    type: single
    agent: judge
    input: final/post.md
    transitions: {proceed: final-audit, retry: synthesize, halt: halt}
  final-audit:
    type: fan-out
    agents: [claude, gemini, codex]
    input: final/post.md
    output: "last/{agent}.md"
    transitions: {all_success: final-analysis, partial_success: final-analysis, all_failure: halt}
  final-analysis:
    type: orchestrator-task
    input: ["final/post.md", "last/*.md"]
    output: final/analysis.md
    transitions: {success: approve, failure: halt}
  approve:
    type: human-approval
    input: final/post.md
    transitions: {approved: complete, feedback: synthesize, abort: halt}
  complete: {type: terminal, on_enter: [{log: It is published}, {generate: run_summary.md}]}
  halt: {type: terminal, error: true, on_enter: [{log: It was halted}]}
"""
AGENTS = ("claude", "gemini", "codex")
CAST = "".join(
    f"- {{match: {{step: {step}/{agent}}}, text: The {step} of {agent}.}}\n"
    for step in ("draft", "cross_audit", "final_audit")
    for agent in AGENTS
)
CAST += "- {match: {step: synthesize}, text: The best of all.}\n- {match: {step: final_analysis}, text: Publish it.}\n"
ALL_STEPS = ["draft", "cross_audit", "synthesize", "check", "final_audit", "final_analysis", "approve"]


@pytest.fixture
def post(project: ScriptedProject) -> ScriptedProject:
    project.write("judge.md", "You judge.\n")
    project.write("story.md", "A machine that wrote.\n")
    return project


@pytest.mark.req("R024", "R096", "R097", "R098")
def test_drafts_are_audited_merged_audited_again_and_approved(post: ScriptedProject) -> None:
    run, _ = post.run(post.write_workflow(EVERY, cast=CAST))
    post.say(run, Approve(post.view(run).pending[0].path, "approve", "ann"))
    assert status(post.resume(run)) == "passed"
    assert top_level_steps(post.ended_steps(run)) == ALL_STEPS
    for agent in AGENTS:
        prompt = post.prompt(run, f"cross_audit/{agent}")
        assert all(f"The draft of {other}." in prompt for other in AGENTS), "each agent gets all drafts"
        assert "The best of all." in post.prompt(run, f"final_audit/{agent}")
    prompt = post.prompt(run, "synthesize")
    assert all(
        f"The draft of {agent}." in prompt and f"The cross_audit of {agent}." in prompt for agent in AGENTS
    )
    prompt = post.prompt(run, "final_analysis")
    assert "The best of all." in prompt
    assert all(f"The final_audit of {agent}." in prompt for agent in AGENTS)
    assert post.artifacts(run)["final_analysis/analysis.md"] == b"Publish it."


@pytest.mark.req("R097")
def test_a_synthesis_gets_only_existing_drafts_and_audits(post: ScriptedProject) -> None:
    missing = "- {match: {step: draft/gemini}, error: refused}\n- {match: {step: cross_audit/codex}, error: refused}\n"
    run, _ = post.run(post.write_workflow(EVERY, cast=missing + CAST))
    prompt = post.prompt(run, "synthesize")
    for text, expected in (
        ("The draft of claude.", True),
        ("The draft of gemini.", False),
        ("draft from gemini", False),
        ("The cross_audit of gemini.", True),
        ("cross audit from codex", False),
    ):
        assert (text in prompt) is expected, text


@pytest.mark.req("R025")
def test_entry_actions_log_require_the_input_and_write_a_summary(post: ScriptedProject) -> None:
    file = post.write_workflow(EVERY, cast=CAST)
    run, _ = post.run(file)
    post.say(run, Approve(post.view(run).pending[0].path, "approve", "ann"))
    post.resume(run)
    folder = post.facade.paths.run_dir(run)
    entered = [json.loads(line) for line in (folder / "state_log.jsonl").read_text().splitlines()]
    assert [
        row["state"] for row in entered if row["event"] == "enter" and "/" not in row["state"]
    ] == ALL_STEPS
    assert post.view(run).message == "It is published"
    assert "final-analysis" in (folder / "run_summary.md").read_text()
    (post.root / "story.md").unlink()
    post.commit()
    with pytest.raises(ConfigurationError, match=r"story\.md"):
        post.run(file)


@pytest.mark.req("R112", "C9")
@pytest.mark.parametrize(
    ("verdict", "steps"),
    [
        ("{decision: approve, score: 9}", ["synthesize", "check", "final_audit"]),
        ("{decision: reject, score: 3}", ["synthesize", "check:rejected", "synthesize~2"]),
        ("{decision: abort, score: 1}", ["synthesize", "check:aborted"]),
    ],
)
def test_a_gate_passes_sends_back_or_stops_and_records_a_score(
    post: ScriptedProject, verdict: str, steps: list[str]
) -> None:
    cast = f"- {{match: {{step: check/judge, visit: 1}}, verdict: {verdict}}}\n"
    run, state = post.run(post.write_workflow(EVERY, cast=cast + CAST))
    assert top_level_steps(post.ended_steps(run))[2 : 2 + len(steps)] == steps
    row = next(row for row in post.view(run).steps if row.path == "check")
    assert row.score == int(verdict[-2])
    halted = "It was halted" if "abort" in verdict else ""
    assert ("" if state.ended is None else state.ended.message) == halted


@pytest.mark.req("R100")
def test_parallel_agents_have_separate_logs_and_one_usage_file(post: ScriptedProject) -> None:
    run, _ = post.run(post.write_workflow(EVERY, cast=CAST))
    folder = post.facade.paths.run_dir(run)
    for agent in AGENTS:
        own = folder / "agent_logs" / f"draft+{agent}" / "1"
        logs = "".join(path.read_text() for path in own.iterdir())
        assert f"The draft of {agent}." in logs
        assert not any(f"The draft of {other}." in logs for other in AGENTS if other != agent)
    rows = [json.loads(line) for line in (folder / "token_usage.jsonl").read_text().splitlines()]
    assert sorted(row["state"] for row in rows if row["state"].startswith("draft/")) == sorted(
        f"draft/{agent}" for agent in AGENTS
    )


@pytest.mark.req("R112")
@pytest.mark.parametrize("score", [0, 11])
def test_a_score_outside_1_to_10_is_refused(post: ScriptedProject, score: int) -> None:
    cast = f"- {{match: {{step: check/judge}}, verdict: {{decision: approve, score: {score}}}}}\n"
    run, _ = post.run(post.write_workflow(EVERY, cast=cast + CAST))
    assert "check" not in top_level_steps(post.ended_steps(run)), "an invalid verdict does not approve"
