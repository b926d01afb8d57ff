"""What a workflow can use before anything runs: calls, tokens, money and time, from the best to the worst case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final, Literal, NamedTuple, get_args

from podium.app.rehearsal import assumed
from podium.core.events import AttemptEnded, AttemptStarted, Event
from podium.core.model import Agent, Step, Workflow
from podium.core.state import Leaf
from podium.engine.log import read_events
from podium.errors import ConfigurationError
from podium.ports import Store
from podium.simulate.bounds import NotYetKnown, Unbounded, Weigh, calls, worst
from podium.simulate.chance import Chance
from podium.simulate.least import least
from podium.simulate.shell import simulate
from podium.simulate.worst import Witness, told, witness
from podium.views.numbers import dollars
from podium.workflow.defaults import ESTIMATE

RUNS: Final = 60
"""So many simulated runs tell what is likely."""
PAST: Final = 20
"""So many earlier runs are looked at."""
CALL_TIME: Final = 60_000
"""What a call takes when nobody knows better."""
From = Literal["history", "declared", "default"]
Unit = Literal["calls", "tokens", "usd", "time"]
UNITS: Final[tuple[Unit, ...]] = get_args(Unit)


class Price(NamedTuple):
    """What one call of an agent uses: least, likely, most; and who says so."""

    tokens: tuple[int, int, int]
    usd: tuple[int, int, int]
    time: tuple[int, int, int]
    source: From
    attempts: int = 0
    """How many earlier ones this is taken from."""


class Range(NamedTuple):
    least: int
    likely: int
    most: int | None
    """None: nothing bounds it."""
    cut: str = ""
    """The limit that bounds the worst case."""


@dataclass(frozen=True, slots=True)
class Plan:
    workflow: str
    ranges: Mapping[Unit, Range]
    way: tuple[str, ...]
    """The way that causes the worst case, with what is repeated put together."""
    prices: Mapping[str, Price]
    """By the name of the step."""
    refusals: tuple[str, ...] = ()


History = Mapping[str, Iterable[tuple[int, int, int]]]
"""Per step: tokens, money and time of earlier attempts."""


def plan(workflow: Workflow, given: Mapping[str, Any], history: History | None = None) -> Plan:
    inputs = assumed(workflow, given)
    prices: dict[str, Price] = {}

    def price(step: Step) -> Price:
        if step.name not in prices:
            prices[step.name] = _price(step, (history or {}).get(step.name, ()))
        return prices[step.name]

    weights = {unit: _weights(unit, price) for unit in UNITS}
    lowest = {unit: least(workflow, inputs, weigh[0]) for unit, weigh in weights.items()}
    likely = _likely(workflow, inputs, {unit: weigh[1] for unit, weigh in weights.items()})
    tops, way = _tops(workflow, inputs, {unit: weigh[2] for unit, weigh in weights.items()})
    ranges: dict[Unit, Range] = {}
    for unit in weights:
        most, cut = tops[unit]
        ranges[unit] = Range(
            lowest[unit], min(likely[unit], most) if most is not None else likely[unit], most, cut
        )
    return Plan(workflow.name, ranges, way, prices, refusals(workflow, given))


def refusals(workflow: Workflow, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Why a run need not be started: its cheapest way is beyond a limit, or nothing bounds how wide it gets."""
    inputs, limits = assumed(workflow, given), workflow.limits
    found = []
    fewest = least(workflow, inputs, calls)
    if limits.calls is not None and fewest > limits.calls:
        found.append(f"even the shortest way takes {fewest} agent calls, and limits.calls is {limits.calls}")
    cheapest = least(workflow, inputs, _declared)
    if limits.usd is not None and cheapest > limits.usd:
        found.append(
            f"even the cheapest way costs {dollars(cheapest)} as `estimate` declares, and limits.usd is "
            f"{dollars(limits.usd)}"
        )
    try:
        worst(workflow, inputs, calls)
    except NotYetKnown:
        pass
    except Unbounded as error:
        found.append(f'"{error.step}": {error.what}')
    return tuple(found)


def check_plan(workflow: Workflow, given: Mapping[str, Any]) -> int | None:
    """The calls of the worst case, None if only the run will tell. Raises ConfigurationError for a run that need not be started."""
    found = refusals(workflow, given)
    if found:
        lines = "\n".join(f"  {line}" for line in found)
        raise ConfigurationError(
            f"{workflow.name} would be stopped by its limits before it can pass:\n{lines}",
            hint="raise the limit, or see `podium plan FILE`",
        )
    try:
        return worst(workflow, assumed(workflow, given), calls).either[-1]
    except NotYetKnown:
        return None


def read_history(open_store: Callable[[Path], Store], project: Path, workflow: str) -> History:
    """Of the newest runs of this workflow in this project, if it has any."""
    try:
        store = open_store(project)
    except ConfigurationError:
        return {}
    try:
        heads = [head for head in store.heads() if head.workflow == workflow][:PAST]
        return history_of([read_events(store, head.run) for head in heads])
    finally:
        store.close()


def history_of(runs: Iterable[Iterable[Event]]) -> History:
    """What attempts of agents have used, by the name of their step."""
    found: dict[str, list[tuple[int, int, int]]] = {}
    for events in runs:
        started: dict[str, int] = {}
        for event in events:
            if isinstance(event, AttemptStarted):
                started[event.path] = event.at
            elif (
                isinstance(event, AttemptEnded) and event.used.calls and event.cost_known and not event.reused
            ):
                name = event.path.rpartition("/")[2].partition("~")[0].partition("[")[0]
                took = event.at - started.get(event.path, event.at)
                found.setdefault(name, []).append((event.used.tokens, event.used.usd, took))
    return found


def _price(step: Step, past: Iterable[tuple[int, int, int]]) -> Price:
    rows = list(past)
    if rows:
        tokens, usd, time = (tuple(map(int, (min(c), median(c), max(c)))) for c in zip(*rows, strict=True))
        return Price(tokens, usd, time, "history", len(rows))  # type: ignore[arg-type]  # three of three
    assert isinstance(step.verb, Agent)
    known, timeout = step.verb.estimate, step.timeout or CALL_TIME
    time = (0, min(CALL_TIME, timeout), timeout)
    if known == ESTIMATE:
        # Nobody said anything, so that nothing is known of the least.
        return Price((0, known.tokens, known.tokens), (0, known.usd, known.usd), time, "default")
    return Price((known.tokens,) * 3, (known.usd,) * 3, time, "declared")


def _weights(unit: str, price: Any) -> tuple[Weigh, Weigh, Weigh]:
    if unit == "calls":
        return calls, calls, calls

    def weigh(place: int) -> Weigh:
        def one(step: Step) -> int:
            if calls(step):
                return int(getattr(price(step), unit)[place])
            return (
                (step.timeout or 0) * (place == 2)
                if unit == "time" and not isinstance(step.verb, Agent)
                else 0
            )

        return one

    return weigh(0), weigh(1), weigh(2)


def _declared(step: Step) -> int:
    verb = step.verb
    return verb.estimate.usd if isinstance(verb, Agent) and calls(step) and verb.estimate != ESTIMATE else 0


def _likely(workflow: Workflow, inputs: Mapping[str, Any], weights: Mapping[Unit, Weigh]) -> dict[Unit, int]:
    """The middle of many runs with ordinary luck."""
    sums: dict[Unit, list[int]] = {unit: [] for unit in weights}
    for seed in range(RUNS):
        run = simulate(workflow, Chance(seed), inputs=inputs)
        leaves = [i for i in run.state.instances.values() if isinstance(i, Leaf) and i.attempt]
        for unit, weigh in weights.items():
            sums[unit].append(sum(i.attempt * weigh(i.place.step) for i in leaves))
    return {unit: int(median(values)) for unit, values in sums.items()}


def _tops(
    workflow: Workflow, inputs: Mapping[str, Any], weights: Mapping[Unit, Weigh]
) -> tuple[dict[Unit, tuple[int | None, str]], tuple[str, ...]]:
    found: dict[Unit, tuple[int | None, str]] = {}
    way: Witness = {}
    for unit, weigh in weights.items():
        limit = getattr(workflow.limits, unit)
        try:
            node = worst(workflow, inputs, weigh)
        except Unbounded:
            found[unit] = (limit, "" if limit is None else f"limits.{unit}")
            continue
        if unit == "calls":
            way = witness(node)
        table = node.either
        grows = len(table) > 1 and table[-1] > table[-2]
        found[unit] = (table[-1], "limits.transitions" if grows else "")
        if limit is not None and table[-1] >= limit:
            found[unit] = (limit, f"limits.{unit}")
    return found, told(way)
