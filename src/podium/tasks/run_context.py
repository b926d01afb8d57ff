"""What all tasks of a run share: which run they belong to, and what was asked for when it was started."""

from __future__ import annotations

from dataclasses import dataclass, field

from podium.core.hash_chain import RunId
from podium.core.model import Fields, no_fields


@dataclass(frozen=True, slots=True)
class AgentUse:
    """An agent that the workflow configures."""

    kind: str
    config: Fields = field(default_factory=no_fields)


@dataclass(frozen=True, slots=True)
class RunContext:
    """With this and a task, any process that has the project can carry the task out."""

    id: RunId
    base_commit: str | None = None
    """The commit that the run started from; None for a repository without one."""
    works_in_project: bool = False
    """Steps work in the project itself and leave their files there, unless they say otherwise."""
    secrets: tuple[str, ...] = ()
    """The names of the declared secrets."""
    agents: tuple[AgentUse, ...] = ()
    uses_models: bool = False
    """Whether a program that a model controls works in this run, which needs a sandbox."""
    sandbox: str | None = None
    """The level that the user typed."""
    record: str | None = None
    """A folder of the project for recordings of what passes between the run and its agents."""
    replay: str | None = None
    """A folder of the project with recordings that answer for all agents."""
    agents_simulated: bool = False
    """Scripts or recordings answer for all agents."""
    is_rehearsal: bool = False
    """Nothing may be done: only what an earlier run has answered counts."""

    @property
    def accepts_weak_sandbox(self) -> bool:
        """The user typed a weaker sandbox than some agents need, or no agent works for real."""
        return self.sandbox in ("none", "limits") or self.agents_simulated
