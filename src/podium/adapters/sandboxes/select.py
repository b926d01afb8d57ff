"""Selects the sandbox of a run and of each step: as typed for the run, else as set for the step, else the strongest.

Whether bubblewrap works is tested by starting it, so only when the answer is needed: many runs start no process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass

if TYPE_CHECKING:
    from podium.core.model import Step
    from podium.ports.sandbox import Sandbox


def sandbox_of_level(level: str | None, image: str = "") -> Sandbox:
    """The sandbox of a level; without one, the strongest available. Raises ConfigurationError if the level is not."""
    match level:
        case "none":
            from podium.adapters.sandboxes.none import NoSandbox

            return NoSandbox()
        case "limits":
            return _limits()
        case None | "auto" | "bubblewrap":
            return _bubblewrap(is_required=level == "bubblewrap")
        case "container":
            from podium.adapters.sandboxes.container import ContainerSandbox, find_engine

            return ContainerSandbox(find_engine(image), image)
        case _:
            raise ConfigurationError(
                f'unknown sandbox level "{level}"',
                hint="available: auto, none, limits, bubblewrap, container",
            )


def _limits() -> Sandbox:
    from podium.adapters.sandboxes.limits import LimitsSandbox

    return LimitsSandbox()


def _bubblewrap(*, is_required: bool) -> Sandbox:
    from podium.adapters.sandboxes.bubblewrap_probe import probe

    problem = probe()
    if problem is None:
        from podium.adapters.sandboxes.bubblewrap import BubblewrapSandbox

        return BubblewrapSandbox()
    if is_required:
        raise ConfigurationError(f"sandbox bubblewrap: {problem.reason}", hint=problem.fix)
    return _limits()


def bubblewrap_problem() -> str:
    """Why bubblewrap does not work on this machine, and what would help; empty if it works."""
    from podium.adapters.sandboxes.bubblewrap_probe import probe

    problem = probe()
    return "" if problem is None else f"{problem.reason}; {problem.fix}"


def container_problem() -> str:
    """Why no container can run on this machine; empty if one may, which depends on the image."""
    from podium.adapters.sandboxes.container import missing_engine

    return missing_engine()


@dataclass(frozen=True, slots=True)
class SandboxSelector:
    """The sandboxes of one run on this machine."""

    typed: str | None
    """The level that the user typed."""
    uses_models: bool
    """Whether a program that a model controls works in this run."""

    @property
    def default(self) -> Sandbox:
        return sandbox_of_level(None if self.typed == "container" else self.typed)

    @property
    def bubblewrap_problem(self) -> str:
        return bubblewrap_problem()

    @property
    def container_problem(self) -> str:
        return container_problem()

    def for_step(self, step: Step, *, in_project: bool) -> Sandbox:
        """The sandbox of a step; `in_project` says that it works in the project itself."""
        configured = step.settings.sandbox
        level = self.typed if self.typed not in (None, "auto") else configured.level
        sandbox = sandbox_of_level(level, str(configured.image or ""))
        if not in_project or sandbox.owner is None:
            return sandbox
        # As root, sandboxed processes run as the user nobody, and the project cannot be handed over to that user.
        if self.uses_models or level == sandbox.level:
            raise ConfigurationError(
                f'step "{step.name}" works in the project itself, which cannot be sandboxed as root',
                hint="run Podium as the user that owns the project, or give the step its own workspace",
            )
        return _limits()


def select_sandboxes(typed: str | None, *, uses_models: bool) -> SandboxSelector:
    """Raises ConfigurationError if this machine does not have the sandbox that the user typed."""
    if typed not in (None, "auto", "container"):
        sandbox_of_level(typed)
    return SandboxSelector(typed, uses_models)
