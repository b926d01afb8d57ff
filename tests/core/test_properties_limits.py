"""Properties of every workflow: money, breaker, advice, approvals, claims, guidance, pause, facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.core.addresses import ROOT
from podium.core.events import (
    AttemptStarted,
    FactsAsked,
    FactsFound,
    GuidanceGiven,
    RunEnded,
    RunPaused,
    RunResumed,
    SignalReceived,
    StepEnded,
    StepEntered,
    StepExpanded,
    WaitStarted,
)
from podium.core.messages import Guide, Pause, RaiseLimit, Resume
from podium.core.model import Wait
from podium.core.types import Address, Millis
from tests.core.bias import Bias
from tests.core.driver import drive, run_log_of
from tests.core.oracles import is_worker
from tests.core.oracles_claims import check_claims
from tests.core.oracles_limits import check_approvals, check_bounds, check_breaker, check_money
from tests.core.run_log import RunLog
from tests.core.strategies import Case, cases

ANY = Bias()
TIGHT = replace(ANY, tight=0.8, inner_limits=0.4, wide_top=0.6, trouble=1.0)
CIRCLES = replace(ANY, routes=0.7, passed_back=0.3, tight=0, trouble=1.5, depth=2, width=5)
PEOPLED = replace(ANY, people=0.5, depth=2, gates=0.5)
MERGING = replace(ANY, scope_kinds=("block", "for_each", "members"), scopes=0.7, wide_top=0.6, depth=2)
CURIOUS = replace(ANY, facts=0.9, two_facts=0.6, when=0.7, depth=2)
HOURS = st.integers(0, 2 * 3_600_000).map(Millis)


@given(cases(TIGHT))
def test_at_every_start_the_reservation_fits_every_ledger(case: Case) -> None:
    """P9, R130: spent, reserved and unknown together; no call is refused while the missing money is only reserved."""
    check_money(run_log_of(case.workflow, case.world()))


@given(cases(TIGHT), HOURS, st.integers(1, 10))
def test_only_a_raised_limit_allows_more_than_a_limit(case: Case, when: Millis, more: int) -> None:
    """P9: a raise applies to the run's own ledger, and only if it is higher."""
    limit = case.workflow.limits.usd
    raised = RaiseLimit(ROOT, "usd", (limit or 0) + more * 10_000, "me")
    run = drive(case.workflow, case.world(), messages=((when, raised),))
    assert run.state.ended is not None
    if limit is None:
        assert run.state.ledgers[ROOT].limits.usd is None


@pytest.mark.req("C6")
@given(cases(CIRCLES))
def test_no_cycle_is_repeated_without_asking(case: Case) -> None:
    """R126, R131: extra visits, or a cycle of any length, only after advice or by accepting the best visit."""
    check_breaker(run_log_of(case.workflow, case.world()))


@pytest.mark.req("R129")
@given(cases(CIRCLES))
def test_advice_is_followed(case: Case) -> None:
    """R131: `halt` fails the block, `proceed` enters the step, `force_complete` accepts a visit."""
    run_log = run_log_of(case.workflow, case.world())
    for place, event in enumerate(run_log.log):
        if not isinstance(event, StepEnded) or (
            "/!advice" not in event.path and "/!person" not in event.path
        ):
            continue
        instance = run_log.instances[event.path]
        parent = run_log.instances[instance.parent or Address("")]
        if (
            parent.started
            or instance.entered is None
            # The advisor's own call may wait for a question about its price, which has rules of its own.
            or instance.entered.role != "advice"
            or instance.entered.about == "complete"
            or event.outcome != "passed"
        ):
            continue
        after = [e for e in run_log.log[place + 1 :] if _concerns(e, parent.path)]
        _check_decision(_action(event), instance.entered, after)


def _concerns(event: object, scope: Address) -> bool:
    if isinstance(event, StepEntered):
        return event.parent == scope and event.role != "finally"
    return isinstance(event, StepEnded) and event.path == scope


def _action(event: StepEnded) -> str:
    result = event.result or {}
    output = result.get("output")
    return str(result.get("action") or (output.get("action") if isinstance(output, dict) else ""))


def _check_decision(action: str, asked: StepEntered, after: Sequence[object]) -> None:
    if not after:
        return
    first = after[0]
    if action in ("halt", "dump_context"):
        assert isinstance(first, StepEnded), f"{asked.path} said {action}, then {first}"
        assert first.outcome in ("failed", "timeout", "cancelled")
    if action == "proceed" and isinstance(first, StepEntered) and first.role == "step":
        assert first.index == asked.target
    if action == "force_complete" and isinstance(first, StepEntered) and first.role == "step":
        # A step that has not run yet has no result to accept: the run continues with what there is.
        assert first.adopt is not None or first.visit == 1


@given(cases(PEOPLED))
def test_several_approvals_come_from_that_many_people_who_were_asked(case: Case) -> None:
    """R195."""
    check_approvals(run_log_of(case.workflow, case.world()), case.workflow)


@pytest.mark.req("R167", "C35")
@given(cases(MERGING))
def test_parallel_children_never_claim_the_same_files(case: Case) -> None:
    """X8: and because every run ends (P1), a waiting claim is not starved."""
    run_log = run_log_of(case.workflow, case.world())
    check_claims(run_log)
    assert isinstance(run_log.log[-1], RunEnded)


@given(cases(ANY), HOURS, HOURS)
def test_nothing_is_dispatched_while_a_run_is_paused(case: Case, start: Millis, length: Millis) -> None:
    """R198: attempts in flight may end, none starts, and the run continues after the pause."""
    messages = ((start, Pause("me")), (Millis(start + length), Resume("me")))
    run = drive(case.workflow, case.world(), messages=messages)
    assert run.state.ended is not None
    paused = False
    for event in run.log:
        if isinstance(event, RunPaused | RunResumed):
            paused = isinstance(event, RunPaused)
        assert not (paused and isinstance(event, AttemptStarted)), event


@given(cases(ANY), HOURS)
def test_guidance_reaches_workers_until_one_of_them_passes(case: Case, when: Millis) -> None:
    """R198: it goes to the next start of a worker and stays with its step; if that does not pass, to the next one."""
    messages = ((when, Guide("me", "mind the gap")), (when, Guide("me", "and the step")))
    run = drive(case.workflow, case.world(), messages=messages)
    run_log = RunLog(case.workflow, run.log)
    unused: tuple[str, ...] = ()
    received: dict[Address, tuple[str, ...]] = {}
    for event in run.log:
        match event:
            case GuidanceGiven(text=text):
                unused = (*unused, text)
            case AttemptStarted(path=path) if is_worker(run_log.instances[path].step):
                received[path] = (*received.get(path, ()), *unused)
                assert Counter(event.guidance) == Counter(received[path])
                unused = ()
            case StepEnded(path=path) if path in received and event.outcome != "passed":
                unused = (*received[path], *unused)
            case _:
                pass


@given(cases(CURIOUS))
def test_facts_are_requested_before_the_decision_and_never_twice(case: Case) -> None:
    """X4: an evaluation requests each fact at most once, and decides only when it has the answer."""
    known: dict[Address, set[tuple[str, str, str | None]]] = {}
    open_: dict[Address, FactsAsked] = {}
    for event in run_log_of(case.workflow, case.world()).log:
        match event:
            case FactsAsked():
                query = (event.function, event.argument, event.tree)
                assert query not in known.setdefault(event.path, set()), f"{event.path} asks {query} again"
                known[event.path].add(query)
                open_[event.path] = event
            case FactsFound():
                asked = open_.pop(event.path)
                assert (event.function, event.argument, event.tree) == (
                    asked.function,
                    asked.argument,
                    asked.tree,
                )
            case StepExpanded():
                assert event.path not in open_, f"{event.path} is opened before it knows"
            case StepEntered(role="step"):
                assert event.parent not in open_, f"{event.parent} goes on before it knows"
                if event.path.startswith(f"{event.parent}["):
                    # Another round is another evaluation, because work in the project itself changes files but no tree.
                    known.pop(event.parent, None)
            case StepEnded(outcome="passed" | "skipped"):
                assert event.path not in open_, f"{event.path} ends before it knows"
            case StepEnded():
                open_.pop(event.path, None)
            case _:
                pass


@given(cases(replace(ANY, waits=0.6, wide_top=0.8, scopes=0.3, depth=2)))
def test_a_signal_ends_exactly_the_waits_for_it(case: Case) -> None:
    """R199."""
    run_log = run_log_of(case.workflow, case.world())
    waiting: set[Address] = set()
    for event in run_log.log:
        match event:
            case WaitStarted():
                waiting.add(event.path)
            case SignalReceived():
                assert event.path in waiting
                step = run_log.instances[event.path].step
                assert step is not None and isinstance(step.verb, Wait)
                assert step.verb.detail["signal"] == event.name
                waiting.discard(event.path)
            case StepEnded():
                waiting.discard(event.path)
            case _:
                pass


@given(cases(replace(CIRCLES, transitions=(3, 15), people=0.3)))
def test_questions_count_as_transitions(case: Case) -> None:
    """P5, R130: bounds hold even if nearly every step asks for advice."""
    check_bounds(run_log_of(case.workflow, case.world()), case.workflow)
