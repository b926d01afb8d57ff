"""What becomes of the breaker's question: a typed decision, checked, and carried out within the hard limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from podium.core.addresses import ROOT, child
from podium.core.decide import breaker, entry
from podium.core.decide.entry import ScopeEnd
from podium.core.events import Event, JumpOrdered
from podium.core.model import Block, Human
from podium.core.queries.graph import ACTIONS, HALTED, TO_A_PERSON, body_of
from podium.core.state import Instance, Scope, State
from podium.core.types import Millis, Path


class Decision(NamedTuple):
    action: str
    retry_from: str = ""
    guidance: str = ""
    use_output: str = ""
    by_person: bool = False


def after_advice(state: State, scope: Scope, told_at: Path, now: Millis) -> Event | ScopeEnd | None:
    """Carry out the decision that has just been given about this scope; None if there is none."""
    told = state.instances[told_at]
    if told.place.role != "advice" or told.ending is None:
        return None
    rule = told.place.about.removeprefix(TO_A_PERSON)
    hard = scope.hard if told.ending.hard is None else told.ending.hard
    if hard is not None:
        # Also one that a sibling hit while the question was open: no answer takes a run past it.
        return entry.stopped(state, hard, told.ending.message)
    decision = decision_of(told)
    if decision is None or objection(state, told, decision):
        return _ask_a_person(state, scope, told, rule, now)
    if decision.action in ("halt", "dump_context"):
        return halted(decision, rule)
    if rule == "complete" and decision.action != "retry_different":
        return None
    return _enter(state, scope, told, decision, now)


def halted(decision: Decision, rule: str) -> ScopeEnd:
    """The run stops here, whatever routes there are: else `on: {failed: ...}` would overrule who was asked."""
    return ScopeEnd("failed", HALTED, 4 if decision.by_person else 1, decision.guidance or rule, hard=ROOT)


def _enter(
    state: State, scope: Scope, told: Instance, decision: Decision, now: Millis
) -> Event | ScopeEnd | None:
    target = told.place.target
    if scope.jump not in (-1, target):
        return None  # Meanwhile a person sent control elsewhere.
    if decision.action == "retry_different":
        target = _index(state, scope, decision.retry_from, target)
        if target != told.place.target:
            return JumpOrdered(now, scope.place.path, target, (told.place.path,))
        scope = scope._replace(carry=(*scope.carry, told.place.path))
    if decision.action == "force_complete":
        taken = breaker.best_visit(state, scope, target, _visits_named(scope, decision.use_output))
        if taken is None:
            return ScopeEnd("failed", "exhausted", 1, "there is no result that could be taken", final=True)
        return entry.enter_child(state, scope, target, now, adopt=taken)
    return entry.enter_child(state, scope, target, now, excused=True)


def objection(state: State, told: Instance, decision: Decision) -> str:
    """Why a decision cannot be carried out, with the names that there are; nothing if it can."""
    scope, target = state.instances[told.place.parent], told.place.target
    if not isinstance(scope, Scope):
        named = decision.retry_from or decision.use_output
        return f"this is about one attempt, where {named!r} names nothing" if named else ""
    if decision.action == "retry_different":
        name = decision.retry_from
        if _index(state, scope, name, target) >= 0:
            return ""
        names = [step.name for step in _body(scope).steps]
        known = [each for each in names if _index(state, scope, each, target) >= 0]
        fact = f"there is no step {name!r}" if name else "a step has to be named"
        return f"{fact} to go back to; choose from {', '.join(known)}"
    if decision.action != "force_complete" or not decision.use_output or target < 0:
        return ""
    if breaker.best_visit(state, scope, target, _visits_named(scope, decision.use_output)) is not None:
        return ""
    visits = ", ".join(visit.path for visit in breaker.passed_visits(state, scope, target))
    return f"there is no result {decision.use_output!r}; choose from {visits or 'none'}"


def _visits_named(scope: Scope, name: str) -> tuple[Path, ...]:
    """The addresses that somebody may mean: of the run or of this block, and the first visit has no number there."""
    bare = name.removesuffix("~1")
    return (Path(bare), child(scope.place.path, bare)) if name else ()


def _body(scope: Scope) -> Block:
    body = body_of(scope.place.step.verb)  # type: ignore[arg-type]  # the verb of a Scope is a ScopeVerb
    assert body is not None, "only where steps are entered by name does a rule object"
    return body


def _index(state: State, scope: Scope, name: str, otherwise: int) -> int:
    """The step to go back to; only where control has been already is there a way back."""
    if not name:
        return otherwise
    index = _body(scope).index.get(name, -1)
    return index if index == otherwise or (scope.place.path, index) in state.latest else -1


def _ask_a_person(state: State, scope: Scope, told: Instance, rule: str, now: Millis) -> Event | ScopeEnd:
    """An advisor that gave no valid decision is not asked twice; a person who could not be asked means no."""
    if not goes_to_a_person(told):
        return ScopeEnd("failed", HALTED, 1, f"nobody decided about {rule}", final=True)
    return entry.advice(state, scope, TO_A_PERSON + rule, told.place.target, now)


def goes_to_a_person(told: Instance) -> bool:
    """Whether a question without a valid decision is put to a person next."""
    asked_a_person = isinstance(told.place.step.verb, Human)
    return not asked_a_person and told.ending is not None and told.ending.outcome != "cancelled"


def decision_of(told: Instance) -> Decision | None:
    """The decision in an advisor's or a person's answer, if it is a valid one."""
    ending = told.ending
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
    return Decision(action, _field(fields, "retry_from"), guidance, _field(fields, "use_output"), by_person)


def decision_in(action: str, answer: Any) -> Decision:
    """What a person decides, before it is given as an answer."""
    return Decision(action, _field(answer, "retry_from"), "", _field(answer, "use_output"), by_person=True)


def _field(fields: Any, name: str) -> str:
    value = fields.get(name) if isinstance(fields, Mapping) else None
    return value if isinstance(value, str) else ""
