"""Handles the answer to the breaker's question: a typed decision, checked and followed within the hard limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from podium.core.addresses import ROOT, child
from podium.core.decide import breaker, entry
from podium.core.decide.entry import ScopeEnd
from podium.core.events import Event, JumpOrdered
from podium.core.model import Block, Human
from podium.core.queries.file_versions import visits_with_file
from podium.core.queries.graph import HALTED, body_of
from podium.core.state import Instance, Scope, State
from podium.core.types import ACTIONS, TO_A_PERSON, Address, Millis


class Decision(NamedTuple):
    action: str
    retry_from: str = ""
    guidance: str = ""
    use_output: str = ""
    proceed_from: str = ""
    by_person: bool = False


def after_advice(state: State, scope: Scope, advice_path: Address, now: Millis) -> Event | ScopeEnd | None:
    """Follow the decision that was just made about this scope; None if there is none."""
    advice = state.instances[advice_path]
    if advice.place.role != "advice" or advice.ending is None:
        return None
    rule = advice.place.topic.removeprefix(TO_A_PERSON)
    limit_hit = scope.limit_hit if advice.ending.limit_hit is None else advice.ending.limit_hit
    if limit_hit is not None:
        # A sibling may have hit a limit while the question was open; no answer can override that.
        return entry.hard_stop(state, limit_hit, advice.ending.message)
    decision = decision_of(advice)
    if decision is None or invalid_decision(state, advice, decision):
        return _ask_person(state, scope, advice, rule, now)
    if decision.action in ("halt", "dump_context"):
        return halt_end(decision, rule)
    if advice.place.target < 0 and decision.action != "retry_different":
        return None
    return _enter(state, scope, advice, decision, now)


def halt_end(decision: Decision, rule: str) -> ScopeEnd:
    """End the run here whatever the routes; otherwise `on: {failed: ...}` would override the decision."""
    return ScopeEnd(
        "failed", HALTED, 4 if decision.by_person else 1, decision.guidance or rule, limit_hit=ROOT
    )


def _enter(
    state: State, scope: Scope, advice: Instance, decision: Decision, now: Millis
) -> Event | ScopeEnd | None:
    target = advice.place.target
    if scope.jump not in (-1, target):
        return None  # A person jumped to another step in the meantime.
    if decision.action == "retry_different":
        target = _index(state, scope, decision.retry_from, target)
        if target != advice.place.target:
            return JumpOrdered(now, scope.place.path, target, (advice.place.path,))
        scope = scope._replace(outgoing_feedback=(*scope.outgoing_feedback, advice.place.path))
    if decision.action == "force_complete":
        return _force(state, scope, target, decision, now)
    return entry.enter_child(state, scope, target, now, excused=True)


def _force(state: State, scope: Scope, target: int, decision: Decision, now: Millis) -> Event | ScopeEnd:
    """Accept a result as it is: that of the named visit, else the best of the step that would be entered again."""
    proceed = _any_index(scope, decision.proceed_from)
    index, best = _accepted(state, scope, target, decision.use_output)
    if best is not None:
        return entry.enter_child(state, scope, index, now, adopt=best, proceed=proceed)
    if proceed >= 0 or (scope.place.path, target) not in state.latest:
        # Nothing of the step has to be accepted: the run goes on with what there is.
        return entry.enter_child(state, scope, max(proceed, target), now, excused=True)
    message = "no visit passed, so there is no result to accept"
    return ScopeEnd("failed", "exhausted", 1, message, final=True)


def _accepted(state: State, scope: Scope, target: int, name: str) -> tuple[int, Address | None]:
    """The step whose result is accepted, and the visit; a name may be that of a visit, or of a file that it wrote."""
    if not name:
        return target, breaker.best_visit(state, scope, target)
    files = visits_with_file(state, scope, name)
    for index in (target, *range(len(_body(scope).steps))):
        best = breaker.best_visit(state, scope, index, (*_visits_named(scope, name), *files))
        if best is not None:
            return index, best
    return target, None


def invalid_decision(state: State, advice: Instance, decision: Decision) -> str:
    """Why a decision cannot be followed, with the possible names; "" if it can."""
    scope, target = state.instances[advice.place.parent], advice.place.target
    if not isinstance(scope, Scope):
        target_name = decision.retry_from or decision.use_output
        return f"{target_name!r} does not apply: the question is about one attempt" if target_name else ""
    if decision.action == "retry_different":
        name = decision.retry_from
        if _index(state, scope, name, target) >= 0:
            return ""
        names = [step.name for step in _body(scope).steps]
        reachable = [each for each in names if _index(state, scope, each, target) >= 0]
        fact = f"{name!r} is not a step to go back to" if name else "the step to go back to is missing"
        return f"{fact}; choose from {', '.join(reachable)}"
    if decision.action != "force_complete" or target < 0:
        return ""
    if decision.proceed_from and _any_index(scope, decision.proceed_from) < 0:
        steps = ", ".join(step.name for step in _body(scope).steps) if scope.place.order == "seq" else "none"
        return f"{decision.proceed_from!r} is not a step to continue with; choose from {steps}"
    if not decision.use_output or _accepted(state, scope, target, decision.use_output)[1] is not None:
        return ""
    visits = ", ".join(visit.path for visit in breaker.passed_visits(state, scope, target))
    return f"there is no result {decision.use_output!r}; available: {visits or 'none'}"


def _visits_named(scope: Scope, name: str) -> tuple[Address, ...]:
    """The addresses that a name may mean: in the run or in this block; the first visit may be written with ~1."""
    name_without_visit = name.removesuffix("~1")
    return (Address(name_without_visit), child(scope.place.path, name_without_visit)) if name else ()


def _body(scope: Scope) -> Block:
    body = body_of(scope.place.step.verb)  # type: ignore[arg-type]  # the verb of a Scope is a ScopeVerb
    assert body is not None, "rules apply only where steps are entered by name"
    return body


def _any_index(scope: Scope, name: str) -> int:
    """The index of a step of a sequence; -1 if there is none with this name. Other formats write names with dashes."""
    index = _body(scope).index
    return index.get(name, index.get(name.replace("-", "_"), -1)) if scope.place.order == "seq" else -1


def _index(state: State, scope: Scope, name: str, otherwise: int) -> int:
    """The index of the step to go back to; -1 if it has not been entered yet."""
    if not name:
        return otherwise
    index = _body(scope).index.get(name, _body(scope).index.get(name.replace("-", "_"), -1))
    return index if index == otherwise or (scope.place.path, index) in state.latest else -1


def _ask_person(state: State, scope: Scope, advice: Instance, rule: str, now: Millis) -> Event | ScopeEnd:
    """Ask a person if the advisor gave no valid decision; halt if the person gave none."""
    if not needs_person(advice):
        return ScopeEnd("failed", HALTED, 1, f"no decision was made about {rule}", final=True)
    return entry.advice_entry(state, scope, TO_A_PERSON + rule, advice.place.target, now)


def needs_person(advice: Instance) -> bool:
    """Whether a person must be asked next, because the advice contains no valid decision."""
    was_person = isinstance(advice.place.step.verb, Human)
    return not was_person and advice.ending is not None and advice.ending.outcome != "cancelled"


def decision_of(advice: Instance) -> Decision | None:
    """The decision in an advisor's or a person's answer; None if it is not valid."""
    ending = advice.ending
    if ending is None or ending.outcome != "passed" or ending.result is None:
        return None
    result = ending.result
    fields: Any = result.get("output")
    by_person = "action" in result
    action = result["action"] if by_person else _field(fields, "action")
    if action not in ACTIONS["!advice"]:
        return None
    text = result.get("text", "") if by_person else ""
    guidance = _field(fields, "guidance") or text
    use_output, proceed_from = _field(fields, "use_output"), _field(fields, "proceed_from")
    return Decision(action, _field(fields, "retry_from"), guidance, use_output, proceed_from, by_person)


def decision_in(action: str, answer: Any) -> Decision:
    """The decision that a person's answer would make."""
    return Decision(
        action,
        _field(answer, "retry_from"),
        use_output=_field(answer, "use_output"),
        proceed_from=_field(answer, "proceed_from"),
        by_person=True,
    )


def _field(fields: Any, name: str) -> str:
    value = fields.get(name) if isinstance(fields, Mapping) else None
    return value if isinstance(value, str) else ""
