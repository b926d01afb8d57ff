"""Keeps track of disputed tests and of those that a judge has accepted. Called by evolve only."""

from __future__ import annotations

from podium.core import addresses
from podium.core.events import StepEnded
from podium.core.model import Command, Human, Repeat, Review
from podium.core.queries.disputes import ACCEPTED, DISPUTED, DISPUTED_DIFF
from podium.core.queries.graph import fresh_children
from podium.core.state import Dispute, Instance, Scope, State
from podium.core.types import Address


def record(state: State, instance: Instance, event: StepEnded) -> State:
    """The state after a command or a judge has ended; unchanged in runs without disputed tests."""
    verb, result = instance.place.step.verb, event.result or {}
    if isinstance(verb, Command) and (state.disputes or DISPUTED in result):
        return _replaced(state, event)
    if event.outcome != "passed" or not state.disputes:
        return state
    if isinstance(verb, Human):
        return _accepted(state, result.get(ACCEPTED, ()))
    if isinstance(verb, Review) and isinstance(instance, Scope):
        endings = [child.ending for child in fresh_children(state, instance) if child.ending is not None]
        passed = [ending.result or {} for ending in endings if ending.outcome == "passed"]
        return _accepted(state, [test for result in passed for test in result.get(ACCEPTED, ())])
    return state


def _replaced(state: State, event: StepEnded) -> State:
    """A command that ran again says anew which tests are disputed; one that was skipped says nothing."""
    if event.outcome != "passed":
        return state
    result = event.result or {}
    step = _without_repeats(state, event.path)
    others = tuple(dispute for dispute in state.disputes if dispute.step != step)
    rows = tuple(result.get(DISPUTED, ()))
    added = (Dispute(step, event.path, event.at, rows, str(result.get(DISPUTED_DIFF, ""))),) if rows else ()
    return state._replace(disputes=(*others, *added))


def _accepted(state: State, ids: object) -> State:
    names = frozenset(str(name) for name in ids) if isinstance(ids, list | tuple) else frozenset()
    return state._replace(accepted_tests=state.accepted_tests | names) if names else state


def _without_repeats(state: State, path: Address) -> Address:
    """The address shared by all visits, rounds and attempts; the items of a loop stay apart."""
    rounds = {scope for scope in _scopes_above(state, path) if _is_repeat(state, scope)}
    return addresses.without_attempts(addresses.first_entry(path, rounds))


def _is_repeat(state: State, path: Address) -> bool:
    return isinstance(state.instances[path].place.step.verb, Repeat)


def _scopes_above(state: State, path: Address) -> list[Address]:
    above: list[Address] = []
    while path != addresses.ROOT:
        path = state.instances[path].place.parent
        above.append(path)
    return above
