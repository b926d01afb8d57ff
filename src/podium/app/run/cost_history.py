"""What agent calls used in earlier runs of a workflow in this project, for forecasts and reservations.

Rule: unknown is not zero. A call without a price says nothing about cost, one without a count nothing about tokens, and
a call by another agent or model nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from podium.app.run.preflight import agent_steps
from podium.core.addresses import without_numbers
from podium.core.events import AttemptEnded, AttemptStarted, Event
from podium.core.model import Agent, Workflow
from podium.core.payloads import TypicalUse
from podium.core.step_settings import WorkflowConfig
from podium.core.types import MicroUsd, Millis
from podium.ports.runtime import Runtime
from podium.ports.store import RunHead, StoreError
from podium.runtime.records import event_of, is_replay

PAST: Final = 20
"""How many earlier runs count."""
WORKED: Final = ("ok", "failed", "blocked", "malformed")
"""How a call ends that was not cut short."""
CALLS: Final = (AttemptStarted.__name__, AttemptEnded.__name__)


class Use(NamedTuple):
    """What one call used; None if unknown."""

    tokens: int | None
    usd: int | None
    time: int
    agent: str = ""
    model: str = ""
    simulated: str = ""
    """The type of the agent, if it answered from a script or a recording."""


History: TypeAlias = Mapping[str, Sequence[Use]]
"""By the address of the step, without numbers."""


def usual_of(workflow: Workflow, history: History) -> tuple[TypicalUse, ...]:
    """The most that a call of each step has used, for a run of this workflow as it is now."""
    typical = (
        TypicalUse(step, _most_usd(uses), _most_tokens(uses))
        for step, uses in fitting(workflow, history).items()
    )
    return tuple(usual for usual in typical if usual.usd is not None or usual.tokens is not None)


def _most_usd(uses: Sequence[Use]) -> MicroUsd | None:
    most = max((use.usd for use in uses if use.usd is not None), default=None)
    return None if most is None else MicroUsd(most)


def _most_tokens(uses: Sequence[Use]) -> int | None:
    return max((use.tokens for use in uses if use.tokens is not None), default=None)


def usual_times(history: History) -> dict[str, Millis]:
    """How long a call of each step usually took."""
    times = {step: sorted(use.time for use in uses) for step, uses in history.items()}
    return {step: Millis(each[len(each) // 2]) for step, each in times.items() if each}


def fitting(workflow: Workflow, history: History) -> dict[str, list[Use]]:
    """The uses that apply to the steps of this workflow."""
    uses_by_step = (
        (step, [use for use in history.get(step, ()) if _fits(use, verb, inner.config)])
        for step, verb, inner in agent_steps(workflow)
    )
    return {step: uses for step, uses in uses_by_step if uses}


def _fits(use: Use, verb: Agent, config: WorkflowConfig) -> bool:
    agent = verb.agent if isinstance(verb.agent, str) and verb.agent != "auto" else None
    if agent is not None and use.agent and use.agent != agent:
        return False
    if use.simulated and use.simulated != config.agents.get(use.agent, {}).get("type", use.agent):
        # It was rehearsed with a script; what that names says nothing about the real agent of that name.
        return False
    configured = None if agent is None else config.agents.get(agent, {}).get("model")
    model = verb.model or configured
    # Agents report the full name of a model that is configured in short: "sonnet" is "claude-sonnet-4-5".
    return not isinstance(model, str) or model.lower() in use.model.lower()


def history_for(runtime: Runtime, workflow: Workflow) -> History:
    """What is needed of the earlier runs of a workflow: nothing is read for one that calls no agent."""
    calls_agents = any(True for _ in agent_steps(workflow))
    return read_history(runtime, workflow.name) if calls_agents else {}


def read_history(runtime: Runtime, workflow: str) -> History:
    """Of the newest runs of this workflow in this project, if it has any."""
    heads = [head for head in runtime.heads() if head.workflow == workflow and not is_replay(head)][:PAST]
    return history_of([_calls(runtime, head) for head in heads])


def _calls(runtime: Runtime, head: RunHead) -> list[Event]:
    try:
        return [event_of(record) for record in runtime.events(head.run) if record.type in CALLS]
    except StoreError:
        # A damaged log is reported by `podium verify`; for an estimate it counts as empty.
        return []


def history_of(runs: Iterable[Iterable[Event]]) -> History:
    """What calls of agents have used, by the address of their step."""
    history: dict[str, list[Use]] = {}
    for events in runs:
        started: dict[str, int] = {}
        for event in events:
            if isinstance(event, AttemptStarted):
                started[event.path] = event.at
            elif isinstance(event, AttemptEnded) and _counts(event):
                took = event.at - started.get(event.path, event.at)
                history.setdefault(without_numbers(event.path), []).append(_use(event, took))
    return history


def _counts(event: AttemptEnded) -> bool:
    """Whether it was a call of this run with a result; a call that failed at once would look cheap."""
    used = event.used
    return bool(used.calls) and not event.reused and (event.kind in WORKED or bool(used.usd or used.tokens))


def _use(event: AttemptEnded, took: int) -> Use:
    result = event.result or {}
    return Use(
        tokens=event.used.tokens or None,
        usd=event.used.usd if event.cost_known else None,
        time=took,
        agent=str(result.get("agent") or ""),
        model=str(result.get("model") or ""),
        simulated=str(result.get("simulated") or ""),
    )
