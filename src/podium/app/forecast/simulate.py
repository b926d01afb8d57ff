"""Simulate a workflow: once as a cast says, or often in a random world."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from podium.app.forecast.check import past_uses
from podium.app.run.cost_history import History, usual_of
from podium.app.values import as_foreseen, assumed
from podium.core.model import Workflow
from podium.core.payloads import Chosen
from podium.fast_dataclass import dataclass, replace
from podium.simulate.random_world import Odds
from podium.simulate.run import SIMULATED, simulate
from podium.simulate.scripted_world import ScriptedWorld, explain_unmatched
from podium.simulate.statistics import RunStatistics, simulate_runs
from podium.views.run.trace import Trace, trace
from podium.workflow.scripted.cast import NO_CAST, line_of, read_cast


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A run of a cast; `unplayed` are the lines of rules that nothing asked for, each with the reason."""

    run: Trace
    unplayed: tuple[tuple[int, str], ...] = ()


def rehearse(
    workflow: Workflow,
    cast: Path | None,
    *,
    inputs: Mapping[str, Any],
    env: Mapping[str, str] | None = None,
    chosen: tuple[Chosen, ...] = (),
) -> Rehearsal:
    """One run in which everybody says what the cast says, and everything else goes well."""
    workflow = as_foreseen(workflow, inputs)
    world = ScriptedWorld(NO_CAST if cast is None else read_cast(cast))
    facts = replace(SIMULATED, chosen=chosen)
    run = simulate(workflow, world, inputs=assumed(workflow, inputs), env=env, facts=facts)
    rules = () if cast is None else world.unmatched_rules()
    unplayed = tuple(
        (line_of(cast, rule), explain_unmatched(rule.match, run.state, run.events, runs_commands=False))
        for rule in rules
        if cast is not None
    )
    return Rehearsal(trace(run.events), unplayed)


def forecast(
    workflow: Workflow,
    *,
    seeds: Iterable[int],
    inputs: Mapping[str, Any],
    env: Mapping[str, str] | None = None,
    odds: Odds | None = None,
    history: History | None = None,
    chosen: tuple[Chosen, ...] = (),
) -> RunStatistics:
    """What many runs with ordinary luck amount to; calls use what they used in earlier runs, as in `podium plan`."""
    workflow = as_foreseen(workflow, inputs)
    return simulate_runs(
        workflow,
        seeds=seeds,
        inputs=assumed(workflow, inputs),
        env=env,
        odds=odds,
        past=past_uses(workflow, history or {}),
        typical_use=usual_of(workflow, history or {}),
        chosen=chosen,
    )
