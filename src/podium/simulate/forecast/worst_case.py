"""The exact worst case of a workflow: the maximum it can use, whatever agents, tests, reviewers and people answer.

Every step becomes a node with two tables, for a good and for a bad end (see `cost_tables`). Not included is what no rule of
the file bounds: attempts repeated after a crash, calls refused by a used-up quota, landings repeated because the branch
moved, limits raised by a person, and steps that a person sends a run back to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from podium.core.addresses import FINALLY, child
from podium.core.evolve.scopes import FINALLY_TRANSITIONS
from podium.core.model import Block, Call, Step, Workflow
from podium.core.policy import Limits
from podium.fast_dataclass import dataclass, replace
from podium.simulate.forecast.case_analysis import (
    AttemptCost,
    ForecastScope,
    MakeCost,
    Rounds,
    Unbounded,
    call_limit,
    cost_of_call,
    cost_of_step,
    scope_of_run,
    weights_of_tries,
)
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


def worst_case(workflow: Workflow, inputs: Mapping[str, Any], attempt_cost: AttemptCost) -> Node:
    """The worst case of a whole run; the last entry of its tables is the result. Raises Unbounded."""
    limit = workflow.limits.transitions
    place = scope_of_run(workflow, inputs, attempt_cost, limit or 0)
    run = cost_of_call(TABLES, place, Step(workflow.name, Call(workflow)))
    if limit is None and _grows_with_transitions(replace(place, size=2), run):
        raise Unbounded(
            workflow.name, "limits.transitions is disabled, and nothing else bounds the loops of this file"
        )
    return run


def _grows_with_transitions(place: ForecastScope, run: Node) -> bool:
    """Whether one more transition would increase the cost."""
    return cost_of_call(TABLES, place, run.step).either[-1] > run.either[-1]


class _Tables:
    """The cost model of exact tables."""

    def never_entered(self, place: ForecastScope, step: Step) -> Node:
        return Node(step, constant(0, place.size), constant(NEVER, place.size))

    def limited(self, place: ForecastScope, step: Step, limits: Limits, make: MakeCost) -> Node:
        return _cap(make(self, place, step), call_limit(place, limits), limits.transitions)

    def leaf(self, place: ForecastScope, step: Step, gate: Node | None, tries: Callable[[], int]) -> Node:
        retry, number = step.retry, tries()
        weights, attempts = weights_of_tries(place, step, number), 1 + retry.transient + retry.repair
        once = constant(weights.granted * attempts, place.size)
        table = constant(weights.all_tries * attempts + weights.fallback, place.size)
        if gate is not None:
            once = combine(once, gate.either)
            table = combine(table, multiply(gate.either, number))
        granted = 0
        if retry.on_exhausted == "human":
            granted, table = place.size - 1, combine(table, repeat_table(once))
        elif place.workflow.breaker.retries is not None:
            # Asked once per visit, after that many failed attempts.
            granted, table = 1, combine(table, delay(once, 1, 0))
        return Node(step, table, table, () if gate is None else (gate,), number, once, granted)

    def team(self, _place: ForecastScope, _step: Step, leaf: Node, message: Node, most: int) -> Node:
        table = combine(leaf.either, multiply(message.either, most))
        return replace(leaf, good=table, bad=table)

    def together(self, place: ForecastScope, step: Step, parts: tuple[Node, ...]) -> Node:
        table = combine_all((part.either for part in parts), place.size)
        return Node(step, table, table, parts)

    def items(self, _place: ForecastScope, step: Step, body: Node, width: int) -> Node:
        table = multiply(body.either, width)
        return Node(step, table, table, (body,) * width)

    def rounds(self, place: ForecastScope, step: Step, body: Node, rounds: Rounds) -> Node:
        earlier = repeat_up_to(body.good, rounds.most - 1)
        good, bad = combine(earlier, body.good), combine(earlier, body.either)
        if rounds.may_do_nothing:
            good = maximum((good, constant(0, place.size)))
        granted = place.size - 1 if rounds.asks else 0
        if granted:
            more = repeat_table(body.good, price=2)
            good, bad = combine(good, more), combine(bad, more)
        return Node(step, good, maximum((good, bad)), (body,), rounds.most, body.either, granted)

    def sequence(self, place: ForecastScope, step: Step, block: Block, parts: tuple[Node, ...]) -> Node:
        walk = walk_sequence(
            block,
            tuple((part.good, part.bad) for part in parts),
            place.entry_price,
            place.workflow.breaker,
            has_advisor=place.has_advisor,
            shielded=place.shielded,
        )
        return Node(step, walk.good, walk.bad, parts, walk=walk)

    def entered(self, place: ForecastScope, step: Step, parts: tuple[Node, ...], *, repeats: bool) -> Node:
        table = combine_all((delay(part.either, place.entry_price, 0) for part in parts), place.size)
        if repeats:
            table = combine(table, repeat_table(maximum(part.either for part in parts)))
        return Node(step, table, table, parts)

    def workflow(self, place: ForecastScope, _step: Step, body: Node, advice: Node | None) -> Node:
        closing = closing_node(place)
        extra = constant(0 if closing is None else closing.either[-1], place.size)
        if advice is not None:
            more = repeat_table(advice.either)
            body = replace(body, good=_add_entries(body.good, more), bad=_add_entries(body.bad, more))
        return replace(body, good=combine(body.good, extra), bad=combine(body.bad, extra), closing=closing)

    def retried(
        self, place: ForecastScope, step: Step, body: Node, gate: Node | None, tries: int, *, asks: bool
    ) -> Node:
        granted = place.size - 1 if asks else 0
        if gate is None and tries == 1 and not granted:
            return body
        judged = constant(0, place.size) if gate is None else gate.either
        once = combine(body.either, judged)
        before = multiply(once, tries - 1)
        if granted:
            before = combine(before, repeat_table(once))
        good, bad = (combine(before, combine(end, judged)) for end in (body.good, body.bad))
        return Node(step, good, maximum((good, bad)), (body,), tries, once, granted)


TABLES: Final = _Tables()


def closing_node(place: ForecastScope) -> Node | None:
    """The worst case of `finally`, which has its own transitions."""
    if place.workflow.finally_ is None:
        return None
    inside = replace(place, at=child(place.at, FINALLY), size=1 + FINALLY_TRANSITIONS, shielded=True)
    return cost_of_step(TABLES, inside, place.workflow.finally_)


def _cap(uncapped: Node, max_calls: int | None, transitions: int | None) -> Node:
    if max_calls is None and transitions is None:
        return uncapped

    def cap_table(table: Table) -> Table:
        last = len(table) - 1 if transitions is None else min(transitions, len(table) - 1)
        ends = tuple(table[min(t, last)] for t in range(len(table)))
        return ends if max_calls is None else tuple(min(max_calls, value) for value in ends)

    return replace(uncapped, good=cap_table(uncapped.good), bad=cap_table(uncapped.bad))


def _add_entries(table: Table, more: Table) -> Table:
    return tuple(max(NEVER, a + b) for a, b in zip(table, more, strict=True))
