"""What all tasks of a run share: the run's id and the options it was started with."""

from __future__ import annotations

from dataclasses import field

from podium.core.hash_chain import RunId
from podium.core.model import Fields
from podium.core.step_settings import no_fields
from podium.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class AgentUse:
    """An agent that the workflow configures."""

    kind: str
    config: Fields = field(default_factory=no_fields)


@dataclass(frozen=True, slots=True)
class RunContext:
    """Everything besides the task and the project that a process needs to perform a task."""

    id: RunId
    base_commit: str | None = None
    """The commit that the run started from; None for a repository without one."""
    works_in_project: bool = False
    """Whether steps work in the project itself and leave their files there by default."""
    secrets: tuple[str, ...] = ()
    """The names of the declared secrets."""
    agents: tuple[AgentUse, ...] = ()
    uses_models: bool = False
    """Whether the run uses a model-driven program, which needs a sandbox."""
    sandbox: str | None = None
    """The level that the user chose on the command line."""
    record: str | None = None
    """The folder of the project in which exchanges with agents are recorded."""
    replay: str | None = None
    """The folder of the project with recordings that replace all agents."""
    agents_simulated: bool = False
    """Whether scripts or recordings replace all agents."""
    outside_inputs: tuple[str, ...] = ()
    """The inputs whose texts come from the event that started the run, so from outside of the project."""
    trigger: str = ""
    """The trigger of that event."""
    is_rehearsal: bool = False
    """Whether no attempt may run: only results of an earlier run are used."""

    @property
    def accepts_weak_sandbox(self) -> bool:
        """Whether the user chose a weaker sandbox than some agents need, or no real agent runs."""
        return self.sandbox in ("none", "limits") or self.agents_simulated
