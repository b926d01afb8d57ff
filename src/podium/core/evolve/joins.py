"""Applies join events: members queue, and their trees are merged onto the head of their scope. Called by evolve only."""

from __future__ import annotations

from typing import assert_never

from podium.core.effects import JoinTrees
from podium.core.events import JoinAsked, JoinEnded, JoinQueued
from podium.core.evolve.lifecycle import IllegalEvent, phases_after
from podium.core.payloads import RefusedMember
from podium.core.state import Instance, JoinRefusal, JoinStatus, Leaf, Scope, State, number_of


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
    if not isinstance(scope, Scope) or member.join_status is not None:
        raise IllegalEvent(f"{member.place.path!r} cannot queue for a join")
    state.joins.put((scope.place.path, scope.next_join_ticket), member.place.path)
    state.instances.put(member.place.path, member._replace(join_status="queued"))
    state.instances.put(scope.place.path, scope._replace(next_join_ticket=scope.next_join_ticket + 1))
    return state


def _end_join(state: State, instance: Instance, event: JoinEnded) -> State:
    effect = state.pending.get(("join", event.path))
    if not isinstance(effect, JoinTrees):
        raise IllegalEvent(f"{event.path!r} has not requested a join")
    state.pending.discard(("join", event.path))
    if not effect.join.gated:
        # The join made the base of one child of a graph, or the result of a graph, so only that instance changes.
        status: JoinStatus = event.refused[0] if event.refused else "joined"
        if isinstance(instance, Leaf):
            changed: Instance = instance._replace(join_status=status, base=event.tree)
        elif instance.phase == "ready":
            changed = instance._replace(join_status=status, base=event.tree, head=event.tree)
        else:
            changed = instance._replace(
                branch_join=status,
                head=event.tree or instance.head,
                join_refusal=_join_refusal(instance, status) or instance.join_refusal,
            )
        state.instances.put(event.path, changed)
        return state
    refused = {member.path: member for member in event.refused}
    assert isinstance(instance, Scope)
    for number, (path, _) in enumerate(effect.join.members, start=instance.next_join):
        outcome: JoinStatus = refused.get(path, "joined")
        member = state.instances[path]
        state.joins.discard((event.path, number))
        state.instances.put(
            path, member._replace(join_status=outcome, join_refusal=_join_refusal(member, outcome))
        )
    scope = instance._replace(
        next_join=instance.next_join + len(effect.join.members),
        merged=tuple(path for path, _ in effect.join.members),
        head=instance.head if event.tree is None else event.tree,
    )
    state.instances.put(event.path, scope)
    return state


def _join_refusal(instance: Instance, status: JoinStatus) -> JoinRefusal | None:
    return JoinRefusal(number_of(instance), status) if isinstance(status, RefusedMember) else None
