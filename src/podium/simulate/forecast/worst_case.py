"""The worst case of a workflow: the most it can use, whatever agents, tests, reviewers and people say.

Every step becomes a node with two tables, for a good and for a bad end. What could go on for ever (visits, further
rounds, "once more" of a person or an advisor) costs a transition each, so the limit of transitions bounds it all.
Left out is what no rule of the file bounds: attempts that a crash repeats, calls that a used-up quota refuses, landings
that start again because the branch has moved, limits that a person raises, and steps that a person sends a run back to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, assert_never

from podium.core.addresses import ADVICE, FINALLY, ROOT, child, gates
from podium.core.evolve.scopes import FINALLY_TRANSITIONS
from podium.core.model import (
    Agent,
    Block,
    Call,
    Check,
    ForEach,
    Gates,
    Human,
    Members,
    Repeat,
    Review,
    Set,
    Step,
    Wait,
    Workflow,
)
from podium.core.policy import NO_LIMITS, Limits
from podium.core.queries.graph import WORK
from podium.core.types import Path
from podium.simulate.forecast.cost_tables import NEVER, Table, again, best, flat, plus, times, total
from podium.simulate.forecast.paths import Walk, walked
from podium.simulate.forecast.static_values import UNKNOWN, Known, count, holds, items, known_in, known_of

Weigh: TypeAlias = Callable[[Step, Path], int]
"""What one attempt of the leaf at this address (without numbers) uses, in the unit that is asked for."""


class Unbounded(Exception):
    """Nothing in the file says when this ends."""

    def __init__(self, step: str, what: str) -> None:
        super().__init__(f"{step}: {what}")
        self.step, self.what = step, what


class NotYetKnown(Unbounded):
    """It is bounded, but by a value that only the run will tell."""


@dataclass(frozen=True, slots=True)
class Node:
    """The worst case of a step. `parts` are its children; `walk` is how a sequence goes through them."""

    step: Step
    good: Table
    bad: Table
    parts: tuple[Node, ...] = ()
    tries: int = 1
    once: Table = ()
    """One try of it, gates included."""
    granted: int = 0
    """How often somebody may allow one more try, for a transition each."""
    walk: Walk | None = None
    closing: Node | None = None
    """The `finally` of a workflow, which has transitions of its own."""

    @property
    def either(self) -> Table:
        return self.good if self.good is self.bad else best((self.good, self.bad))


@dataclass(frozen=True, slots=True)
class Place:
    """What is known where a step stands."""

    workflow: Workflow
    known: Known
    weigh: Weigh
    size: int
    members: int | None
    at: Path = ROOT
    """The address of the step in question, without numbers."""
    fanned: bool = False
    shielded: bool = False
    """Inside `finally`."""


def worst(workflow: Workflow, inputs: Mapping[str, Any], weigh: Weigh) -> Node:
    """The worst case of a whole run; the last entry of its tables is the figure. Raises Unbounded."""
    limit = workflow.limits.transitions
    place = Place(workflow, known_of(workflow, inputs), weigh, 1 + (limit or 0), workflow.limits.members)
    found = _call(place, Step(workflow.name, Call(workflow)))
    if limit is None and _grows(replace(place, size=2), found):
        raise Unbounded(
            workflow.name, "limits.transitions is switched off, and only it ends the loops of this file"
        )
    return found


def _grows(place: Place, found: Node) -> bool:
    """Whether one transition more would make it dearer."""
    return _call(place, found.step).either[-1] > found.either[-1]


def node(place: Place, step: Step) -> Node:
    """The worst case of one entry into a step."""
    if step.when is not None and holds(step.when, place.known) is False:
        return Node(step, flat(0, place.size), flat(NEVER, place.size))
    return _within(place, step.limits, step, _node)


def _child(place: Place, step: Step) -> Node:
    return node(replace(place, at=child(place.at, step.name)), step)


def _judged(place: Place, step: Step) -> Node | None:
    return None if step.gates is None else node(replace(place, at=gates(place.at)), step.gates)


def calls(step: Step, _: Path = ROOT) -> int:
    """The unit of `limits.calls`: one per attempt of an agent."""
    return int(isinstance(step.verb, Agent) and not step.verb.by_hand)


def _within(place: Place, limits: Limits, step: Step, found: Callable[[Place, Step], Node]) -> Node:
    """The worst case of something with limits of its own."""
    if limits.members is not None:
        place = replace(place, members=min(limits.members, place.members or limits.members))
    most = limits.calls if place.weigh is calls else None
    return _capped(found(place, step), most, limits.transitions)


def _capped(found: Node, most: int | None, transitions: int | None) -> Node:
    if most is None and transitions is None:
        return found

    def cut(table: Table) -> Table:
        last = len(table) - 1 if transitions is None else min(transitions, len(table) - 1)
        ends = tuple(table[min(t, last)] for t in range(len(table)))
        return ends if most is None else tuple(min(most, value) for value in ends)

    return replace(found, good=cut(found.good), bad=cut(found.bad))


def _node(place: Place, step: Step) -> Node:
    verb = step.verb
    match verb:
        case Block():
            return _tried(place, step, _block(place, step, verb))
        case Members() | Review() | Gates():
            return _tried(
                place, step, _all(place, step, tuple(_child(place, member) for member in verb.members))
            )
        case ForEach():
            return _tried(place, step, _each(place, step, verb))
        case Repeat():
            return _tried(place, step, _rounds(place, step, verb))
        case Call():
            return _tried(place, step, _call(place, step))
        case Check() | Set() | Human() | Wait():
            return _all(place, step, ())
        case _ if isinstance(verb, WORK):
            return _leaf(place, step)
        case _:
            assert_never(verb)


def _leaf(place: Place, step: Step) -> Node:
    """Each try: what the network lost, what was malformed, then an answer that its gates judge."""
    retry, weight = step.retry, place.weigh(step, place.at)
    judged = _judged(place, step)
    once = flat(weight * (1 + retry.transient + retry.repair), place.size)
    if judged is not None:
        once = plus(once, judged.either)
    tries = _count(place, step, retry.attempts) + len(retry.degrade)
    table = times(once, tries)
    if isinstance(step.verb, Agent):
        table = tuple(weight * len(step.verb.fallback) + value for value in table)
    granted = 0
    if retry.on_exhausted == "human":
        granted, table = place.size - 1, plus(table, again(once))
    elif place.workflow.breaker.retries is not None:
        # Asked once in a visit, when so many tries have failed.
        granted, table = 1, plus(table, (0, *once[:-1]))
    return Node(step, table, table, () if judged is None else (judged,), tries, once, granted)


def _all(place: Place, step: Step, parts: tuple[Node, ...]) -> Node:
    table = total((part.either for part in parts), place.size)
    return Node(step, table, table, parts)


def _each(place: Place, step: Step, verb: ForEach) -> Node:
    found = items(verb, place.known)
    width = place.members if found is UNKNOWN else found
    if not isinstance(width, int):
        raise Unbounded(
            step.name, "nothing says how many items for_each will get, and limits.members is switched off"
        )
    body = node(replace(place, fanned=True), verb.body)
    table = times(body.either, width)
    return Node(step, table, table, (body,) * width)


def _rounds(place: Place, step: Step, verb: Repeat) -> Node:
    """The first round is free, every further one is a transition and comes only after one that has ended well."""
    body = node(place, verb.body)
    rounds = _count(place, step, verb.max)
    good, bad = body.good, body.either
    for _ in range(rounds - 1):
        good = best((body.good, plus(body.good, (NEVER, *good[:-1]))))
        bad = best((body.either, plus(body.good, (0, *bad[:-1]))))
    if verb.kind == "while" or not rounds:
        good = best((good, flat(0, place.size)))
    granted = place.size - 1 if verb.on_exhausted == "human" else 0
    if granted:
        # The question is a transition, and the round that it allows.
        more = again(body.good, price=2)
        good, bad = plus(good, more), plus(bad, more)
    return Node(step, good, best((good, bad)), (body,), rounds, body.either, granted)


def _call(place: Place, step: Step) -> Node:
    """A whole workflow; its own limits hold unless the step that calls it has others."""
    verb = step.verb
    assert isinstance(verb, Call)
    inner = replace(place, workflow=verb.workflow)
    if verb.workflow is not place.workflow:
        inner = replace(inner, known=known_in(verb, place.known))
    return _within(inner, verb.workflow.limits if step.limits == NO_LIMITS else NO_LIMITS, step, _workflow)


def _workflow(place: Place, step: Step) -> Node:
    workflow = place.workflow
    body = _block(place, step, workflow.body)
    extra, closing = flat(0, place.size), None
    if workflow.finally_ is not None:
        inside = replace(place, at=child(place.at, FINALLY), size=1 + FINALLY_TRANSITIONS, shielded=True)
        closing = node(inside, workflow.finally_)
        extra = flat(closing.either[-1], place.size)
    if workflow.advisor is not None:
        # The same transition pays for the question and for what it allows.
        asked = again(node(replace(place, at=child(place.at, ADVICE)), workflow.advisor).either)
        body = replace(body, good=_both(body.good, asked), bad=_both(body.bad, asked))
    return replace(body, good=plus(body.good, extra), bad=plus(body.bad, extra), closing=closing)


def _both(table: Table, more: Table) -> Table:
    return tuple(max(NEVER, a + b) for a, b in zip(table, more, strict=True))


def _block(place: Place, step: Step, block: Block) -> Node:
    parts = tuple(_child(place, step) for step in block.steps)
    price = 0 if place.fanned else 1
    if block.kind == "seq":
        ends = tuple((part.good, part.bad) for part in parts)
        advised = place.workflow.advisor is not None
        walk = walked(block, ends, price, place.workflow.breaker, advised=advised, shielded=place.shielded)
        return Node(step, walk.good, walk.bad, parts, walk=walk)
    entered = total((_entered(part.either, price) for part in parts), place.size)
    back = any(t.kind == "step" for inner in block.steps for t in inner.on.values())
    if block.kind == "dag" and (back or place.workflow.advisor is not None):
        entered = plus(entered, again(best(part.either for part in parts)))
    return Node(step, entered, entered, parts)


def _entered(table: Table, price: int) -> Table:
    return table if not price else (0, *table[:-1])


def _tried(place: Place, step: Step, body: Node) -> Node:
    """A scope that is judged by gates and may be opened again."""
    tries = 1 if isinstance(step.verb, Review | Gates) else _count(place, step, step.retry.attempts)
    asks = step.retry.stated and step.retry.on_exhausted == "human"
    granted = place.size - 1 if asks and not isinstance(step.verb, Review | Gates) else 0
    judged = _judged(place, step)
    if judged is None and tries == 1 and not granted:
        return body
    judge = flat(0, place.size) if judged is None else judged.either
    once = plus(body.either, judge)
    before = times(once, tries - 1)
    if granted:
        before = plus(before, again(once))
    good, bad = plus(before, plus(body.good, judge)), plus(before, plus(body.bad, judge))
    return Node(step, good, best((good, bad)), (body,), tries, once, granted)


def _count(place: Place, step: Step, number: object) -> int:
    found = count(number, place.known)
    if found is None:
        raise NotYetKnown(step.name, "how often it is done depends on what only the run will tell")
    return found
