"""Carries out one attempt: the verb's own work, and whatever stopped it from being done as a value."""

from __future__ import annotations

from podium.attempt import write_interfaces
from podium.attempt.command import run as command
from podium.attempt.landing import land as landing
from podium.attempt.result import attempt_ended
from podium.attempt.site import Site
from podium.attempt.workspace.setup import SetupFailed
from podium.attempt.workspace.toolchain import EditableInstall
from podium.core.events import AttemptEnded, AttemptStarted
from podium.core.expressions.nodes import ExprError, NeedFact
from podium.core.model import Agent, Command, Git, Write
from podium.core.state import State
from podium.core.types import Reason
from podium.errors import ConfigurationError, PathViolation, PodiumError, disk_fault
from podium.git.command import GitError


async def perform(asked: AttemptStarted, state: State, site: Site) -> AttemptEnded:
    """Cancelling it ends its processes, removes its workspace, and goes on as a cancellation."""
    try:
        return await _work(asked, state, site)
    except PodiumError as error:
        return _failed(asked, site, _reason_of(error), error.message, error.hint)
    except ExprError as error:
        return _failed(asked, site, "expression", str(error))
    except NeedFact as need:
        function, argument = need.query
        return _failed(asked, site, "expression", f'{function}("{argument}") cannot be asked here')
    except OSError as error:
        if disk_fault(error) is not None:
            raise
        # A missing right: the world's doing, which a person can mend and carry on from.
        return _failed(asked, site, "system", f"the system refused: {error}")


async def _work(asked: AttemptStarted, state: State, site: Site) -> AttemptEnded:
    verb = state.instances[asked.path].place.step.verb
    match verb:
        case Agent():
            # Prompts and adapters are heavy, and many runs have commands only.
            from podium.attempt.agent import run as agent

            return await agent.work(asked, state, site)
        case Command():
            return await command.work(asked, state, site)
        case Git():
            return await landing.work(asked, state, site)
        case Write():
            return await write_interfaces.work(asked, state, site)
        case _:
            raise AssertionError(f"{asked.path} is no work of an attempt: {type(verb).__name__}")


def _reason_of(error: PodiumError) -> Reason:
    match error:
        case PathViolation():
            return "path"
        case EditableInstall():
            return "editable"
        case SetupFailed():
            return "setup"
        case GitError():
            return "git"
        case ConfigurationError():
            return "configuration"
        case _:
            return "error"


def _failed(
    asked: AttemptStarted, site: Site, reason: Reason, message: str, hint: str | None = None
) -> AttemptEnded:
    told = site.mask.text(message if hint is None else f"{message}\nhint: {hint}")
    return attempt_ended(site, asked, "error", reason, result={"text": "", "message": told}, tree=asked.start)
