"""The rows of runs whose figures are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from podium.core import events
from podium.core.events import Event
from podium.core.types import Address, Millis, Outcome
from podium.views.history.projection import project_run
from podium.views.history.rows import (
    AttemptRow,
    GateRow,
    QuestionRow,
    RunRow,
    RunRows,
    ScoreRow,
    VerdictRow,
    VisitRow,
)
from tests.views.history.story import Story, approves, rejects

PLANTED = "planted words that may be private"


def rows_of(log: Sequence[Event]) -> RunRows:
    rows = project_run("r1", "ship", log, head="h")
    assert rows is not None
    return rows


def one(rows: RunRows, table: str, path: str) -> Any:
    (row,) = [row for row in rows.tables[table] if row.path == path]
    return row


def reworked() -> list[Event]:
    """implement fails its tests once, is rejected by the review, and passes at its second visit; then it lands."""
    story = Story(task=PLANTED).enter("implement")
    story.call(
        "implement", "claude", role="implementer", tree="t1", files=2, usd=0.25, takes=20, text="one two"
    )
    story.gate("implement", 1, passes=False, takes=2)
    story.call("implement", "claude", attempt=2, role="implementer", tree="t2", files=2, usd=None, takes=30)
    story.gate("implement", 2, passes=True, takes=2).end("implement")
    story.enter("review", index=1).enter("review/strict", parent="review", index=0)
    story.call(
        "review/strict", "codex", role="reviewer", verdict=rejects(4, "t2", PLANTED), usd=0.05, takes=5
    )
    story.end("review/strict", "rejected", score=4).end(
        "review", "rejected", result={"verdict": {"by": ["codex"]}}
    )
    story.enter("implement~2", visit=2, stale=(0, 1))
    story.call("implement~2", "gemini", nth=0, role="implementer", tree="t3", files=1, usd=0.10, takes=10)
    story.gate("implement~2", 1, passes=True, takes=1).end("implement~2")
    story.enter("review~2", index=1, visit=2).enter("review~2/strict", parent="review~2")
    parts = {"scores": {"hook": 8, "voice": 9.5}}
    story.call("review~2/strict", "codex", role="reviewer", verdict=approves(9, "t3"), usd=0.05, takes=5)
    last = story.log[-1]
    assert isinstance(last, events.AttemptEnded)
    assert last.result is not None
    story.log[-1] = events.AttemptEnded(
        last.at,
        last.path,
        1,
        "ok",
        "",
        {**last.result, "verdict": parts},
        last.tree,
        None,
        last.verdict,
        last.used,
    )
    story.end("review~2/strict", score=9).end("review~2", result={"verdict": {"by": ["codex"]}})
    story.enter("approve", index=2).ask("approve", "approve", takes=100).end("approve")
    story.enter("land", index=3)
    return story.end("land", result={"output": {"commit": "c1", "branch": "main"}}).finish()


@pytest.mark.req("R217", "R221")
def test_a_run_has_the_figures_of_its_events() -> None:
    run: RunRow = rows_of(reworked()).run

    assert (run.status, run.outcome, run.landed, run.played) == ("passed", "passed", 1, 0)
    assert (run.usd, run.unknown_calls, run.calls, run.tokens) == (450_000, 1, 5, 5000)
    # 20 + 2 + 30 + 2 + 5 + 10 + 1 + 5 seconds of work, and 100 in which a person was asked.
    assert (run.work_ms, run.wait_ms) == (75_000, 100_000)
    assert (run.attempts, run.retries) == (5, 1)
    assert (run.questions, run.touched) == (1, 1)
    assert run.score == 9.0
    assert (run.seq, run.head) == (len(reworked()), "h")


def test_a_visit_stands_if_nothing_sends_its_work_back() -> None:
    rows = rows_of(reworked())
    first: VisitRow = one(rows, "visit", "implement")
    second: VisitRow = one(rows, "visit", "implement~2")

    assert (first.agent, first.outcome, first.stood) == ("claude", "passed", 0)
    assert (second.agent, second.stood) == ("gemini", 1)
    assert (first.step, second.step, first.craft, first.role) == (
        "implement",
        "implement",
        "implement",
        "implementer",
    )
    assert (first.attempts, first.retries, first.usd, first.unknown_calls) == (2, 1, 250_000, 1)
    assert first.work_ms == 50_000


def test_a_reviewer_did_its_work_if_its_verdict_was_valid() -> None:
    rows = rows_of(reworked())

    assert one(rows, "visit", "review/strict").stood == 1
    assert one(rows, "visit", "review/strict").kind == "judge"
    assert one(rows, "visit", "approve").kind == "question"
    assert one(rows, "visit", "land").kind == "landing"


def test_an_attempt_that_its_gates_refuse_is_named_so() -> None:
    attempts: list[AttemptRow] = [
        row for row in rows_of(reworked()).tables["attempt"] if row.path == "implement"
    ]
    first, second = attempts

    assert (first.kind, first.category, first.proved) == ("ok", "gates", 0)
    assert (second.kind, second.category, second.proved, second.unknown_calls) == ("ok", None, 1, 1)
    assert (first.files, first.added, first.removed, first.words) == (2, 6, 2, 2)


def test_a_verdict_belongs_to_who_made_the_judged_tree() -> None:
    verdicts: Sequence[VerdictRow] = rows_of(reworked()).tables["verdict"]

    assert [
        (row.of_path, row.of_agent, row.agent, row.decision, row.score, row.round) for row in verdicts
    ] == [
        ("implement", "claude", "codex", "reject", 4.0, 1),
        ("implement~2", "gemini", "codex", "approve", 9.0, 2),
    ]
    assert rows_of(reworked()).tables["score"] == (
        ScoreRow("review~2/strict", 1, "hook", 8.0),
        ScoreRow("review~2/strict", 1, "voice", 9.5),
    )


def test_gates_and_questions_have_rows() -> None:
    rows = rows_of(reworked())
    gate: GateRow = one(rows, "gate", "implement#1/tests")
    question: QuestionRow = one(rows, "question", "approve")

    assert (gate.of_path, gate.of_attempt, gate.name, gate.kind, gate.passed, gate.exit_code) == (
        "implement",
        1,
        "tests",
        "command",
        0,
        1,
    )
    assert (question.about, question.level, question.silent, question.outcome) == (
        "approval",
        "human",
        0,
        "passed",
    )
    assert [(row.action, row.who) for row in rows.tables["answer"]] == [("approve", "ann")]


@pytest.mark.req("R160")
def test_no_text_of_a_run_is_in_its_rows() -> None:
    text = repr(rows_of(reworked()))

    assert PLANTED not in text
    assert "a text that stays out" not in text
    assert rows_of(reworked()).tables["finding"][0][:5] == ("review", "strict", "F1", "major", "open")


def test_the_agent_that_was_asked_first_gets_the_credit_and_the_blame() -> None:
    story = Story().enter("write")
    story.call("write", "claude", kind="unavailable").call("write", "codex", attempt=2, nth=1)
    rows = rows_of(story.end("write").finish())
    visit: VisitRow = one(rows, "visit", "write")

    assert (visit.agent, visit.agent_last, visit.stood) == ("claude", "codex", 1)


@pytest.mark.parametrize(
    ("kind", "outcome", "reason", "stood"),
    [
        ("ok", "passed", "", 1),
        ("failed", "failed", "no_change", 0),
        ("timeout", "timeout", "", 0),
        ("malformed", "failed", "contract", 0),
        ("quota", "failed", "quota", None),
        ("unavailable", "error", "", None),
        ("transient", "error", "", None),
        ("ok", "failed", "limit", None),
        ("cancelled", "cancelled", "", None),
        ("ok", "passed", "exhausted", 0),
    ],
)
def test_what_the_world_did_is_no_sample_of_an_agent(
    kind: Any, outcome: Outcome, reason: str, stood: int | None
) -> None:
    story = Story().enter("write").call("write", "claude", kind=kind)
    rows = rows_of(story.end("write", outcome, reason=reason).finish("failed", outcome))

    assert one(rows, "visit", "write").stood == stood


def test_lost_calls_count_and_their_cost_is_unknown() -> None:
    story = Story().enter("write").call("write", "claude")
    story.log.pop()
    story.log.append(events.AttemptDoubted(Millis(10_000), Address("write"), 1))
    rows = rows_of(story.end("write", "error").finish("failed", "error"))
    attempt: AttemptRow = one(rows, "attempt", "write")

    assert (attempt.kind, attempt.calls, attempt.unknown_calls, attempt.usd, attempt.agent) == (
        "doubted",
        1,
        1,
        0,
        None,
    )
    assert one(rows, "visit", "write").stood is None


def test_the_time_without_a_process_is_no_work() -> None:
    story = Story().enter("write").call("write", "claude", takes=5)
    ended = story.log.pop()
    story.at = 3_600
    story.log.append(events.RunRecovered(Millis(3_600_000), 2))
    story.log.append(ended)
    rows = rows_of(story.wait(5).end("write").finish())

    assert rows.run.work_ms < 10_000


def test_a_run_with_scripted_agents_is_played() -> None:
    story = Story().enter("write").call("write", "claude", simulated="scripted")

    assert rows_of(story.end("write").finish()).run.played == 1
    assert project_run("r1", "ship", [], head="h") is None


def test_a_text_without_a_tree_belongs_to_the_step_above_its_review() -> None:
    story = Story().enter("draft").call("draft", "claude", text="a draft").end("draft")
    story.enter("audit", index=1).call("audit", "gemini", verdict=approves(7))
    rows = rows_of(story.end("audit", score=7).finish())

    assert [(row.of_agent, row.score) for row in rows.tables["verdict"]] == [("claude", 7.0)]


def test_an_audit_that_is_no_review_counts_as_a_verdict() -> None:
    output = {"overall": 8.5, "decision": "proceed", "scores": {"hook": 9, "specifics": 7}}
    story = Story().enter("draft").call("draft", "claude", text="a draft").end("draft")
    story.enter("audit", index=1).call("audit", "gemini", output=output)
    rows = rows_of(story.end("audit").finish())

    (verdict,) = rows.tables["verdict"]
    assert (verdict.of_agent, verdict.decision, verdict.score) == ("claude", "proceed", 8.5)
    assert [row[2:] for row in rows.tables["score"]] == [("hook", 9.0), ("specifics", 7.0)]
    assert rows.run.score == 8.5
