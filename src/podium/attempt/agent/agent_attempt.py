"""One attempt of an agent and all that is known about it, for the functions that carry it out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from podium.attempt.agent.resolve import ResolvedAgent
from podium.attempt.host import Host
from podium.core.events import AttemptStarted
from podium.core.expressions.nodes import Names
from podium.core.model import Agent, Step
from podium.ports.agent import AgentRequest, AgentResult, Progress
from podium.process.launch import Finished
from podium.tasks.report import AttemptResult
from podium.tasks.task import AgentWork, AttemptTask


@dataclass(slots=True)
class AgentExchange:
    """The attempt as it unfolds; filled in on the way, written down at its end."""

    worker: ResolvedAgent | None = None
    system: str = ""
    prompt: str = ""
    request: AgentRequest | None = None
    removed: Mapping[str, int] = field(default_factory=dict)
    """What looked like a secret in them, by rule."""
    argv: tuple[str, ...] = ()
    seen: list[Progress] = field(default_factory=list)
    finished: Finished | None = None
    walls: AttemptResult = field(default_factory=AttemptResult)
    """What was in force around its process."""
    result: AgentResult | None = None


@dataclass(frozen=True, slots=True)
class AgentAttempt:
    host: Host
    task: AttemptTask
    names: Names
    nonce: str
    """What a verdict must repeat; unpredictable."""
    story: AgentExchange = field(default_factory=AgentExchange)

    @property
    def asked(self) -> AttemptStarted:
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
        """The line that approves, where the review around a judge has one."""
        return None if self.work.review is None else self.work.review.phrase
