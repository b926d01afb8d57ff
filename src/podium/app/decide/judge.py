"""Whether a run would follow a command, before anything is stored; and how a command is left for it.

The core refuses a stale or unknown answer in any case. But a command to a run that no process drives is only read later, by
then its sender is gone; so every sender asks here first, and a command that would be refused is never queued.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from podium.app.decide.sender import wake
from podium.app.query.runs import ENDED
from podium.core.evolve.evolve import fold
from podium.core.handle import handle
from podium.core.messages import Refusal, Signal
from podium.errors import ConfigurationError
from podium.ports.clock import wall_clock
from podium.ports.runtime import ManualWorkDone, RunCommand, check_unchanged
from podium.runtime.answers import validate_answer
from podium.runtime.manual_work import manual_work_ended_by

if TYPE_CHECKING:
    from podium.app.decide.sender import Speaker
    from podium.app.query.shelf import FoldedRun, Shelf
    from podium.core.events import Event
    from podium.core.model import Workflow


def judge(workflow: Workflow, events: Sequence[Event], command: RunCommand) -> Refusal | None:
    """Why the run would refuse the command; None if it would follow it."""
    if isinstance(command, ManualWorkDone):
        return None
    state = fold(workflow, events)
    if isinstance(command, Signal) and manual_work_ended_by(state, command):
        return None
    valid = validate_answer(state, command)
    result = valid if isinstance(valid, Refusal) else handle(state, valid, wall_clock())
    return result if isinstance(result, Refusal) else None


def leave(shelf: Shelf, run: FoldedRun, command: RunCommand, speaker: Speaker, *, wakes: bool = True) -> str:
    """Queue a command that the run would follow, and start a process for the run if none drives it.

    Returns the key of the command, by which `runtime.reply` finds the reply. Raises ConfigurationError with the reason if
    the run would refuse the command.
    """
    head = run.head
    if head.status in ENDED:
        raise ConfigurationError(
            f"run {head.run} has ended: {head.status}", hint=f"see: podium show {head.run}", code="run_ended"
        )
    with shelf.lock:
        workflow = shelf.workflow(head)
        if workflow is None:
            check_unchanged(head, shelf.project.prepare(head).workflow)
            raise ConfigurationError(
                f"the definition of run {head.run} cannot be read", code="definition_changed"
            )
        refusal = judge(workflow, run.events, command)
        if refusal is not None:
            raise ConfigurationError(refusal.message, code=refusal.code)
        key = speaker.new_key()
        shelf.project.runtime.post(head.run, command, key=key)
        if wakes:
            wake(shelf.project, head.run, waits=False)
    return key
