"""The next decision of a scope: enter a child, wait, or end. For sequences, graphs, parallel members and loops."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Final, TypeAlias, assert_never

from podium.core.decide import pass_rules
from podium.core.decide.admission import has_free_files, next_child, width
from podium.core.decide.advice import after_advice
from podium.core.decide.completion import complete_scope
from podium.core.decide.entry import ScopeEnd, enter_child, hard_stop, question_entry
from podium.core.decide.joins import ask_for_join, join_sinks
from podium.core.decide.pass_rules import is_settled, rule_of
from podium.core.events import Event, JumpOrdered, StepEnded
from podium.core.expressions.nodes import ExprError, NeedFact
from podium.core.expressions.templates import fill
from podium.core.expressions.values import Meter, as_text
from podium.core.model import Block, Check, Command, ForEach, Gates, Repeat, Review, Target
from podium.core.queries.evaluate import count_of, try_condition
from podium.core.queries.graph import builders_on, fresh_children, side_of, target_after
from podium.core.queries.names import InstanceNames
from podium.core.state import Instance, Scope, State
from podium.core.types import CONTINUING_OUTCOMES, Millis

Move: TypeAlias = Event | ScopeEnd | None
"""An event, the end of the scope's own work, or nothing to decide now."""

NEXT: Final = Target("next")


def next_scope_event(state: State, scope: Scope, now: Millis) -> Event | None:
    """The next decision of an open scope that is not being cancelled."""
    if scope.side_child is not None or ("fact", scope.place.path) in state.pending:
        return None
    advised = None if scope.last_answer is None else after_advice(state, scope, scope.last_answer, now)
    move = advised or _move(state, scope, now)
    if not isinstance(move, ScopeEnd):
        return move
    if scope.live:
        # Siblings cancel each other only with `cancel: rest`: running children finish and are merged, but no new child is entered.
        return ask_for_join(state, scope, now, more=False)
    return complete_scope(state, scope, move, now)


def _move(state: State, scope: Scope, now: Millis) -> Move:
    match scope.place.order:
        case "seq":
            return _sequence(state, scope, now)
        case "dag":
            return _graph(state, scope, now)
        case "many":
            return _parallel(state, scope, now)
        case "repeat":
            return _repeat(state, scope, now)
        case _ as order:
            assert_never(order)


def _sequence(state: State, scope: Scope, now: Millis) -> Move:
    if scope.live:
        return None
    if scope.jump >= 0:
        return enter_child(state, scope, scope.jump, now)
    if scope.last is None:
        return enter_child(state, scope, 0, now) if scope.total else ScopeEnd("passed")
    last = state.instances[scope.last]
    ending = last.ending
    assert ending is not None
    if ending.limit_hit is not None:
        return hard_stop(state, ending.limit_hit, ending.message)
    if ending.breaks_loop:
        return _block_end(ending, leaves=True)
    if last.place.proceed >= 0 and ending.outcome == "passed":
        return enter_child(state, scope, last.place.proceed, now, excused=True)
    target = target_after(last.place.step, ending)
    if target is None:
        if ending.outcome not in CONTINUING_OUTCOMES:
            return _block_end(ending)
        target = NEXT
    return _follow(state, scope, last, target, now)


def _follow(state: State, scope: Scope, last: Instance, target: Target, now: Millis) -> Move:
    """Follow the route of an outcome in a sequence."""
    ending = last.ending
    assert ending is not None
    assert target.kind != "choose"  # The event that ended the step has the chosen one.
    match target.kind:
        case "step":
            if target.step < scope.next:
                # The jump back is an event of its own, so that its feedback survives a crash right after it.
                return JumpOrdered(now, scope.place.path, target.step, (last.place.path,))
            return enter_child(state, scope, target.step, now)
        case "next":
            following = last.place.index + 1
            return (
                enter_child(state, scope, following, now) if following < scope.total else ScopeEnd("passed")
            )
        case "end":
            return ScopeEnd("passed", message=_route_message(state, last, target))
        case "fail":
            return _block_end(ending, message=_route_message(state, last, target))
        case "break":
            return _block_end(ending, leaves=True)
        case _:
            assert_never(target.kind)


def _route_message(state: State, last: Instance, target: Target) -> str:
    """The message of a route. The end is already decided, so an error in the message does not change it."""
    try:
        message = fill(target.message, InstanceNames(state, last))
        return "" if message is None else as_text(message, Meter())
    except ExprError as error:
        return str(error)
    except NeedFact:
        return ""


def _block_end(ending: StepEnded, *, leaves: bool = False, message: str = "") -> ScopeEnd:
    """The end of a block that follows from the end of one of its steps."""
    if ending.outcome in CONTINUING_OUTCOMES and leaves:
        return ScopeEnd("passed", breaks_loop=True)
    return ScopeEnd(
        "failed",
        ending.reason or ("child" if ending.outcome in CONTINUING_OUTCOMES else ending.outcome),
        ending.exit or 1,
        message=message or ending.message,
        breaks_loop=leaves,
    )


def _graph(state: State, scope: Scope, now: Millis) -> Move:
    if scope.jump >= 0:
        return None if _is_jump_blocked(state, scope) else enter_child(state, scope, scope.jump, now)
    if scope.routes and scope.limit_hit is None:
        came_from = state.instances[scope.routes[0]]
        assert came_from.ending is not None
        target = target_after(came_from.place.step, came_from.ending)
        assert target is not None
        return JumpOrdered(now, scope.place.path, target.step, (came_from.place.path,))
    may_enter = not scope.breaking and (scope.limit_hit is None or state.halt is None)
    following = next_child(state, scope, scope.ready) if may_enter and _has_room(state, scope) else None
    pending = ask_for_join(state, scope, now, more=following is not None)
    if pending is not None:
        return pending
    if following is not None:
        return enter_child(state, scope, following.child, now, claim=following.claim)
    if scope.live or ("join", scope.place.path) in state.pending:
        return None
    if isinstance(scope.place.step.verb, ForEach):
        return _rule_end(state, scope)
    if scope.limit_hit is not None:
        return hard_stop(state, scope.limit_hit)
    total = scope.total - scope.skipped
    if scope.bad and pass_rules.tally(rule_of(scope.place.step.verb), ok=scope.ok, total=total) != "passed":
        first = _first_bad(state, scope)
        last = state.instances[first.path]
        message = _route_message(state, last, target_after(last.place.step, first) or NEXT)
        return ScopeEnd(
            "failed",
            first.reason or first.outcome,
            first.exit or 1,
            message or first.message,
            breaks_loop=scope.breaking,
        )
    return join_sinks(state, scope, now) or ScopeEnd("passed", breaks_loop=scope.breaking)


def _is_jump_blocked(state: State, scope: Scope) -> bool:
    """Whether a child that the jump back makes stale is still running, which will cancel itself, or has its files."""
    if not scope.live:
        return False
    visits = (state.latest.get((scope.place.path, index)) for index in builders_on(state, scope, scope.jump))
    if any(visit is not None and state.instances[visit.path].phase != "ended" for visit in visits):
        return True
    return not has_free_files(state, scope, scope.jump)


def _parallel(state: State, scope: Scope, now: Millis) -> Move:
    may_enter = _has_room(state, scope) and not is_settled(state, scope)
    following = next_child(state, scope, _candidates(scope)) if may_enter else None
    pending = ask_for_join(state, scope, now, more=following is not None)
    if pending is not None:
        return pending
    if following is not None:
        return enter_child(state, scope, following.child, now, claim=following.claim)
    if scope.live:
        return None
    verb = scope.place.step.verb
    if scope.limit_hit is not None:
        return hard_stop(state, scope.limit_hit)
    if isinstance(verb, Review):
        return _panel_end(state, scope, verb)
    if isinstance(verb, Gates):
        return _gates_end(state, scope, verb)
    return _rule_end(state, scope)


def _has_room(state: State, scope: Scope) -> bool:
    return scope.live < width(state, scope)


def _candidates(scope: Scope) -> Iterable[int]:
    """The parallel children that may be entered by now, in order."""
    if scope.breaking or scope.limit_hit is not None:
        return ()
    return chain(scope.ready, range(scope.next, _open_until(scope)))


def _open_until(scope: Scope) -> int:
    """How many children may be entered by now."""
    verb = scope.place.step.verb
    if not isinstance(verb, Gates):
        return scope.total
    bound = 0
    for stage in verb.stages:
        bound += len(stage)
        # A stage opens only after all gates before it have passed, because reviews and people are expensive.
        if scope.next < bound or scope.live or scope.bad:
            return max(scope.next, bound)
    return bound


def _entered_children(state: State, scope: Scope) -> int:
    """How many children ran; others before the last one may have waited for their needs or their files."""
    return sum((scope.place.path, index) in state.latest for index in range(scope.next))


def _rule_end(state: State, scope: Scope) -> ScopeEnd:
    verb = scope.place.step.verb
    if scope.limit_hit is not None:
        return hard_stop(state, scope.limit_hit)
    # A loop that was left early is judged by the iterations that ran.
    total = (_entered_children(state, scope) if scope.breaking else scope.total) - scope.skipped
    outcome = pass_rules.tally(rule_of(verb), ok=scope.ok, total=total)
    # A block passes the break on to the loop that encloses it.
    leaves = scope.breaking and isinstance(verb, Block)
    if outcome == "passed":
        return ScopeEnd("passed", breaks_loop=leaves)
    code = (_first_bad(state, scope).exit if scope.bad else 0) or 1
    return ScopeEnd(outcome, "members", code, breaks_loop=leaves)


def _panel_end(state: State, scope: Scope, review: Review) -> ScopeEnd:
    endings = [_ending(state, scope, index) for index in range(scope.total)]
    verdict = pass_rules.panel(review, endings)
    codes = {"passed": 0, "timeout": 124, "error": max(ending.exit for ending in endings)}
    exit_code = codes.get(verdict.outcome, 1)
    findings = [f for e in endings if e.result for f in e.result.get("findings", ())]
    result = {
        "findings": findings,
        "spread": verdict.spread,
        "verdict": {
            "decision": verdict.outcome,
            "score": verdict.score,
            "by": list(scope.keys) if review.panel else [step.name for step in review.members],
            "tree": scope.start_tree,
        },
    }
    return ScopeEnd(verdict.outcome, verdict.reason, exit_code, result=result, score=verdict.score)


def _gates_end(state: State, scope: Scope, verb: Gates) -> ScopeEnd:
    """The end of gates: `fit` if every command and check passed; the score is the mean of the reviews."""
    endings = [_ending(state, scope, index) for index in range(scope.next)]
    commands = sum(isinstance(gate.verb, Command | Check) for gate in verb.members)
    fit = all(ending.outcome in CONTINUING_OUTCOMES for ending in endings[:commands])
    scores = [ending.score for ending in endings if ending.score is not None]
    score = sum(scores) / len(scores) if scores else None
    result = {"fit": fit}
    if not scope.bad:
        return ScopeEnd("passed", result=result, score=score)
    bad = [
        (gate.name, e)
        for gate, e in zip(verb.members, endings, strict=False)
        if e.outcome not in CONTINUING_OUTCOMES
    ]
    message = "; ".join(_gate_summary(name, ending) for name, ending in bad)
    worst = next((e for _, e in bad if e.outcome == "aborted"), None)
    if worst is not None:
        return ScopeEnd("aborted", "aborted", worst.exit, message, result=result, score=score)
    broken = next((e for _, e in bad if e.outcome == "error"), None)
    if broken is not None:
        return ScopeEnd("error", broken.reason, broken.exit, message, result=result, score=score)
    return ScopeEnd("failed", "gates", bad[0][1].exit, message, result=result, score=score)


def _gate_summary(gate: str, ending: StepEnded) -> str:
    """The first line of a gate's message; the gate itself has the rest."""
    message = ending.message or str((ending.result or {}).get("message") or "")
    first = message.strip().partition("\n")[0]
    return f"{gate} {ending.outcome}: {first}" if first else f"{gate} {ending.outcome}"


def _ending(state: State, scope: Scope, index: int) -> StepEnded:
    ending = state.instances[state.latest[(scope.place.path, index)].path].ending
    assert ending is not None
    return ending


def _first_bad(state: State, scope: Scope) -> StepEnded:
    """The first failure in order that is not the consequence of another. O(width), but called once, at the end."""
    bad = [
        child.ending
        for child in fresh_children(state, scope)
        if child.ending is not None and side_of(scope, child) == "bad"
    ]
    return next((ending for ending in bad if ending.exit), bad[0])


def _repeat(state: State, scope: Scope, now: Millis) -> Move:
    verb = scope.place.step.verb
    assert isinstance(verb, Repeat)
    if scope.live:
        return None
    last = None if scope.last is None else state.instances[scope.last]
    if last is not None:
        ending = last.ending
        assert ending is not None
        if ending.limit_hit is not None:
            return hard_stop(state, ending.limit_hit)
        if ending.outcome not in CONTINUING_OUTCOMES:
            return _block_end(ending)
        if ending.breaks_loop:
            return ScopeEnd("passed")
    return _next_round(state, scope, verb, last, now)


def _next_round(state: State, scope: Scope, verb: Repeat, last: Instance | None, now: Millis) -> Move:
    if verb.kind == "while" or last is not None:
        holds = try_condition(state, scope, verb.test, now, inner=last, testing=True)
        if not isinstance(holds, bool):
            return holds
        if holds == (verb.kind == "until"):
            return ScopeEnd("passed")
    if scope.next < count_of(state, scope, verb.max):
        return enter_child(state, scope, scope.next, now)
    if verb.on_exhausted == "accept_best":
        return ScopeEnd("passed", "exhausted")
    if verb.on_exhausted == "human" and not _no_human(state):
        return _after_exhausted(state, scope, now)
    return ScopeEnd("failed", "exhausted", 1)


def _after_exhausted(state: State, scope: Scope, now: Millis) -> Move:
    """Ask a person whether a loop without rounds left continues, counts as done, or fails; follow the answer."""
    answer = None if scope.last_answer is None else state.instances[scope.last_answer]
    if answer is None or answer.place.topic != "exhausted" or answer.ending is None:
        return question_entry(state, scope, "exhausted", now)
    match (answer.ending.result or {}).get("action"):
        case "retry":
            return enter_child(state, scope, scope.next, now)
        case "accept":
            return ScopeEnd("passed", "exhausted")
        case _:
            return ScopeEnd("failed", "exhausted", 1)


def _no_human(state: State) -> bool:
    return state.started is not None and state.started.no_human
