"""What becomes of the breaker's question: a typed decision, checked, and carried out within the hard limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from podium.core import breaker, enter
from podium.core.done import Done
from podium.core.events import Event, JumpOrdered
from podium.core.graph import ACTIONS, TO_A_PERSON, body_of
from podium.core.model import Block, Call, Human
from podium.core.state import Instance, Scope, State
from podium.core.words import Millis, Path


class Decision(NamedTuple):
    action: str
    retry_from: str = ""
    guidance: str = ""
    use_output: str = ""
    by_person: bool = False


def after_advice(state: State, scope: Scope, told_at: Path, now: Millis) -> Event | Done | None:
    """Carry out the decision that has just been given about this scope; None if there is none."""
    told = state.instances[told_at]
    if told.place.role != "advice" or told.ending is None:
        return None
    rule = told.place.about.removeprefix(TO_A_PERSON)
    hard = scope.hard if told.ending.hard is None else told.ending.hard
    if hard is not None:
        # Also one that a sibling hit while the question was open: no answer takes a run past it.
        return Done("failed", "limit", 5, hard=hard, message=told.ending.message)
    decision = decision_of(told)
    if decision is None:
        return _ask_a_person(state, scope, told, rule, now)
    if decision.action in ("halt", "dump_context"):
        code = 4 if decision.by_person else 1
        return Done("failed", "halted", code, decision.guidance or rule, final=True)
    if rule == "complete" and decision.action != "retry_different":
        return None
    return _enter(state, scope, told, decision, now)


def _enter(
    state: State, scope: Scope, told: Instance, decision: Decision, now: Millis
) -> Event | Done | None:
    target = told.place.target
    if scope.jump not in (-1, target):
        return None  # Meanwhile a person sent control elsewhere.
    if decision.action == "retry_different":
        target = _index(state, scope, decision.retry_from, target)
        if target < 0:
            message = f"there is no step {decision.retry_from!r} to go back to"
            return Done("failed", "halted", 1, message, final=True)
        if target != told.place.target:
            return JumpOrdered(now, scope.place.path, target, (told.place.path,))
        scope = scope._replace(carry=(*scope.carry, told.place.path))
    if decision.action == "force_complete":
        taken = breaker.best_visit(state, scope, target, decision.use_output)
        if taken is None:
            which = f" {decision.use_output!r}" if decision.use_output else ""
            return Done(
                "failed", "exhausted", 1, f"there is no result{which} that could be taken", final=True
            )
        return enter.enter(state, scope, target, now, adopt=taken)
    return enter.enter(state, scope, target, now, excused=True)


def _index(state: State, scope: Scope, name: str, otherwise: int) -> int:
    """The step to go back to; only where control has been already is there a way back."""
    verb = scope.place.step.verb
    body = body_of(verb) if isinstance(verb, Block | Call) else None
    if body is None or not name:
        return otherwise
    index = body.index.get(name, -1)
    return index if index == otherwise or (scope.place.path, index) in state.latest else -1


def _ask_a_person(state: State, scope: Scope, told: Instance, rule: str, now: Millis) -> Event | Done:
    """An advisor that gave no valid decision is not asked twice; a person who could not be asked means no."""
    if not goes_to_a_person(told):
        return Done("failed", "halted", 1, f"nobody decided about {rule}", final=True)
    return enter.advice(state, scope, TO_A_PERSON + rule, told.place.target, now)


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


def _field(fields: Any, name: str) -> str:
    value = fields.get(name) if isinstance(fields, Mapping) else None
    return value if isinstance(value, str) else ""
