"""The states format from its first state to its last: every type of state, what it does on entry, audits and verdicts."""

from __future__ import annotations

import json

import pytest

from podium.core.messages import Approve
from podium.errors import ConfigurationError
from tests.dialects.kit import Stage, status
from tests.dialects.test_blocks import shown

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
WAY = ["draft", "cross_audit", "synthesize", "check", "final_audit", "final_analysis", "approve"]


@pytest.fixture
def post(stage: Stage) -> Stage:
    stage.write("judge.md", "You judge.\n")
    stage.write("story.md", "A machine that wrote.\n")
    return stage


@pytest.mark.req("R024", "R096", "R097", "R098")
def test_drafts_are_audited_by_all_joined_audited_again_and_decided_about(post: Stage) -> None:
    run, _ = post.run(post.put(EVERY, cast=CAST))
    post.say(run, Approve(post.view(run).pending[0].path, "approve", "ann"))
    assert status(post.resume(run)) == "passed"
    assert shown(post.story(run)) == WAY
    for agent in AGENTS:
        told = post.prompt(run, f"cross_audit/{agent}")
        assert all(f"The draft of {other}." in told for other in AGENTS), "each sees all drafts"
        assert "The best of all." in post.prompt(run, f"final_audit/{agent}")
    told = post.prompt(run, "synthesize")
    assert all(
        f"The draft of {agent}." in told and f"The cross_audit of {agent}." in told for agent in AGENTS
    )
    told = post.prompt(run, "final_analysis")
    assert "The best of all." in told
    assert all(f"The final_audit of {agent}." in told for agent in AGENTS)
    assert post.artifacts(run)["final_analysis/analysis.md"] == b"Publish it."


@pytest.mark.req("R097")
def test_a_synthesis_has_what_is_there(post: Stage) -> None:
    missing = "- {match: {step: draft/gemini}, error: refused}\n- {match: {step: cross_audit/codex}, error: refused}\n"
    run, _ = post.run(post.put(EVERY, cast=missing + CAST))
    told = post.prompt(run, "synthesize")
    for text, is_there in (
        ("The draft of claude.", True),
        ("The draft of gemini.", False),
        ("draft from gemini", False),
        ("The cross_audit of gemini.", True),
        ("cross audit from codex", False),
    ):
        assert (text in told) is is_there, text


@pytest.mark.req("R025")
def test_a_state_logs_requires_its_input_and_writes_a_summary(post: Stage) -> None:
    file = post.put(EVERY, cast=CAST)
    run, _ = post.run(file)
    post.say(run, Approve(post.view(run).pending[0].path, "approve", "ann"))
    post.resume(run)
    folder = post.facade.paths.run_dir(run)
    entered = [json.loads(line) for line in (folder / "state_log.jsonl").read_text().splitlines()]
    assert [row["state"] for row in entered if row["event"] == "enter" and "/" not in row["state"]] == WAY
    assert post.view(run).message == "It is published"
    assert "final_analysis" in (folder / "run_summary.md").read_text()
    (post.root / "story.md").unlink()
    post.commit()
    with pytest.raises(ConfigurationError, match=r"story\.md"):
        post.run(file)


@pytest.mark.req("R112", "C9")
@pytest.mark.parametrize(
    ("verdict", "way"),
    [
        ("{decision: approve, score: 9}", ["synthesize", "check", "final_audit"]),
        ("{decision: reject, score: 3}", ["synthesize", "check:rejected", "synthesize~2"]),
        ("{decision: abort, score: 1}", ["synthesize", "check:aborted"]),
    ],
)
def test_a_gate_lets_pass_sends_back_or_stops_with_a_score(post: Stage, verdict: str, way: list[str]) -> None:
    cast = f"- {{match: {{step: check/judge, visit: 1}}, verdict: {verdict}}}\n"
    run, state = post.run(post.put(EVERY, cast=cast + CAST))
    assert shown(post.story(run))[2 : 2 + len(way)] == way
    found = next(row for row in post.view(run).steps if row.path == "check")
    assert found.score == int(verdict[-2])
    halted = "It was halted" if "abort" in verdict else ""
    assert ("" if state.ended is None else state.ended.message) == halted


@pytest.mark.req("R100")
def test_agents_that_work_at_once_have_a_log_each_and_one_writer_gathers_them(post: Stage) -> None:
    run, _ = post.run(post.put(EVERY, cast=CAST))
    folder = post.facade.paths.run_dir(run)
    for agent in AGENTS:
        own = folder / "agent_logs" / f"draft+{agent}" / "1"
        told = "".join(path.read_text() for path in own.iterdir())
        assert f"The draft of {agent}." in told
        assert not any(f"The draft of {other}." in told for other in AGENTS if other != agent)
    rows = [json.loads(line) for line in (folder / "token_usage.jsonl").read_text().splitlines()]
    assert sorted(row["state"] for row in rows if row["state"].startswith("draft/")) == sorted(
        f"draft/{agent}" for agent in AGENTS
    )


@pytest.mark.req("R112")
@pytest.mark.parametrize("score", [0, 11])
def test_a_score_is_from_1_to_10(post: Stage, score: int) -> None:
    cast = f"- {{match: {{step: check/judge}}, verdict: {{decision: approve, score: {score}}}}}\n"
    run, _ = post.run(post.put(EVERY, cast=cast + CAST))
    assert "check" not in shown(post.story(run)), "a verdict of another shape approves nothing"
