"""Runs many simulations and summarizes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from podium.core.model import Workflow
from podium.core.payloads import Chosen, TypicalUse
from podium.fast_dataclass import dataclass
from podium.simulate.random_world import DEFAULT_ODDS, NO_PAST, Odds, PastUse, RandomWorld
from podium.simulate.run import SIMULATED, simulate
from podium.views.run.trace import Trace, TracedStep, trace


@dataclass(frozen=True, slots=True)
class Spread:
    """Minimum, median, 90th percentile and maximum."""

    least: float
    median: float
    ninety: float
    most: float


@dataclass(frozen=True, slots=True)
class RunStatistics:
    """The summary of a number of runs."""

    runs: int
    statuses: Mapping[str, int]
    paths: tuple[tuple[str, int], ...]
    """The most frequent paths through the workflow."""
    troubles: tuple[tuple[str, int], ...]
    """Where runs failed: step, outcome and reason."""
    usd: Spread
    time: Spread
    waiting: Spread
    """The part of the time in which a question waits for a person."""
    calls: Spread


def simulate_runs(
    workflow: Workflow,
    *,
    seeds: Iterable[int],
    inputs: Mapping[str, Any],
    env: Mapping[str, str] | None = None,
    odds: Odds | None = None,
    past: Mapping[str, PastUse] = NO_PAST,
    typical_use: tuple[TypicalUse, ...] = (),
    chosen: tuple[Chosen, ...] = (),
) -> RunStatistics:
    """Runs the workflow once per seed in a random world, in which calls use what they used before."""
    facts = replace(SIMULATED, typical_use=typical_use, chosen=chosen)
    worlds = (RandomWorld(seed, odds or DEFAULT_ODDS, past=past) for seed in seeds)
    return _summarize(
        trace(simulate(workflow, world, inputs=inputs, env=env, facts=facts).events) for world in worlds
    )


def _summarize(traces: Iterable[Trace]) -> RunStatistics:
    statuses: Counter[str] = Counter()
    paths: Counter[str] = Counter()
    troubles: Counter[str] = Counter()
    usd: list[float] = []
    time: list[float] = []
    waiting: list[float] = []
    calls: list[float] = []
    for run in traces:
        statuses[run.status or "waiting"] += 1
        paths[path_text(run)] += 1
        if run.status != "passed":
            troubles[_failure_text(run)] += 1
        usd.append(run.usd)
        time.append(run.ended - run.started)
        waiting.append(run.waited)
        calls.append(run.calls)
    return RunStatistics(
        runs=len(usd),
        statuses=dict(statuses.most_common()),
        paths=tuple(paths.most_common(5)),
        troubles=tuple(troubles.most_common(5)),
        usd=_spread(usd),
        time=_spread(time),
        waiting=_spread(waiting),
        calls=_spread(calls),
    )


def path_text(run: Trace) -> str:
    """The steps of the top block in order, each with its outcome if it did not pass."""
    top = [
        step for step in run.steps if step.role == "step" and "/" not in step.path and "[" not in step.path
    ]
    return " > ".join(s.path if s.outcome == "passed" else f"{s.path}:{s.outcome}" for s in top)


def _failure_text(run: Trace) -> str:
    if run.reason == "halted":
        return f"stopped by the breaker ({run.message})"
    for step in reversed(run.steps):
        if step.outcome not in ("passed", "skipped") and step.role == "step":
            return f"{step.path} {outcome_text(step)}"
    return run.status or "waits for an answer"


def outcome_text(step: TracedStep) -> str:
    """An outcome with its reason, if the reason adds something."""
    return f"{step.outcome} ({step.reason})" if step.reason not in ("", step.outcome) else step.outcome


def _spread(values: list[float]) -> Spread:
    ordered = sorted(values) or [0.0]
    last = len(ordered) - 1
    return Spread(ordered[0], ordered[last // 2], ordered[round(last * 0.9)], ordered[last])
