"""The worst case of a step in general: its parts, how often each can happen, and which question or gate comes first.

What a part costs, and how the costs of parts add up, is up to a cost model: `worst_case` computes exact tables,
`priced_bound` a bound that takes the same time whatever the limits are. Whatever could repeat forever costs a
transition each time, so that the limit on transitions bounds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, assert_never

from podium.core.addresses import ADVICE, ROOT, child, gates
from podium.core.model import (
    Agent,
    Block,
    Call,
    Check,
    Continue,
    ForEach,
    Gates,
    Human,
    Members,
    Panel,
    Repeat,
    Review,
    Set,
    Step,
    Wait,
    Workflow,
)
from podium.core.policy import NO_LIMITS, Limits, Retry
from podium.core.queries.graph import WORK, targets_of
from podium.core.queries.static_names import UNKNOWN
from podium.core.queries.steps import upgrade_after, upgraded
from podium.core.types import Address
from podium.fast_dataclass import dataclass, replace
from podium.simulate.forecast.static_values import (
    StaticValues,
    count,
    holds,
    item_count,
    static_values,
    value_of,
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
class ForecastScope:
    """What is known at the place of a step."""

    workflow: Workflow
    values: StaticValues
    attempt_cost: AttemptCost
    size: int
    """The number of entries of a table: one more than the transitions."""
    members: int | None
    at: Address = ROOT
    """The address of the step, without numbers."""
    in_for_each: bool = False
    shielded: bool = False
    """Whether the place is inside `finally`."""

    @property
    def entry_price(self) -> int:
        """The transitions that entering the next step of a block costs."""
        return 0 if self.in_for_each else 1

    @property
    def has_advisor(self) -> bool:
        return self.workflow.advisor is not None


class Rounds(NamedTuple):
    """How often the body of a `repeat` can happen. The first round is free; a further one follows a good end only."""

    most: int
    may_do_nothing: bool
    asks: bool
    """Whether a person may allow another round: the question and the round are a transition each."""


T = TypeVar("T")
U = TypeVar("U")


class MakeCost(Protocol):
    """Computes the cost of a step without its own limits, by any model."""

    def __call__(self, model: CostModel[U], place: ForecastScope, step: Step) -> U: ...


class CostModel(Protocol[T]):
    """Computes costs; `place` is where the step is."""

    def never_entered(self, place: ForecastScope, step: Step) -> T: ...

    def limited(self, place: ForecastScope, step: Step, limits: Limits, make: MakeCost) -> T:
        """The cost of what `make` computes, within these limits."""

    def leaf(self, place: ForecastScope, step: Step, gate: T | None, tries: Callable[[], int]) -> T:
        """Each attempt: lost answers, malformed answers, then an answer that its gates judge."""

    def team(self, place: ForecastScope, step: Step, leaf: T, message: T, most: int) -> T:
        """A leaf with at most so many messages, each of which costs `message`."""

    def together(self, place: ForecastScope, step: Step, parts: tuple[T, ...]) -> T:
        """Each part happens once."""

    def items(self, place: ForecastScope, step: Step, body: T, width: int) -> T: ...

    def rounds(self, place: ForecastScope, step: Step, body: T, rounds: Rounds) -> T: ...

    def sequence(self, place: ForecastScope, step: Step, block: Block, parts: tuple[T, ...]) -> T: ...

    def entered(self, place: ForecastScope, step: Step, parts: tuple[T, ...], *, repeats: bool) -> T:
        """Each part happens at most once, and costs the price of its entry; `repeats`: then any part again and again."""

    def workflow(self, place: ForecastScope, step: Step, body: T, advice: T | None) -> T:
        """A body with its `finally`. The same transition pays for a question to the advisor and for what it allows."""

    def retried(
        self, place: ForecastScope, step: Step, body: T, gate: T | None, tries: int, *, asks: bool
    ) -> T:
        """A scope with gates that may be repeated; `asks`: and again for as long as a person allows it."""


def scope_of_run(
    workflow: Workflow, inputs: Mapping[str, Any], attempt_cost: AttemptCost, transitions: int
) -> ForecastScope:
    values = static_values(workflow, inputs)
    return ForecastScope(workflow, values, attempt_cost, 1 + transitions, workflow.limits.members)


def cost_of_step(model: CostModel[T], place: ForecastScope, step: Step) -> T:
    """The cost of one entry into a step. Raises Unbounded."""
    if step.when is not None and holds(step.when, place.values) is False:
        return model.never_entered(place, step)
    return _limited(model, place, step, step.limits, _cost_without_limits)


def cost_of_call(model: CostModel[T], place: ForecastScope, step: Step) -> T:
    """The cost of a whole workflow; its own limits apply unless the calling step has others. Raises Unbounded."""
    verb = step.verb
    assert isinstance(verb, Call)
    inner = replace(place, workflow=verb.workflow)
    if verb.workflow is not place.workflow:
        inner = replace(inner, values=values_in_call(verb, place.values))
    limits = verb.workflow.limits if step.limits == NO_LIMITS else NO_LIMITS
    return _limited(model, inner, step, limits, _cost_of_workflow)


def _limited(model: CostModel[T], place: ForecastScope, step: Step, limits: Limits, make: MakeCost) -> T:
    if limits.members is not None:
        place = replace(place, members=min(limits.members, place.members or limits.members))
    return model.limited(place, step, limits, make)


def _cost_without_limits(model: CostModel[T], place: ForecastScope, step: Step) -> T:
    verb = step.verb
    match verb:
        case Block():
            return _with_retries(model, place, step, _cost_of_block(model, place, step, verb))
        case Members() | Review() if verb.panel is not None:
            parts = (_cost_of_child(model, place, verb.members[0]),) * _panel_limit(place, step, verb.panel)
            return _with_retries(model, place, step, model.together(place, step, parts))
        case Members() | Review() | Gates():
            parts = tuple(_cost_of_child(model, place, member) for member in verb.members)
            return _with_retries(model, place, step, model.together(place, step, parts))
        case ForEach():
            return _with_retries(model, place, step, _cost_of_items(model, place, step, verb))
        case Repeat():
            return _with_retries(model, place, step, _cost_of_rounds(model, place, step, verb))
        case Call():
            return _with_retries(model, place, step, cost_of_call(model, place, step))
        case Check() | Set() | Human() | Wait() | Continue():
            return model.together(place, step, ())
        case _ if isinstance(verb, WORK):
            leaf = _cost_of_leaf(model, place, step)
            return (
                _with_team(model, place, step, verb, leaf) if isinstance(verb, Agent) and verb.team else leaf
            )
        case _:
            assert_never(verb)


def _cost_of_leaf(model: CostModel[T], place: ForecastScope, step: Step) -> T:
    retry, gate = step.retry, _cost_of_gates(model, place, step)
    return model.leaf(place, step, gate, lambda: _times(place, step, retry.attempts) + len(retry.degrade))


def _with_team(model: CostModel[T], place: ForecastScope, step: Step, verb: Agent, leaf: T) -> T:
    """Each message lets one member answer and gives its asker one more attempt; the dearest of each counts."""
    workers = [(step, place)]
    for member in verb.team:
        at = child(gates(place.at), member.name)
        workers.append((member.step, replace(place, at=at)))
    workers = [(each, where) for each, where in workers if isinstance(each.verb, Agent)]

    def weight(worker: tuple[Step, ForecastScope]) -> int:
        each, where = worker
        tries = 1 + each.retry.transient + each.retry.repair
        return where.attempt_cost(each, where.at) * tries

    def weight_of_answer(worker: tuple[Step, ForecastScope]) -> int:
        each, where = worker
        return weight(worker) * (_times(where, each, each.retry.attempts) + len(each.retry.degrade))

    asker, at_asker = max(workers, key=weight)
    once = asker._replace(gates=None, retry=_retry_of_once(asker.retry))
    parts = [model.leaf(at_asker, once, None, lambda: 1)]
    if len(workers) > 1:
        answering, at_member = max(workers[1:], key=weight_of_answer)
        parts.append(cost_of_step(model, at_member, answering))
    most = step.limits.messages
    if most is None:
        raise Unbounded(step.name, "limits.messages is disabled, and nothing else bounds what a team asks")
    return model.team(place, step, leaf, model.together(place, step, tuple(parts)), most)


def _retry_of_once(retry: Retry) -> Retry:
    """The retry of one further attempt: what does not count as an attempt, and nothing else."""
    return Retry(attempts=1, transient=retry.transient, repair=retry.repair)


def _cost_of_child(model: CostModel[T], place: ForecastScope, step: Step) -> T:
    return cost_of_step(model, replace(place, at=child(place.at, step.name)), step)


def _cost_of_gates(model: CostModel[T], place: ForecastScope, step: Step) -> T | None:
    return None if step.gates is None else cost_of_step(model, replace(place, at=gates(place.at)), step.gates)


def _cost_of_items(model: CostModel[T], place: ForecastScope, step: Step, verb: ForEach) -> T:
    width = _item_limit(place, step, verb)
    return model.items(place, step, cost_of_step(model, replace(place, in_for_each=True), verb.body), width)


def _cost_of_rounds(model: CostModel[T], place: ForecastScope, step: Step, verb: Repeat) -> T:
    body = cost_of_step(model, place, verb.body)
    most = _times(place, step, verb.max)
    rounds = Rounds(most, verb.kind == "while" or not most, verb.on_exhausted == "human")
    return model.rounds(place, step, body, rounds)


def _cost_of_workflow(model: CostModel[T], place: ForecastScope, step: Step) -> T:
    workflow = place.workflow
    body = _cost_of_block(model, place, step, workflow.body)
    advice = None
    if workflow.advisor is not None:
        advice = cost_of_step(model, replace(place, at=child(place.at, ADVICE)), workflow.advisor)
    return model.workflow(place, step, body, advice)


def _cost_of_block(model: CostModel[T], place: ForecastScope, step: Step, block: Block) -> T:
    parts = tuple(_cost_of_child(model, place, inner) for inner in block.steps)
    if block.kind == "seq":
        return model.sequence(place, step, block, parts)
    leads_back = any(target.kind == "step" for inner in block.steps for _, target in targets_of(inner))
    return model.entered(
        place, step, parts, repeats=block.kind == "dag" and (leads_back or place.has_advisor)
    )


def _with_retries(model: CostModel[T], place: ForecastScope, step: Step, body: T) -> T:
    judges = isinstance(step.verb, Review | Gates)
    tries = 1 if judges else _times(place, step, step.retry.attempts)
    asks = step.retry.stated and step.retry.on_exhausted == "human" and not judges
    return model.retried(place, step, body, _cost_of_gates(model, place, step), tries, asks=asks)


class TryWeights(NamedTuple):
    """What single attempts use: one of each try together, one of a try beyond them, and all calls of fallback agents."""

    all_tries: int
    granted: int
    fallback: int


def weights_of_tries(place: ForecastScope, step: Step, number: int) -> TryWeights:
    """Each try is weighed by the agent that makes it; with a fallback it may be the more expensive of the two."""
    own = place.attempt_cost(step, place.at)
    fallback = own * len(step.verb.fallback) if isinstance(step.verb, Agent) else 0
    upgrades = step.retry.upgrade
    if not upgrades:
        return TryWeights(number * own, own, fallback)
    weights = [own]
    for index, entry in enumerate(upgrades, start=1):
        at = Address(f"{place.at} after {entry.after}")
        weight = place.attempt_cost(upgraded(step, index), at)
        weights.append(max(weight, own) if fallback else weight)
    bounds = (0, *(min(entry.after, number) for entry in upgrades), number)
    total = sum(
        weight * (end - start) for weight, (start, end) in zip(weights, pairwise(bounds), strict=True)
    )
    return TryWeights(total, max(weights[upgrade_after(step, number) :]), fallback * len(weights))


def calls(step: Step, _: Address = ROOT) -> int:
    """The unit of `limits.calls`: one per attempt of an agent."""
    return int(isinstance(step.verb, Agent) and not step.verb.by_hand)


def call_limit(place: ForecastScope, limits: Limits) -> int | None:
    """The limit on calls, if calls are what is counted."""
    return limits.calls if place.attempt_cost is calls else None


def _item_limit(place: ForecastScope, step: Step, verb: ForEach) -> int:
    """The maximum number of items."""
    known_count = item_count(verb, place.values)
    width = place.members if known_count is UNKNOWN else known_count
    if not isinstance(width, int):
        raise Unbounded(
            step.name, "the number of items of for_each is not bounded, and limits.members is disabled"
        )
    return width


def _panel_limit(place: ForecastScope, step: Step, panel: Panel) -> int:
    """The maximum number of members that a value names."""
    names = value_of(panel.names, place.values)
    width = len(names) if isinstance(names, list | tuple) else place.members
    if not isinstance(width, int):
        raise Unbounded(step.name, "the number of members is not bounded, and limits.members is disabled")
    return width if place.members is None else min(width, place.members)


def _times(place: ForecastScope, step: Step, number: object) -> int:
    number_of_times = count(number, place.values)
    if number_of_times is None:
        raise KnownAtRunTime(step.name, "the number of repetitions is known only at run time")
    return number_of_times
