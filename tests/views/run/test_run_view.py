"""The view of a run: from events alone, with texts of its workflow, and as JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from podium.core.events import (
    ApprovalAsked,
    AttemptDoubted,
    AttemptEnded,
    AttemptQueued,
    AttemptStarted,
    Event,
    RetryScheduled,
    RunPaused,
    RunResumed,
    StepEntered,
    StepReopened,
    TimerFired,
    WaitEnded,
    WaitStarted,
)
from podium.core.payloads import Amounts
from podium.core.types import Address, MicroUsd, Millis
from podium.views.files.run_json import list_data, run_data
from podium.views.format import iso
from podium.views.run.builder import RunViewBuilder, run_view
from podium.views.run.questions import with_state
from podium.views.run.stored_text import has_texts_for, with_stored
from podium.views.run.view import active, with_status
from podium.views.run.why import first_sentence
from tests.views.kit import CAST, SILENT, Told, conforms, tell


@pytest.fixture
def done(tmp_path: Path) -> Told:
    return tell(tmp_path)


@pytest.fixture
def waiting(tmp_path: Path) -> Told:
    return tell(tmp_path, cast=SILENT)


def entered(path: str, at: int = 0, parent: str = "") -> StepEntered:
    return StepEntered(Millis(at), Address(path), Address(parent), "step", 0, 1)


def started(path: str, at: int = 0, attempt: int = 1) -> AttemptStarted:
    return AttemptStarted(Millis(at), Address(path), attempt, Amounts())


def test_a_view_has_every_step_with_its_outcome_attempts_time_and_cost(done: Told) -> None:
    view = run_view(done.events)
    steps = {step.path: step for step in view.steps}

    assert (view.status, view.workflow, view.run, view.exit) == ("passed", "ship", "r1", 0)
    assert steps[Address("implement")].attempts == 2
    assert steps[Address("implement#1/tests")].outcome == "failed"
    assert steps[Address("each[2]/inner")].step == "inner"
    assert (view.base, view.tree) != (view.tree, view.base)
    assert view.pending == ()


def test_the_view_agrees_with_the_state_on_costs_after_every_event(done: Told) -> None:
    """P18: the view from events alone agrees with the state."""
    for told in done.moments():
        view = run_view(told.events)
        assert view.usd == told.state.usd
        for step in view.steps:
            instance = told.state.instances[step.path]
            assert step.usd == instance.usd, step.path
            assert step.outcome == (None if instance.ending is None else instance.ending.outcome)
            assert (step.status == "ended") == (instance.phase == "ended")


def test_an_incremental_view_equals_the_view_of_all_events(done: Told) -> None:
    account = RunViewBuilder()
    for event in done.events:
        account.feed((event,))
        account.view()

    assert account.view() == run_view(done.events)


@pytest.mark.req("R150")
def test_the_json_after_every_event_conforms_to_its_schema(done: Told) -> None:
    for told in done.moments():
        for view in (run_view(told.events), with_state(run_view(told.events), told.state)):
            data = json.loads(json.dumps(run_data(view)))
            conforms(data, "run")
            for step in data["steps"]:
                conforms(step, "step")
            conforms([json.loads(json.dumps(list_data(view)))], "runs")


def test_the_head_of_the_view_is_that_of_the_state(done: Told) -> None:
    trees = [run_view(told.events).tree for told in done.moments()]

    assert trees[0] == run_view(done.events).base
    assert sum(old != new for old, new in pairwise(trees)) == 1
    root = done.state.instances[Address("")].ending
    assert root is not None
    assert trees[-1] == root.tree


def test_a_pending_question_has_its_text_actions_and_shown_fields(waiting: Told) -> None:
    view = with_state(run_view(waiting.events), waiting.state)

    (asked,) = view.pending
    assert view.status == "waiting"
    assert (asked.path, asked.kind, asked.question) == ("approve", "approval", "Land this?")
    assert asked.actions == ("approve", "reject", "abort")
    assert asked.shows == ("diff", "cost")
    assert asked.tree == view.tree
    assert [(limit.unit, limit.limit) for limit in view.limits if limit.unit == "usd"] == [("usd", 5.0)]


def test_events_alone_show_that_and_since_when_a_person_is_asked(waiting: Told) -> None:
    (bare,) = run_view(waiting.events).pending
    (worded,) = with_state(run_view(waiting.events), waiting.state).pending

    assert (bare.path, bare.kind, bare.since, bare.due) == (worded.path, "approval", worded.since, None)
    assert bare.question == ""


def test_stored_texts_are_used_while_the_question_is_the_same(waiting: Told) -> None:
    full = with_state(run_view(waiting.events), waiting.state)
    data = json.loads(json.dumps(run_data(full)))
    bare = run_view(waiting.events)

    assert has_texts_for(bare, data)
    assert with_stored(bare, data).pending[0].question == "Land this?"
    assert [limit.limit for limit in with_stored(bare, data).limits] == [limit.limit for limit in full.limits]
    data["pending"][0]["since"] = "1999-01-01T00:00:00.000Z"
    assert not has_texts_for(bare, data)
    assert with_stored(bare, data).pending[0].question == ""


@pytest.mark.parametrize(
    "data",
    [{}, {"pending": None, "limits": []}, {"pending": [1, {}]}, {"limits": {"usd": {"limit": "x"}, "n": 3}}],
)
def test_a_stored_view_of_another_shape_is_ignored(waiting: Told, data: dict[str, object]) -> None:
    bare = run_view(waiting.events)

    assert with_stored(bare, data)._replace(limits=()) == bare


def test_work_by_hand_is_known_from_the_stored_view(tmp_path: Path) -> None:
    flow = "podium: 1\nname: hand\nsteps:\n  do: {agent: human, prompt: Do it by hand.}\n"
    told = tell(tmp_path, flow=flow, cast=None).until(4)
    assert isinstance(told.events[-1], AttemptStarted)
    full = with_state(run_view(told.events), told.state)
    stored = json.loads(json.dumps(run_data(full)))

    assert full.status == "waiting"
    assert [(each.kind, each.question) for each in full.pending] == [("by_hand", "Do it by hand.")]
    again = with_stored(run_view(told.events), stored)
    assert [(each.kind, each.question, each.since) for each in again.pending] == [
        ("by_hand", "Do it by hand.", full.pending[0].since)
    ]


def test_a_run_that_waits_for_a_quota_is_waiting_and_one_that_backs_off_is_running() -> None:
    for why, status, kind in (("quota", "waiting", "quota"), ("transient", "running", "retry")):
        scheduled = RetryScheduled(Millis(2), Address("a"), Millis(9000), why)  # type: ignore[arg-type]  # of the set
        over = AttemptEnded(Millis(2), Address("a"), 1, "quota")
        view = run_view([entered("a"), started("a", 1), over, scheduled])
        assert (view.status, [each.kind for each in view.pending]) == (status, [kind])
        assert view.pending[0].due == 9000
        fired: list[Event] = [TimerFired(Millis(9000), Address("a"), Millis(9000)), started("a", 9000, 2)]
        later = run_view([entered("a"), started("a", 1), over, scheduled, *fired])
        assert (later.status, later.pending, later.steps[0].attempts) == ("running", (), 2)


def test_a_run_is_paused_until_it_is_resumed() -> None:
    paused: list[Event] = [entered("a"), RunPaused(Millis(1), "me")]

    assert run_view(paused).status == "paused"
    assert run_view([*paused, RunResumed(Millis(2), "me")]).status == "running"


def test_a_wait_is_pending_until_it_ends() -> None:
    waits: list[Event] = [entered("a"), WaitStarted(Millis(1), Address("a"), Millis(50))]

    assert [(each.kind, each.due) for each in run_view(waits).pending] == [("wait", 50)]
    assert run_view([*waits, WaitEnded(Millis(2), Address("a"), "ok")]).pending == ()


def test_a_lost_call_has_an_unknown_cost_and_a_lost_command_none() -> None:
    called = replace(started("a"), reserve=Amounts(calls=1))
    view = run_view([entered("a"), called, AttemptDoubted(Millis(1), Address("a"), 1)])
    ran = run_view([entered("a"), started("a"), AttemptDoubted(Millis(1), Address("a"), 1)])

    assert ran.unknown_calls == 0

    assert view.unknown_calls == 1
    assert run_data(view)["steps"][0]["cost_usd"] is None


def test_costs_are_added_to_all_enclosing_steps() -> None:
    inner = Address("a/b")
    ended = AttemptEnded(Millis(2), inner, 1, "ok", used=Amounts(MicroUsd(5), 7, 1))
    view = run_view([entered("a"), entered("a/b", parent="a"), started("a/b"), ended])

    assert [(step.usd, step.tokens, step.calls) for step in view.steps] == [(5, 7, 1), (5, 7, 1)]
    assert (view.usd, view.tokens, view.calls) == (5, 7, 1)


def test_the_kind_of_an_engine_question_is_its_name() -> None:
    path = "a#3/!exhausted"
    asked = ApprovalAsked(Millis(1), Address(path), "human", (), 1)
    (pending,) = run_view([entered("a"), entered(path, parent="a"), asked]).pending

    assert (pending.kind, pending.actions) == ("exhausted", ("retry", "accept", "fail"))


def test_a_step_is_queued_again_and_a_scope_counts_its_attempts() -> None:
    again: list[Event] = [entered("a"), started("a"), AttemptQueued(Millis(1), Address("a"), "counted")]
    assert run_view(again).steps[0].status == "queued"

    reopened = StepReopened(Millis(1), Address("a"), 2, ())
    assert run_view([entered("a"), reopened]).steps[0].attempts == 2


def test_active_steps_are_those_that_work_or_wait(done: Told, waiting: Told) -> None:
    for told in done.moments():
        busy = {path for (kind, path), _ in told.state.pending.items() if kind == "attempt"}
        assert {step.path for step in active(run_view(told.events)) if step.worked} >= busy
    assert [step.path for step in active(run_view(waiting.events))] == ["approve"]


def test_the_stored_status_decides_between_waiting_and_parked_but_not_the_end(
    done: Told, waiting: Told
) -> None:
    assert with_status(run_view(waiting.events), "parked").status == "parked"
    assert with_status(run_view(done.events), "waiting").status == "passed"
    assert with_status(run_view(waiting.events[:5]), "running").status == "running"


def test_times_are_utc_with_milliseconds() -> None:
    assert iso(Millis(1_767_225_600_007)) == "2026-01-01T00:00:00.007Z"
    assert iso(Millis(1_767_225_599_999)) == "2025-12-31T23:59:59.999Z"
    assert iso(Millis(0)) == "1970-01-01T00:00:00.000Z"
    assert iso(Millis(86_400_000_000_000_000)) == "9999-12-31T23:59:59.000Z"


def test_a_view_of_no_events_is_empty_and_conforms() -> None:
    conforms(run_data(run_view(())), "run")


def test_a_long_run_is_viewed_in_linear_time(tmp_path: Path) -> None:
    """Counted and not timed: each event creates a bounded number of records."""
    items = ", ".join(f"i{n}" for n in range(100))
    flow = f"podium: 1\nname: long\nsteps:\n  each:\n    for_each: [{items}]\n    run: [echo, x]\n"
    told = tell(tmp_path, flow=flow, cast=CAST)
    account = RunViewBuilder()
    kept = 0
    before = account.view().steps
    for event in told.events:
        account.feed((event,))
        after = account.view().steps
        kept = max(kept, sum(1 for old, new in zip(before, after, strict=False) if old is not new))
        before = after

    assert len(before) > 100
    assert kept <= 3


def test_a_copy_of_a_builder_goes_its_own_way(tmp_path: Path) -> None:
    told = tell(tmp_path)
    for number in range(0, len(told.events), 7):
        builder = RunViewBuilder()
        builder.feed(told.events[:number])
        before, twin = builder.view(), builder.copy()

        twin.feed(told.events[number:])
        twin.leave()

        assert builder.view() == before
        builder.feed(told.events[number:])
        builder.leave()
        assert builder.view() == twin.view()


def test_the_reason_of_a_program_with_a_traceback_is_its_exception() -> None:
    message = (
        "it ended with exit code 1 and no result:\nTraceback (most recent call last):\n"
        '  File "x.py", line 1, in <module>\n    open("a", "w")\n    ^^^^\n'
        "OSError: [Errno 30] Read-only file system: 'a'\n"
    )

    assert first_sentence(message) == (
        "it ended with exit code 1 and no result: OSError: [Errno 30] Read-only file system: 'a'"
    )
