"""Bookkeeping of the end of an instance: what its parent, the graph and the breaker learn from it. Called by evolve only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from podium.core import paths
from podium.core.effects import EffectKind
from podium.core.events import StepEnded
from podium.core.graph import dependents_of, is_accepted, join_of, order_of
from podium.core.leaves import leave_queue
from podium.core.lifecycle import IllegalEvent, phases_after
from podium.core.model import ForEach
from podium.core.scopes import tally
from podium.core.state import Best, Instance, Leaf, Phase, Scope, State, Unmet, Visit
from podium.core.words import Path, Tree

MAY_ASK: Final[Mapping[Phase, tuple[EffectKind, ...]]] = {
    "ready": ("fact", "join"),
    "waiting": ("wait", "person"),
    "paused": ("timer",),
    "open": ("timer", "fact", "join"),
    "working": (),
    "answered": (),
    "ended": (),
}
"""What may be pending in which phase and is no longer wanted when the instance ends."""


def ended(state: State, event: StepEnded) -> State:
    instance = state.instances.get(event.path)
    if instance is None:
        raise IllegalEvent(f"there is no {event.path!r}")
    phases_after(instance, event)
    pending = state.pending
    for kind in MAY_ASK[instance.phase]:
        pending = pending.drop((kind, event.path))
    busy = isinstance(instance, Scope) and instance.live
    if busy or instance.aside is not None or ("attempt", event.path) in state.pending:
        raise IllegalEvent(f"{event.path!r} cannot end while something in it is live")
    if isinstance(instance, Leaf):
        state = leave_queue(state, instance)
        over: Instance = instance._replace(phase="ended", ending=event, ticket=-1)
    else:
        state = _drop_tickets(state, instance)
        over = instance._replace(phase="ended", ending=event)
    state = state._replace(
        instances=state.instances.set(event.path, over),
        pending=pending,
        limited=state.limited or event.reason == "limit",
    )
    for name, value in event.sets:
        state = state._replace(vars=state.vars.set((instance.place.frame, name), (value,)))
    return state if event.path == paths.ROOT else _tell_parent(state, over, event)


def _drop_tickets(state: State, scope: Scope) -> State:
    """Members of a cancelled scope may still have been waiting for their turn to be merged."""
    if scope.joined == scope.joins:
        return state
    joins = state.joins
    for number in range(scope.joined, scope.joins):
        joins = joins.drop((scope.place.path, number))
    return state._replace(joins=joins)


def _tell_parent(state: State, child: Instance, event: StepEnded) -> State:
    parent = state.instances[child.place.parent]
    if child.place.role != "step":
        # Clean-up and gates must not hide an answer that the end of the scope rests upon.
        spoke = child.place.role in ("question", "advice")
        told = parent._replace(aside=None, told=event.path if spoke else parent.told)
        if isinstance(told, Leaf) and child.place.role == "gates":
            told = told._replace(best=_better(told, event))
        return state._replace(instances=state.instances.set(parent.place.path, told))
    assert isinstance(parent, Scope)
    key = (parent.place.path, child.place.slot)
    visit = state.latest[key]
    scope = tally(parent, child, 1)._replace(
        live=parent.live - 1,
        last=event.path,
        head=_head_after(parent, child, event),
        leaving=parent.leaving or event.leaves,
        hard=parent.hard if event.hard is None else event.hard,
        routes=_routes(parent, child, event),
    )
    state = state._replace(
        instances=state.instances.set(parent.place.path, scope),
        latest=state.latest.set(key, Visit(visit.number, visit.path, fresh=True)),
    )
    return _release_dependents(state, scope, child, event)


def _better(leaf: Leaf, gates: StepEnded) -> Best | None:
    """The best attempt after these gates: it must be fit, then the higher score wins, then the later one."""
    fit = bool(gates.result and gates.result.get("fit"))
    if not fit or leaf.answer is None:
        return leaf.best
    score = -1.0 if gates.score is None else gates.score
    if leaf.best is not None and leaf.best.score > score:
        return leaf.best
    return Best(leaf.attempt, score, leaf.answer)


def _head_after(scope: Scope, child: Instance, event: StepEnded) -> Tree | None:
    """A child that has passed moves the head of a sequence; a member that was not merged moves it if it leads."""
    if event.outcome != "passed" or event.tree is None or child.merge == "joined":
        return scope.head
    order = order_of(scope)
    if order in ("seq", "repeat"):
        return event.tree
    # The branches of a graph of steps are merged at its end; items, also those with needs, one by one.
    is_graph = order == "dag" and not isinstance(scope.place.step.verb, ForEach)
    if is_graph or join_of(scope) in ("best", "discard") or scope.head != child.base:
        return scope.head
    return event.tree


def _routes(scope: Scope, child: Instance, event: StepEnded) -> tuple[Path, ...]:
    """In a graph, an outcome that leads back is kept until the way back is free."""
    target = child.place.step.on.get(event.outcome)
    if target is None or target.kind != "step" or event.hard is not None or order_of(scope) != "dag":
        return scope.routes
    return (*scope.routes, event.path)


def _release_dependents(state: State, scope: Scope, child: Instance, event: StepEnded) -> State:
    if order_of(scope) != "dag":
        return state
    path = scope.place.path
    bad = not is_accepted(child.place.step, event)
    unmet, ready = state.unmet, scope.ready
    for index in dependents_of(scope)[child.place.slot]:
        left = unmet[(path, index)]
        left = Unmet(left.left - 1, left.bad or bad)
        unmet = unmet.set((path, index), left)
        if left.left == 0:
            ready = (*ready, index)
    return state._replace(unmet=unmet, instances=state.instances.set(path, scope._replace(ready=ready)))
