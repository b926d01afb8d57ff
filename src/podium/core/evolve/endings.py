"""Applies the end of an instance to its parent, the graph and the breaker's data. Called by evolve only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from podium.core import addresses
from podium.core.effects import EffectKind
from podium.core.events import StepEnded
from podium.core.evolve.disputes import record
from podium.core.evolve.leaves import leave_queue, put_memory
from podium.core.evolve.lifecycle import IllegalEvent, phases_after
from podium.core.guidance import after_end
from podium.core.model import ForEach
from podium.core.payloads import MemoryChange
from podium.core.queries.graph import (
    HALTED,
    PRICE,
    dependents_of,
    frame_of_variable,
    is_accepted,
    join_of,
    open_needs,
    side_of,
    target_after,
)
from podium.core.queries.memories import memory_of
from podium.core.queries.teams import record_answer
from podium.core.state import BestAttempt, Instance, Leaf, OpenNeeds, Phase, Scope, State, Visit
from podium.core.types import Address, Tree
from podium.fast_dataclass import replacer

MAY_ASK: Final[Mapping[Phase, tuple[EffectKind, ...]]] = {
    "ready": ("fact", "join"),
    "waiting": ("wait", "person"),
    "paused": ("timer",),
    "open": ("timer", "retry", "fact", "join"),
    "working": (),
    "answered": (),
    "ended": (),
}
"""The effects that may be pending in each phase and are dropped when the instance ends."""
_ended_leaf: Final = replacer(Leaf, "phase", "ending", "ticket")
_without_child: Final = replacer(
    Scope,
    *("live", "ok", "bad", "skipped", "last", "head", "breaking", "limit_hit", "routes"),
    *("claimants", "changed"),
)


def end(state: State, event: StepEnded) -> State:
    instance = state.instances.get(event.path)
    if instance is None:
        raise IllegalEvent(f"{event.path!r} has not been entered")
    phases_after(instance, event)
    busy = isinstance(instance, Scope) and instance.live
    if busy or instance.side_child is not None or ("attempt", event.path) in state.pending:
        raise IllegalEvent(f"{event.path!r} cannot end while a child or an attempt of it is running")
    if isinstance(instance, Leaf):
        if instance.ticket >= 0:
            state = state._replace(queue_head=leave_queue(state, instance))
        if instance.guidance:
            state = state._replace(guidance=after_end(state.guidance, instance.guidance, event))
        ended_instance: Instance = _ended_leaf(instance, phase="ended", ending=event, ticket=-1)
    else:
        _drop_tickets(state, instance)
        ended_instance = instance._replace(phase="ended", ending=event)
    state.instances.put(event.path, ended_instance)
    state = _advance_memory(record(state, ended_instance, event), event)
    for kind in MAY_ASK[instance.phase]:
        state.pending.discard((kind, event.path))
    for name, value in event.sets:
        state.vars.put((frame_of_variable(state, instance, name), name), (value,))
    if event.reason == HALTED and event.limit_hit is not None and state.halt is None:
        state = state._replace(halt=event)
    return state if event.path == addresses.ROOT else _update_parent(state, ended_instance, event)


def _advance_memory(state: State, event: StepEnded) -> State:
    """Add what a passed step did to its memory."""
    change = event.memory
    if change is None or change.before == change.after:
        return state
    memory = memory_of(state, change.name)
    assert memory is not None
    changes = memory.changes
    if changes and changes[-1].after == change.before:
        # It continues the last change, so that both are one.
        changes, change = changes[:-1], MemoryChange(change.name, changes[-1].before, change.after)
    return put_memory(state, replace(memory, changes=(*changes, change)))


def _drop_tickets(state: State, scope: Scope) -> None:
    """Remove the members of a cancelled scope that were still waiting to be merged."""
    for number in range(scope.next_join, scope.next_join_ticket):
        state.joins.discard((scope.place.path, number))


def _update_parent(state: State, child: Instance, event: StepEnded) -> State:
    parent = state.instances[child.place.parent]
    if child.place.role != "step":
        # `finally` and gates must not replace an answer that the end of the scope still depends on.
        is_answer = child.place.role in ("question", "advice")
        changed = parent._replace(
            side_child=None, last_answer=event.path if is_answer else parent.last_answer
        )
        if isinstance(changed, Leaf) and child.place.role == "gates":
            changed = changed._replace(best=_best_attempt(changed, event))
        if isinstance(changed, Leaf) and child.place.role == "member":
            record_answer(state, child, event)
            changed = changed._replace(member_tree=event.tree or changed.member_tree)
        state.instances.put(parent.place.path, changed)
        return _record_accepted_price(state, child, event)
    assert isinstance(parent, Scope)
    key = (parent.place.path, child.place.index)
    visit = state.latest[key]
    side = side_of(parent, child)
    scope = _without_child(
        parent,
        live=parent.live - 1,
        ok=parent.ok + (side == "ok"),
        bad=parent.bad + (side == "bad"),
        skipped=parent.skipped + (side == "skipped"),
        last=event.path,
        head=_head_after(parent, child, event),
        breaking=parent.breaking or event.breaks_loop,
        limit_hit=parent.limit_hit if event.limit_hit is None else event.limit_hit,
        routes=_routes(parent, child, event),
        claimants=_claimants_after(parent, child),
        changed=_changed_after(parent, child, event),
    )
    state.latest.put(key, Visit(visit.number, visit.path, fresh=True))
    if scope.place.order == "dag":
        scope = _release_dependents(state, scope, child, event)
    state.instances.put(parent.place.path, scope)
    return state


def _record_accepted_price(state: State, child: Instance, event: StepEnded) -> State:
    """Record that a person accepted an agent without a price; this holds for the whole run."""
    about = child.place.topic
    accepted = about.startswith(PRICE) and (event.result or {}).get("action") == "proceed"
    return state._replace(waived_rules=(*state.waived_rules, about)) if accepted else state


def _best_attempt(leaf: Leaf, gates: StepEnded) -> BestAttempt | None:
    """The best attempt after these gates: only fit ones count; the higher score wins, then the later attempt."""
    fit = bool(gates.result and gates.result.get("fit"))
    if not fit or leaf.answer is None:
        return leaf.best
    score = -1.0 if gates.score is None else gates.score
    if leaf.best is not None and leaf.best.score > score:
        return leaf.best
    return BestAttempt(leaf.attempt, score, leaf.answer)


def _head_after(scope: Scope, child: Instance, event: StepEnded) -> Tree | None:
    """The head after a child ended: a passed child of a sequence moves it, a member only if nothing else has moved it."""
    if event.outcome not in ("passed", "partial") or event.tree is None or child.join_status == "joined":
        return scope.head
    order = scope.place.order
    if order in ("seq", "repeat"):
        return event.tree
    # The branches of a graph of steps are merged at its end; items are merged one by one, even with needs.
    is_graph = order == "dag" and not isinstance(scope.place.step.verb, ForEach)
    if is_graph or join_of(scope) in ("best", "discard") or scope.head != child.base:
        return scope.head
    return event.tree


def _claimants_after(scope: Scope, child: Instance) -> tuple[Address, ...]:
    if not child.place.claim:
        return scope.claimants
    return tuple([path for path in scope.claimants if path != child.place.path])


def _changed_after(scope: Scope, child: Instance, event: StepEnded) -> tuple[str, ...]:
    """The files that children have changed on the head; only parallel children may have started without these changes."""
    claim = child.place.claim
    if not claim or event.tree is None or scope.place.order != "many":
        return scope.changed
    return (*scope.changed, *[glob for glob in claim if glob not in scope.changed])


def _routes(scope: Scope, child: Instance, event: StepEnded) -> tuple[Address, ...]:
    """In a graph, an outcome that leads back is kept until the jump back is possible."""
    target = target_after(child.place.step, event)
    if target is None or target.kind != "step" or event.limit_hit is not None or scope.place.order != "dag":
        return scope.routes
    return (*scope.routes, event.path)


def _release_dependents(state: State, scope: Scope, child: Instance, event: StepEnded) -> Scope:
    path = scope.place.path
    bad = not is_accepted(child.place.step, event)
    ready = scope.ready
    is_loop = isinstance(scope.place.step.verb, ForEach)
    for index in dependents_of(scope)[child.place.index]:
        before = state.unmet[(path, index)]
        needs = OpenNeeds(before.left - 1, before.bad or bad)
        if needs.left == 0 and not is_loop:
            needs = open_needs(state, scope, index, set())
        state.unmet.put((path, index), needs)
        if needs.left == 0:
            ready = (*ready, index)
    return scope._replace(ready=ready)
