"""Applies join events: members queue, and their trees are merged onto the head of their scope. Called by evolve only."""

from __future__ import annotations

from typing import assert_never

from podium.core.effects import JoinTrees
from podium.core.events import JoinAsked, JoinEnded, JoinQueued
from podium.core.evolve.lifecycle import IllegalEvent, phases_after
from podium.core.payloads import RefusedMember
from podium.core.state import Instance, JoinRefusal, Leaf, Merge, Scope, State, number_of


def apply_join(state: State, event: JoinQueued | JoinAsked | JoinEnded) -> State:
    instance = state.instances[event.path]
    phases_after(instance, event)
    match event:
        case JoinQueued():
            return _queue_for_join(state, instance)
        case JoinAsked():
            if ("join", event.path) in state.pending:
                raise IllegalEvent(f"{event.path!r} has already requested a join")
            state.pending.put(("join", event.path), JoinTrees(event))
            return state
        case JoinEnded():
            return _end_join(state, instance, event)
        case _:
            assert_never(event)


def _queue_for_join(state: State, member: Instance) -> State:
    scope = state.instances[member.place.parent]
    if not isinstance(scope, Scope) or member.merge is not None:
        raise IllegalEvent(f"{member.place.path!r} cannot queue for a join")
    state.joins.put((scope.place.path, scope.joins), member.place.path)
    state.instances.put(member.place.path, member._replace(merge="queued"))
    state.instances.put(scope.place.path, scope._replace(joins=scope.joins + 1))
    return state


def _end_join(state: State, instance: Instance, event: JoinEnded) -> State:
    effect = state.pending.get(("join", event.path))
    if not isinstance(effect, JoinTrees):
        raise IllegalEvent(f"{event.path!r} has not requested a join")
    state.pending.discard(("join", event.path))
    if not effect.asked.gated:
        # The join made the base of one child of a graph, or the result of a graph, so only that instance changes.
        merge: Merge = event.refused[0] if event.refused else "joined"
        if isinstance(instance, Leaf):
            changed: Instance = instance._replace(merge=merge, base=event.tree)
        elif instance.phase == "ready":
            changed = instance._replace(merge=merge, base=event.tree, head=event.tree)
        else:
            changed = instance._replace(
                sinks=merge,
                head=event.tree or instance.head,
                clash=_join_refusal(instance, merge) or instance.clash,
            )
        state.instances.put(event.path, changed)
        return state
    refused = {member.path: member for member in event.refused}
    assert isinstance(instance, Scope)
    for number, (path, _) in enumerate(effect.asked.members, start=instance.joined):
        outcome: Merge = refused.get(path, "joined")
        member = state.instances[path]
        state.joins.discard((event.path, number))
        state.instances.put(path, member._replace(merge=outcome, clash=_join_refusal(member, outcome)))
    scope = instance._replace(
        joined=instance.joined + len(effect.asked.members),
        merged=tuple(path for path, _ in effect.asked.members),
        head=instance.head if event.tree is None else event.tree,
    )
    state.instances.put(event.path, scope)
    return state


def _join_refusal(instance: Instance, merge: Merge) -> JoinRefusal | None:
    return JoinRefusal(number_of(instance), merge) if isinstance(merge, RefusedMember) else None
