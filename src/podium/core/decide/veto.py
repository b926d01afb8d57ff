"""A veto that comes late: what a notice without a window let pass goes back to where its rejection leads (C28)."""

from __future__ import annotations

from podium.core.decide.approvals import may_answer, oversight_of
from podium.core.events import StepEnded
from podium.core.messages import Approve, Jump, Refusal
from podium.core.model import Block, Call, Gates, Human, Review
from podium.core.policy import PolicyRule
from podium.core.queries.graph import body_of, workflow_of
from podium.core.state import Instance, State
from podium.core.types import Millis


def late_veto(state: State, message: Approve, now: Millis) -> Jump | Refusal | None:
    """The way back that it asks for; None if there was no notice that this could be a veto of."""
    noticed = state.instances.get(message.path)
    rule = None if noticed is None or message.action != "reject" else _notice(state, noticed, now)
    if noticed is None or rule is None:
        return None
    if not may_answer(rule.by, message.by, dict(workflow_of(state, noticed.place).people)):
        return Refusal("not_asked", f"{message.by} is not among those who decide: {', '.join(rule.by)}")
    back = _way_back(state, noticed)
    if back is None:
        return Refusal(
            "no_way_back", f"no route says where a rejection of {message.path!r} leads; cancel ends the run"
        )
    return Jump(back[0].place.path, back[1], message.by, message.text)


def _notice(state: State, noticed: Instance, now: Millis) -> PolicyRule | None:
    """The rule by which it passed without waiting for anybody."""
    verb, ending = noticed.place.step.verb, noticed.ending
    if not isinstance(verb, Human | Review) or ending is None or ending.outcome != "passed":
        return None
    if not all(_counts(state, each) for each in (noticed, _owner(state, noticed) or noticed)):
        return None
    rule = oversight_of(state, noticed, verb.oversight, now)
    return None if isinstance(rule, StepEnded) or rule.level != "notify" or rule.veto else rule


def _counts(state: State, instance: Instance) -> bool:
    """Whether its result has not become stale."""
    latest = state.latest.get((instance.place.parent, instance.place.slot))
    return latest is not None and latest.path == instance.place.path and latest.fresh


def _owner(state: State, noticed: Instance) -> Instance | None:
    """The step whose gate it is."""
    gates = state.instances[noticed.place.parent].place
    return state.instances[gates.parent] if isinstance(gates.step.verb, Gates) else None


def _way_back(state: State, noticed: Instance) -> tuple[Instance, str] | None:
    """The sequence and its step: that of the gate itself, else the one that the route names."""
    owner = _owner(state, noticed)
    if owner is not None:
        return state.instances[owner.place.parent], owner.place.step.name
    around = state.instances[noticed.place.parent]
    target = noticed.place.step.on.get("rejected")
    verb = around.place.step.verb
    body = body_of(verb) if isinstance(verb, Block | Call) else None
    if target is None or target.kind != "step" or body is None:
        return None
    return around, body.steps[target.step].name
