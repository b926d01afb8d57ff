"""The worst case of a workflow: the maximum it can use, whatever agents, tests, reviewers and people answer.

Every step becomes a node with two tables, for a good and for a bad end. Whatever could repeat forever (visits, further
rounds, another attempt granted by a person or an advisor) costs a transition each, so the limit on transitions bounds
it all. Not included is what no rule of the file bounds: attempts repeated after a crash, calls refused by a used-up
quota, landings repeated because the branch moved, limits raised by a person, and steps that a person sends a run back to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
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
from podium.core.queries.routes import targets_of
from podium.core.queries.static_names import UNKNOWN
from podium.core.types import Address
from podium.fast_dataclass import dataclass
from podium.simulate.forecast.cost_tables import (
    NEVER,
    Table,
    combine,
    combine_all,
    constant,
    delay,
    maximum,
    multiply,
    repeat_table,
    repeat_up_to,
)
from podium.simulate.forecast.paths import Walk, walk_sequence
from podium.simulate.forecast.static_values import (
    StaticValues,
    count,
    holds,
    item_count,
    static_values,
    values_in_call,
)

AttemptCost: TypeAlias = Callable[[Step, Address], int]
"""What one attempt of the leaf at this address (without numbers) uses, in the unit in question."""


class Unbounded(Exception):
    """Nothing in the file bounds this."""

    def __init__(self, step: str, what: str) -> None:
        super().__init__(f"{step}: {what}")
        self.step, self.what = step, what


class KnownAtRunTime(Unbounded):
    """It is bounded, but by a value known only at run time."""


@dataclass(frozen=True, slots=True)
class Node:
    """The worst case of a step; `parts` are its children, `walk` is the path of a sequence through them."""

    step: Step
    good: Table
    bad: Table
    parts: tuple[Node, ...] = ()
    tries: int = 1
    once: Table = ()
    """The table of one attempt, gates included."""
    granted: int = 0
    """How many further attempts may be granted, for a transition each."""
    walk: Walk | None = None
    closing: Node | None = None
    """The `finally` of a workflow, which has its own transitions."""

    @property
    def either(self) -> Table:
        return self.good if self.good is self.bad else maximum((self.good, self.bad))


@dataclass(frozen=True, slots=True)
class ForecastScope:
    """What is known at the place of a step."""

    workflow: Workflow
    values: StaticValues
    attempt_cost: AttemptCost
    size: int
    members: int | None
    at: Address = ROOT
    """The address of the step, without numbers."""
    in_for_each: bool = False
    shielded: bool = False
    """Whether the place is inside `finally`."""


def worst_case(workflow: Workflow, inputs: Mapping[str, Any], attempt_cost: AttemptCost) -> Node:
    """The worst case of a whole run; the last entry of its tables is the result. Raises Unbounded."""
    limit = workflow.limits.transitions
    place = scope_of_run(workflow, inputs, attempt_cost, limit or 0)
    run = call_node(place, Step(workflow.name, Call(workflow)))
    if limit is None and _grows_with_transitions(replace(place, size=2), run):
        raise Unbounded(
            workflow.name, "limits.transitions is disabled, and nothing else bounds the loops of this file"
        )
    return run


def scope_of_run(
    workflow: Workflow, inputs: Mapping[str, Any], attempt_cost: AttemptCost, transitions: int
) -> ForecastScope:
    values = static_values(workflow, inputs)
    return ForecastScope(workflow, values, attempt_cost, 1 + transitions, workflow.limits.members)


def _grows_with_transitions(place: ForecastScope, run: Node) -> bool:
    """Whether one more transition would increase the cost."""
    return call_node(place, run.step).either[-1] > run.either[-1]


def node(place: ForecastScope, step: Step) -> Node:
    """The worst case of one entry into a step."""
    if step.when is not None and holds(step.when, place.values) is False:
        return Node(step, constant(0, place.size), constant(NEVER, place.size))
    return _with_limits(place, step.limits, step, _node)


def _child(place: ForecastScope, step: Step) -> Node:
    return node(replace(place, at=child(place.at, step.name)), step)


def _gates_node(place: ForecastScope, step: Step) -> Node | None:
    return None if step.gates is None else node(replace(place, at=gates(place.at)), step.gates)


def calls(step: Step, _: Address = ROOT) -> int:
    """The unit of `limits.calls`: one per attempt of an agent."""
    return int(isinstance(step.verb, Agent) and not step.verb.by_hand)


def _with_limits(
    place: ForecastScope, limits: Limits, step: Step, make_node: Callable[[ForecastScope, Step], Node]
) -> Node:
    """The worst case of something with its own limits."""
    if limits.members is not None:
        place = replace(place, members=min(limits.members, place.members or limits.members))
    max_calls = limits.calls if place.attempt_cost is calls else None
    return _cap(make_node(place, step), max_calls, limits.transitions)


def _cap(uncapped: Node, max_calls: int | None, transitions: int | None) -> Node:
    if max_calls is None and transitions is None:
        return uncapped

    def cap_table(table: Table) -> Table:
        last = len(table) - 1 if transitions is None else min(transitions, len(table) - 1)
        ends = tuple(table[min(t, last)] for t in range(len(table)))
        return ends if max_calls is None else tuple(min(max_calls, value) for value in ends)

    return replace(uncapped, good=cap_table(uncapped.good), bad=cap_table(uncapped.bad))


def _node(place: ForecastScope, step: Step) -> Node:
    verb = step.verb
    match verb:
        case Block():
            return _with_retries(place, step, _block(place, step, verb))
        case Members() | Review() | Gates():
            return _with_retries(
                place, step, _all(place, step, tuple(_child(place, member) for member in verb.members))
            )
        case ForEach():
            return _with_retries(place, step, _for_each(place, step, verb))
        case Repeat():
            return _with_retries(place, step, _rounds(place, step, verb))
        case Call():
            return _with_retries(place, step, call_node(place, step))
        case Check() | Set() | Human() | Wait():
            return _all(place, step, ())
        case _ if isinstance(verb, WORK):
            return _leaf(place, step)
        case _:
            assert_never(verb)


def _leaf(place: ForecastScope, step: Step) -> Node:
    """Each attempt: lost answers, malformed answers, then an answer that its gates judge."""
    retry, weight = step.retry, place.attempt_cost(step, place.at)
    gates_part = _gates_node(place, step)
    once = constant(weight * (1 + retry.transient + retry.repair), place.size)
    if gates_part is not None:
        once = combine(once, gates_part.either)
    tries = times(place, step, retry.attempts) + len(retry.degrade)
    table = multiply(once, tries)
    if isinstance(step.verb, Agent):
        table = tuple(weight * len(step.verb.fallback) + value for value in table)
    granted = 0
    if retry.on_exhausted == "human":
        granted, table = place.size - 1, combine(table, repeat_table(once))
    elif place.workflow.breaker.retries is not None:
        # Asked once per visit, after that many failed attempts.
        granted, table = 1, combine(table, delay(once, 1, 0))
    return Node(step, table, table, () if gates_part is None else (gates_part,), tries, once, granted)


def _all(place: ForecastScope, step: Step, parts: tuple[Node, ...]) -> Node:
    table = combine_all((part.either for part in parts), place.size)
    return Node(step, table, table, parts)


def _for_each(place: ForecastScope, step: Step, verb: ForEach) -> Node:
    width = item_limit(place, step, verb)
    body = node(replace(place, in_for_each=True), verb.body)
    table = multiply(body.either, width)
    return Node(step, table, table, (body,) * width)


def item_limit(place: ForecastScope, step: Step, verb: ForEach) -> int:
    """The maximum number of items. Raises Unbounded."""
    known_count = item_count(verb, place.values)
    width = place.members if known_count is UNKNOWN else known_count
    if not isinstance(width, int):
        raise Unbounded(
            step.name, "the number of items of for_each is not bounded, and limits.members is disabled"
        )
    return width


def _rounds(place: ForecastScope, step: Step, verb: Repeat) -> Node:
    """The first round is free; every further round is a transition and follows only a round that ended well."""
    body = node(place, verb.body)
    rounds = times(place, step, verb.max)
    earlier = repeat_up_to(body.good, rounds - 1)
    good, bad = combine(earlier, body.good), combine(earlier, body.either)
    if verb.kind == "while" or not rounds:
        good = maximum((good, constant(0, place.size)))
    granted = place.size - 1 if verb.on_exhausted == "human" else 0
    if granted:
        # Both the question and the round that it allows are transitions.
        more = repeat_table(body.good, price=2)
        good, bad = combine(good, more), combine(bad, more)
    return Node(step, good, maximum((good, bad)), (body,), rounds, body.either, granted)


def call_node(place: ForecastScope, step: Step) -> Node:
    """A whole workflow; its own limits apply unless the calling step has others."""
    verb = step.verb
    assert isinstance(verb, Call)
    inner = replace(place, workflow=verb.workflow)
    if verb.workflow is not place.workflow:
        inner = replace(inner, values=values_in_call(verb, place.values))
    return _with_limits(
        inner, verb.workflow.limits if step.limits == NO_LIMITS else NO_LIMITS, step, _workflow
    )


def _workflow(place: ForecastScope, step: Step) -> Node:
    workflow = place.workflow
    body = _block(place, step, workflow.body)
    closing = closing_node(place)
    extra = constant(0 if closing is None else closing.either[-1], place.size)
    if workflow.advisor is not None:
        # The same transition pays for the question and for what it allows.
        advice = repeat_table(node(replace(place, at=child(place.at, ADVICE)), workflow.advisor).either)
        body = replace(body, good=_add_entries(body.good, advice), bad=_add_entries(body.bad, advice))
    return replace(body, good=combine(body.good, extra), bad=combine(body.bad, extra), closing=closing)


def closing_node(place: ForecastScope) -> Node | None:
    """The worst case of `finally`, which has its own transitions."""
    if place.workflow.finally_ is None:
        return None
    inside = replace(place, at=child(place.at, FINALLY), size=1 + FINALLY_TRANSITIONS, shielded=True)
    return node(inside, place.workflow.finally_)


def _add_entries(table: Table, more: Table) -> Table:
    return tuple(max(NEVER, a + b) for a, b in zip(table, more, strict=True))


def _block(place: ForecastScope, step: Step, block: Block) -> Node:
    parts = tuple(_child(place, step) for step in block.steps)
    price = 0 if place.in_for_each else 1
    if block.kind == "seq":
        ends = tuple((part.good, part.bad) for part in parts)
        has_advisor = place.workflow.advisor is not None
        walk = walk_sequence(
            block, ends, price, place.workflow.breaker, has_advisor=has_advisor, shielded=place.shielded
        )
        return Node(step, walk.good, walk.bad, parts, walk=walk)
    entered = combine_all((delay(part.either, price, 0) for part in parts), place.size)
    back = any(t.kind == "step" for inner in block.steps for _, t in targets_of(inner))
    if block.kind == "dag" and (back or place.workflow.advisor is not None):
        entered = combine(entered, repeat_table(maximum(part.either for part in parts)))
    return Node(step, entered, entered, parts)


def _with_retries(place: ForecastScope, step: Step, body: Node) -> Node:
    """A scope with gates that may be repeated."""
    tries = 1 if isinstance(step.verb, Review | Gates) else times(place, step, step.retry.attempts)
    asks = step.retry.stated and step.retry.on_exhausted == "human"
    granted = place.size - 1 if asks and not isinstance(step.verb, Review | Gates) else 0
    gates_part = _gates_node(place, step)
    if gates_part is None and tries == 1 and not granted:
        return body
    gates_table = constant(0, place.size) if gates_part is None else gates_part.either
    once = combine(body.either, gates_table)
    before = multiply(once, tries - 1)
    if granted:
        before = combine(before, repeat_table(once))
    good, bad = (
        combine(before, combine(body.good, gates_table)),
        combine(before, combine(body.bad, gates_table)),
    )
    return Node(step, good, maximum((good, bad)), (body,), tries, once, granted)


def times(place: ForecastScope, step: Step, number: object) -> int:
    number_of_times = count(number, place.values)
    if number_of_times is None:
        raise KnownAtRunTime(step.name, "the number of repetitions is known only at run time")
    return number_of_times
