"""One attempt of an agent and all that is known about it, for the functions that carry it out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from podium.attempt.agent.resolve import ResolvedAgent
from podium.attempt.site import Site
from podium.core.events import AttemptStarted
from podium.core.expressions.nodes import Names
from podium.core.model import Agent, Members, Review, Step
from podium.core.state import Leaf, State
from podium.ports.agent import AgentRequest, AgentResult, Progress
from podium.process.launch import Finished


@dataclass(slots=True)
class AgentExchange:
    """The attempt as it unfolds; filled on the way, written down at its end."""

    worker: ResolvedAgent | None = None
    system: str = ""
    prompt: str = ""
    request: AgentRequest | None = None
    removed: Mapping[str, int] = field(default_factory=dict)
    """What looked like a secret in them, by rule."""
    argv: tuple[str, ...] = ()
    seen: list[Progress] = field(default_factory=list)
    finished: Finished | None = None
    walls: Mapping[str, str] = field(default_factory=dict)
    """What was in force around its process."""
    result: AgentResult | None = None


@dataclass(frozen=True, slots=True)
class AgentAttempt:
    site: Site
    state: State
    leaf: Leaf
    asked: AttemptStarted
    names: Names
    nonce: str
    """What a verdict must repeat; known to nobody before."""
    story: AgentExchange = field(default_factory=AgentExchange)

    @property
    def step(self) -> Step:
        return self.leaf.place.step

    @property
    def verb(self) -> Agent:
        assert isinstance(self.step.verb, Agent)
        return self.step.verb

    @property
    def phrase(self) -> str | None:
        """The line that approves, where the review around a judge has one."""
        around = self.state.instances[self.leaf.place.parent].place.step.verb
        return around.phrase if self.verb.judge and isinstance(around, Review) else None


def visit_of(state: State, leaf: Leaf) -> int:
    """A member is entered once per visit of its step, so that visit counts."""
    parent = state.instances[leaf.place.parent].place
    return parent.visit if isinstance(parent.step.verb, Members | Review) else leaf.place.visit
