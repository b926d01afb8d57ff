"""The data of one agent attempt, passed between the functions that perform it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from podium.attempt.agent.resolve import ResolvedAgent
from podium.attempt.host import Host
from podium.core.events import AttemptStarted
from podium.core.expressions.nodes import Names
from podium.core.fast_dataclass import dataclass
from podium.core.model import Agent, Step
from podium.ports.agent import AgentRequest, AgentResult, Progress
from podium.process.launch import Finished
from podium.tasks.report import AttemptResult
from podium.tasks.task import AgentWork, AttemptTask


@dataclass(slots=True)
class AgentExchange:
    """What was sent to the agent and what came back; filled in as the attempt runs and written to disk at its end."""

    worker: ResolvedAgent | None = None
    system: str = ""
    prompt: str = ""
    request: AgentRequest | None = None
    removed: Mapping[str, int] = field(default_factory=dict)
    """How many texts that look like secrets were removed from the prompts, by rule."""
    argv: tuple[str, ...] = ()
    progress: list[Progress] = field(default_factory=list)
    finished: Finished | None = None
    sandbox_facts: AttemptResult = field(default_factory=AttemptResult)
    """The sandbox level and network access of the agent's process."""
    result: AgentResult | None = None


@dataclass(frozen=True, slots=True)
class AgentAttempt:
    host: Host
    task: AttemptTask
    names: Names
    nonce: str
    """A random value that a verdict must repeat."""
    exchange: AgentExchange = field(default_factory=AgentExchange)

    @property
    def started(self) -> AttemptStarted:
        return self.task.started

    @property
    def step(self) -> Step:
        return self.task.step

    @property
    def verb(self) -> Agent:
        return self.task.agent

    @property
    def work(self) -> AgentWork:
        return self.task.agent_work

    @property
    def phrase(self) -> str | None:
        """The line by which a judge approves, if its review declares one."""
        return None if self.work.review is None else self.work.review.phrase
