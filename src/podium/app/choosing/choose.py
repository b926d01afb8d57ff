"""Chooses the agents of steps with `agent: auto` before a run starts: once for each step, recorded in its first event.

Rule 1: an agent that could not do the step here, or only beyond a limit, is not a candidate, not even to explore it. Rule 2:
the same history, run and settings give the same choice, so figures are read as of the start of an interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from podium.app.choosing.eligible import obstacle
from podium.app.choosing.policy import decide
from podium.app.choosing.records import Sample
from podium.app.choosing.settings import Adaptive, adaptive_of
from podium.attempt.host import Host
from podium.core.messages import Start
from podium.core.model import Agent, Step, Workflow
from podium.core.payloads import Chosen
from podium.core.queries.steps import AUTO, all_steps
from podium.core.types import Address, Millis
from podium.errors import ConfigurationError, PodiumError
from podium.ports.history import LocalHistory
from podium.runtime.prepared_run import PreparedRun
from podium.views.history.attempts import craft_of

if TYPE_CHECKING:
    from podium.app.project import Project

PATIENCE_S: Final = 0.5
MOST: Final = 2_000
"""The newest visits that are read for one step."""


class AutoStep(NamedTuple):
    at: Address
    step: Step
    workflow: Workflow
    """The workflow that contains the step."""

    @property
    def role(self) -> str | None:
        assert isinstance(self.step.verb, Agent)
        return self.step.verb.role if isinstance(self.step.verb.role, str) else None

    @property
    def craft(self) -> str:
        assert isinstance(self.step.verb, Agent)
        return craft_of(self.role, judges=self.step.verb.judge)


def auto_steps(workflow: Workflow) -> Iterator[AutoStep]:
    """The steps whose agent is chosen, also those of called workflows."""
    for at, step, inner in all_steps(workflow):
        verb = step.verb
        if isinstance(verb, Agent) and not verb.by_hand and verb.agent == AUTO and step.settings.candidates:
            yield AutoStep(at, step, inner)


def with_history(project: Project, prepared: PreparedRun, start: Start) -> Start:
    """With what earlier runs teach: the agents of steps with `agent: auto`, and what the summary compares the run with."""
    host, workflow = prepared.host, prepared.workflow
    if any(step.settings.candidates for _, step, _ in all_steps(workflow)):
        chosen = choose_agents(project, host, workflow, host.now(), explores=not start.no_human)
        start = replace(start, run=replace(start.run, chosen=chosen))
    if not host.context.agents_simulated:
        from podium.app.history.earlier import with_earlier

        start = with_earlier(project, start, host.now())
    return start


def choose_agents(
    project: Project, host: Host, workflow: Workflow, now: int, *, explores: bool = True
) -> tuple[Chosen, ...]:
    """The choices for a run of this workflow; () if it has no step with `agent: auto`."""
    steps = list(auto_steps(workflow))
    if not steps:
        return ()
    settings = adaptive_of(workflow.config.adaptive)
    history = _history(project) if settings.policy != "first" else None
    try:
        read = _reader(history, workflow.name, settings, now)
        return tuple(
            choose(
                each, read(each), host, settings, seed=host.run, as_of=as_of(settings, now), explores=explores
            )
            for each in steps
        )
    finally:
        if history is not None:
            history.close()


def as_of(settings: Adaptive, now: int) -> Millis:
    return Millis(now // settings.interval * settings.interval)


def _history(project: Project) -> LocalHistory | None:
    """Brought up to date as far as that is quick; None if it cannot be used, which must not keep a run from starting."""
    from podium.app.history.catch_up import catch_up

    if not project.runtime.heads():
        return None
    try:
        history = project.open_history()
        catch_up(project.runtime, history, patience_s=PATIENCE_S)
    except (PodiumError, OSError):
        return None
    return history


Row = tuple[str, str | None, int | None, int, int]
"""The agent, its model, whether the visit stood, its cost, and its calls without a price."""


def _reader(
    history: LocalHistory | None, workflow: str, settings: Adaptive, now: int
) -> Callable[[AutoStep], Sequence[Row]]:
    def read(each: AutoStep) -> Sequence[Row]:
        if history is None:
            return ()
        until = as_of(settings, now)
        values: dict[str, Any] = {
            "craft": each.craft,
            "role": each.role,
            "workflow": workflow,
            "step": each.at,
            "project": history.own.id if settings.source == "project" else None,
            "since": until - settings.last,
            "until": until,
            "most": MOST,
        }
        rows: Any = history.query("choice samples", values)
        return tuple(reversed(rows))

    return read


def choose(
    each: AutoStep,
    rows: Sequence[Row],
    host: Host,
    settings: Adaptive,
    *,
    seed: str,
    as_of: Millis,
    explores: bool = True,
) -> Chosen:
    """Raises ConfigurationError if no candidate can do the step."""
    candidates = tuple(dict.fromkeys(each.step.settings.candidates))
    samples = _samples(rows, each.workflow.config.agents)
    locked = settings.locked.get(each.role or "")
    if locked is not None:
        return Chosen(each.at, locked, candidates[0], "locked", f"adaptive.locked: {each.role}", 1.0, as_of)
    obstacles = {name: obstacle(each, name, host, _likely_cost(samples, name)) for name in candidates}
    able = [name for name in candidates if not obstacles[name]]
    if not able:
        lines = "; ".join(f"{name}: {text}" for name, text in obstacles.items())
        raise ConfigurationError(f'step "{each.at}": no candidate of `agent: auto` can work here: {lines}')
    decision = decide(samples, able, settings, f"{seed}/{each.at}", explores=explores)
    left_out = "".join(f"; {name} left out: {text}" for name, text in obstacles.items() if text)
    return Chosen(
        each.at, decision.agent, able[0], settings.policy, decision.why + left_out, decision.chance, as_of
    )


def _samples(rows: Sequence[Row], agents: Mapping[str, Mapping[str, Any]]) -> list[Sample]:
    """A visit with another model than is configured now says nothing about the agent as it is."""
    samples = []
    for agent, model, stood, usd, unknown in rows:
        configured = agents.get(agent, {}).get("model")
        if isinstance(configured, str) and model and configured.lower() not in model.lower():
            continue
        samples.append(Sample(agent, None if stood is None else bool(stood), None if unknown else usd))
    return samples


def _likely_cost(samples: Sequence[Sample], agent: str) -> float | None:
    """The median of its visits."""
    costs = sorted(each.usd for each in samples if each.agent == agent and each.usd is not None)
    return costs[len(costs) // 2] if costs else None
