"""Bookkeeping of the end of an instance: what its parent, the graph and the breaker learn from it. Called by evolve only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from podium.core import addresses
from podium.core.effects import EffectKind
from podium.core.events import StepEnded
from podium.core.evolve.leaves import leave_queue
from podium.core.evolve.lifecycle import IllegalEvent, phases_after
from podium.core.evolve.scopes import side_of
from podium.core.model import ForEach
from podium.core.queries.graph import HALTED, PRICE, dependents_of, is_accepted, join_of
from podium.core.state import BestAttempt, Instance, Leaf, OpenNeeds, Phase, Scope, State, Visit
from podium.core.types import Path, Tree

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
    busy = isinstance(instance, Scope) and instance.live
    if busy or instance.aside is not None or ("attempt", event.path) in state.pending:
        raise IllegalEvent(f"{event.path!r} cannot end while something in it is live")
    if isinstance(instance, Leaf):
        if instance.ticket >= 0:
            state = state._replace(head=leave_queue(state, instance))
        over: Instance = instance._replace(phase="ended", ending=event, ticket=-1)
    else:
        _drop_tickets(state, instance)
        over = instance._replace(phase="ended", ending=event)
    state.instances.put(event.path, over)
    for kind in MAY_ASK[instance.phase]:
        state.pending.discard((kind, event.path))
    for name, value in event.sets:
        state.vars.put((instance.place.frame, name), (value,))
    if event.reason == "limit":
        state = state._replace(limited=True)
    if event.reason == HALTED and event.hard is not None and state.halt is None:
        state = state._replace(halt=event)
    return state if event.path == addresses.ROOT else _tell_parent(state, over, event)


def _drop_tickets(state: State, scope: Scope) -> None:
    """Members of a cancelled scope may still have been waiting for their turn to be merged."""
    for number in range(scope.joined, scope.joins):
        state.joins.discard((scope.place.path, number))


def _tell_parent(state: State, child: Instance, event: StepEnded) -> State:
    parent = state.instances[child.place.parent]
    if child.place.role != "step":
        # Clean-up and gates must not hide an answer that the end of the scope rests upon.
        spoke = child.place.role in ("question", "advice")
        told = parent._replace(aside=None, told=event.path if spoke else parent.told)
        if isinstance(told, Leaf) and child.place.role == "gates":
            told = told._replace(best=_better(told, event))
        state.instances.put(parent.place.path, told)
        return _excused(state, child, event)
    assert isinstance(parent, Scope)
    key = (parent.place.path, child.place.slot)
    visit = state.latest[key]
    side = side_of(child)
    scope = parent._replace(
        live=parent.live - 1,
        ok=parent.ok + (side == "ok"),
        bad=parent.bad + (side == "bad"),
        skipped=parent.skipped + (side == "skipped"),
        last=event.path,
        head=_head_after(parent, child, event),
        leaving=parent.leaving or event.leaves,
        hard=parent.hard if event.hard is None else event.hard,
        routes=_routes(parent, child, event),
    )
    state.latest.put(key, Visit(visit.number, visit.path, fresh=True))
    if scope.place.order == "dag":
        scope = _release_dependents(state, scope, child, event)
    state.instances.put(parent.place.path, scope)
    return state


def _excused(state: State, child: Instance, event: StepEnded) -> State:
    """Whoever goes on without the price of an agent does so for the whole run."""
    about = child.place.about
    goes_on = about.startswith(PRICE) and (event.result or {}).get("action") == "proceed"
    return state._replace(excused=(*state.excused, about)) if goes_on else state


def _better(leaf: Leaf, gates: StepEnded) -> BestAttempt | None:
    """The best attempt after these gates: it must be fit, then the higher score wins, then the later one."""
    fit = bool(gates.result and gates.result.get("fit"))
    if not fit or leaf.answer is None:
        return leaf.best
    score = -1.0 if gates.score is None else gates.score
    if leaf.best is not None and leaf.best.score > score:
        return leaf.best
    return BestAttempt(leaf.attempt, score, leaf.answer)


def _head_after(scope: Scope, child: Instance, event: StepEnded) -> Tree | None:
    """A child that has passed moves the head of a sequence; a member that was not merged moves it if it leads."""
    if event.outcome != "passed" or event.tree is None or child.merge == "joined":
        return scope.head
    order = scope.place.order
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
    if target is None or target.kind != "step" or event.hard is not None or scope.place.order != "dag":
        return scope.routes
    return (*scope.routes, event.path)


def _release_dependents(state: State, scope: Scope, child: Instance, event: StepEnded) -> Scope:
    path = scope.place.path
    bad = not is_accepted(child.place.step, event)
    ready = scope.ready
    for index in dependents_of(scope)[child.place.slot]:
        left = state.unmet[(path, index)]
        left = OpenNeeds(left.left - 1, left.bad or bad)
        state.unmet.put((path, index), left)
        if left.left == 0:
            ready = (*ready, index)
    return scope._replace(ready=ready)
