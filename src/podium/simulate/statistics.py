"""Many simulated runs, and what they amount to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from podium.core.model import Workflow
from podium.simulate.random_world import ORDINARY, Odds, RandomWorld
from podium.simulate.run import simulate
from podium.views.run.trace import Trace, TracedStep, trace


@dataclass(frozen=True, slots=True)
class Spread:
    """Least, half of the runs, nine of ten, most."""

    least: float
    median: float
    ninety: float
    most: float


@dataclass(frozen=True, slots=True)
class Survey:
    """What a number of runs came to."""

    runs: int
    statuses: Mapping[str, int]
    paths: tuple[tuple[str, int], ...]
    """The most frequent ways through the workflow."""
    troubles: tuple[tuple[str, int], ...]
    """Where runs failed: step, outcome and reason."""
    usd: Spread
    time: Spread
    calls: Spread


def survey(
    workflow: Workflow,
    *,
    runs: int,
    seed: int,
    inputs: Mapping[str, Any],
    env: Mapping[str, str] | None = None,
    odds: Odds | None = None,
) -> Survey:
    """Run it that often in a random world, one seed after the other."""
    return _summed(
        trace(simulate(workflow, RandomWorld(seed + number, odds or ORDINARY), inputs=inputs, env=env).events)
        for number in range(runs)
    )


def _summed(traces: Iterable[Trace]) -> Survey:
    statuses: Counter[str] = Counter()
    ways: Counter[str] = Counter()
    troubles: Counter[str] = Counter()
    usd: list[float] = []
    time: list[float] = []
    calls: list[float] = []
    for one in traces:
        statuses[one.status or "waiting"] += 1
        ways[way(one)] += 1
        if one.status != "passed":
            troubles[_trouble(one)] += 1
        usd.append(one.usd)
        time.append(one.ended - one.started)
        calls.append(one.calls)
    return Survey(
        runs=len(usd),
        statuses=dict(statuses.most_common()),
        paths=tuple(ways.most_common(5)),
        troubles=tuple(troubles.most_common(5)),
        usd=_spread(usd),
        time=_spread(time),
        calls=_spread(calls),
    )


def way(one: Trace) -> str:
    """The steps of the top block in order, each with its outcome if it did not pass."""
    top = [
        step for step in one.steps if step.role == "step" and "/" not in step.path and "[" not in step.path
    ]
    return " > ".join(s.path if s.outcome == "passed" else f"{s.path}:{s.outcome}" for s in top)


def _trouble(one: Trace) -> str:
    if one.reason == "halted":
        return f"stopped by the breaker ({one.message})"
    for step in reversed(one.steps):
        if step.outcome not in ("passed", "skipped") and step.role == "step":
            return f"{step.path} {said(step)}"
    return one.status or "waits for somebody"


def said(step: TracedStep) -> str:
    """An outcome with its reason, where that says more."""
    return f"{step.outcome} ({step.reason})" if step.reason not in ("", step.outcome) else step.outcome


def _spread(values: list[float]) -> Spread:
    ordered = sorted(values) or [0.0]
    last = len(ordered) - 1
    return Spread(ordered[0], ordered[last // 2], ordered[round(last * 0.9)], ordered[last])
