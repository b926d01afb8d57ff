"""What a workflow can use before anything runs: calls, tokens, money and time, from the best to the worst case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from statistics import median
from typing import Any, Final, Literal, NamedTuple, get_args

from podium.app.forecast.check import Price, bound_of, pricing, refusals_of, weights_of
from podium.app.run.cost_history import History
from podium.app.values import as_foreseen, assumed
from podium.core.addresses import ADVICE, child, without_numbers
from podium.core.model import Call, Continue, Step, Wait, Workflow
from podium.core.state import Leaf, State
from podium.core.types import Address
from podium.fast_dataclass import dataclass
from podium.simulate.forecast.best_case import best_case
from podium.simulate.forecast.case_analysis import AttemptCost, Unbounded, calls
from podium.simulate.forecast.priced_bound import EXACT_TRANSITIONS
from podium.simulate.forecast.upper_bound import UpperBound
from podium.simulate.forecast.witness import witness, witness_lines
from podium.simulate.forecast.worst_case import worst_case
from podium.simulate.loop_lists import all_steps
from podium.simulate.random_world import RandomWorld
from podium.simulate.run import simulate

RUNS: Final = 60
"""So many simulated runs tell what is likely."""
RUNS_AT_START: Final = 9
MAX_STEPS_AT_START: Final = 60
"""Simulating them nine times takes about as long as starting the program."""
Unit = Literal["calls", "tokens", "usd", "time"]
UNITS: Final[tuple[Unit, ...]] = get_args(Unit)


class Range(NamedTuple):
    least: int
    likely: int
    most: int | None
    """None: nothing bounds it."""
    cut: str = ""
    """The limit that bounds the worst case."""


class PlannedSeries(NamedTuple):
    """The step by which a run continues as a new one, and what bounds the series."""

    step: str
    max: int | None
    """How many runs there may be; None if the file does not say, or only when the run comes to the step."""
    per: str
    """Whether the limits are for the series or for each run."""


class PlannedPoll(NamedTuple):
    """A command that is called again and again while a run waits."""

    step: str
    command: str
    every_s: float | None
    """None: the file does not say, or only when the run comes to the step."""
    timeout_s: float | None

    @property
    def most(self) -> int | None:
        return None if not self.every_s or self.timeout_s is None else int(self.timeout_s // self.every_s) + 1


@dataclass(frozen=True, slots=True)
class Plan:
    workflow: str
    ranges: Mapping[Unit, Range]
    way: tuple[str, ...]
    """The path that causes the worst case, with repetitions grouped."""
    prices: Mapping[str, Price]
    """By the address of the step, without numbers."""
    refusals: tuple[str, ...] = ()
    repairs: Mapping[str, int] = field(default_factory=dict)
    """By the address of the step: how many answers of one attempt may be asked for again, each with a call."""
    series: PlannedSeries | None = None
    """If a run may continue as a new one: everything else here is about one run."""
    memories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The steps that use each memory."""
    polls: tuple[PlannedPoll, ...] = ()


def plan(workflow: Workflow, values: Mapping[str, Any], history: History | None = None) -> Plan:
    workflow, inputs = as_foreseen(workflow, values), assumed(workflow, values)
    prices: dict[str, Price] = {}
    repairs: dict[str, int] = {}
    known_price = pricing(workflow, history, prices)

    def price(step: Step, at: Address) -> Price:
        repairs[at] = step.retry.repair
        return known_price(step, at)

    weights = {unit: weights_of(unit, price) for unit in UNITS}
    lowest = {unit: best_case(workflow, inputs, weigh[0]) for unit, weigh in weights.items()}
    likely = _likely(workflow, inputs, {unit: weigh[1] for unit, weigh in weights.items()})
    bounds = {unit: bound_of(workflow, inputs, weigh[2]) for unit, weigh in weights.items()}
    ranges: dict[Unit, Range] = {}
    for unit in weights:
        most, cut = _highest(unit, bounds[unit], getattr(workflow.limits, unit))
        ceiling = most if most is not None else max(lowest[unit], likely[unit])
        ranges[unit] = Range(min(lowest[unit], ceiling), min(likely[unit], ceiling), most, cut)
    refusals = refusals_of(workflow, inputs, history, bounds["calls"])
    way = _longest_path(workflow, inputs, bounds["calls"])
    return Plan(
        workflow.name,
        ranges,
        way,
        prices,
        refusals,
        repairs,
        series_of(workflow),
        _memories(workflow),
        tuple(_polls(workflow)),
    )


def _memories(workflow: Workflow) -> dict[str, tuple[str, ...]]:
    steps: dict[str, list[str]] = {}
    for step in all_steps(workflow):
        if step.memory:
            steps.setdefault(step.memory, []).append(step.name)
    return {name: tuple(dict.fromkeys(users)) for name, users in sorted(steps.items())}


def _polls(workflow: Workflow) -> Iterator[PlannedPoll]:
    for step in all_steps(workflow):
        verb = step.verb
        if isinstance(verb, Wait) and verb.what == "poll":
            argv = verb.detail.get("argv", ())
            words = " ".join(word if isinstance(word, str) else "..." for word in argv)
            every = verb.detail.get("every")
            yield PlannedPoll(
                step.name,
                words,
                every / 1000 if isinstance(every, int) else None,
                step.timeout / 1000 if isinstance(step.timeout, int) else None,
            )


def series_of(workflow: Workflow) -> PlannedSeries | None:
    """The plan is that of one run; this is what it says of the others."""
    steps = [(step, step.verb) for step in workflow.body.steps if isinstance(step.verb, Continue)]
    if not steps:
        return None
    counts = [verb.max for _, verb in steps]
    most = max((count for count in counts if isinstance(count, int)), default=None)
    is_known = all(isinstance(count, int) for count in counts)
    return PlannedSeries(steps[0][0].name, most if is_known else None, workflow.limits.per)


class Likely(NamedTuple):
    calls: int
    usd: int


def likely_use(workflow: Workflow, values: Mapping[str, Any], history: History) -> Likely | None:
    """What a run is likely to use, from few simulated runs; None for a file that takes long to simulate."""
    if sum(1 for _ in all_steps(workflow)) > MAX_STEPS_AT_START:
        return None
    workflow = as_foreseen(workflow, values)
    price = pricing(workflow, history, {})
    weights: dict[Unit, AttemptCost] = {"calls": calls, "usd": weights_of("usd", price)[1]}
    likely = _likely(workflow, assumed(workflow, values), weights, RUNS_AT_START)
    return Likely(likely["calls"], likely["usd"])


def _likely(
    workflow: Workflow,
    inputs: Mapping[str, Any],
    weights: Mapping[Unit, AttemptCost],
    runs: int = RUNS,
) -> dict[Unit, int]:
    """The median of many random runs."""
    sums: dict[Unit, list[int]] = {unit: [] for unit in weights}
    for seed in range(runs):
        run = simulate(workflow, RandomWorld(seed), inputs=inputs)
        worked = (i for i in run.state.instances.values() if isinstance(i, Leaf) and i.attempt)
        leaves = [(leaf, _address(run.state, leaf)) for leaf in worked]
        for unit, weigh in weights.items():
            sums[unit].append(sum(i.attempt * weigh(i.place.step, at) for i, at in leaves))
    return {unit: int(median(values)) for unit, values in sums.items()}


def _address(state: State, leaf: Leaf) -> Address:
    """Without numbers; the advisor of a workflow has one address, wherever it is asked."""
    place = leaf.place
    if place.role != "advice":
        return without_numbers(place.path)
    while not isinstance(place.step.verb, Call):
        place = state.instances[place.parent].place
    return child(without_numbers(place.path), ADVICE)


def _highest(unit: Unit, bound: UpperBound | Unbounded, limit: int | None) -> tuple[int | None, str]:
    """The worst case, and the limit that bounds it; None if nothing does."""
    if isinstance(bound, Unbounded):
        return limit, "" if limit is None else f"limits.{unit}"
    # Calls have been cut already, as far as their limit holds for all of them.
    if limit is not None and (bound.most == limit if unit == "calls" else bound.most >= limit):
        return limit, f"limits.{unit}"
    return bound.most, "limits.transitions" if bound.grows else ""


def _longest_path(
    workflow: Workflow, inputs: Mapping[str, Any], most_calls: UpperBound | Unbounded
) -> tuple[str, ...]:
    """The path with the most calls. Where a large limit leaves room for further rounds, only its start."""
    if isinstance(most_calls, Unbounded):
        return ()
    limit, number_of_steps = workflow.limits.transitions, sum(1 for _ in all_steps(workflow))
    shown = max(EXACT_TRANSITIONS, 2 * number_of_steps)
    if limit is None or limit <= shown:
        return witness_lines(witness(worst_case(workflow, inputs, calls)))
    start = replace(workflow, limits=replace(workflow.limits, transitions=shown))
    lines = witness_lines(witness(worst_case(start, inputs, calls)))
    more = f"... and so on, up to {limit} transitions"
    return (*lines, more) if most_calls.grows else lines
