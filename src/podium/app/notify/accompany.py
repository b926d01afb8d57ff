"""Keeps the outbox up to date while a process drives a run."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Final

import anyio

from podium.app.notify.notices import RELEVANT
from podium.errors import PodiumError

if TYPE_CHECKING:
    from podium.app.notify.project_messages import ProjectMessages
    from podium.app.project import Project
    from podium.core.events import Event
    from podium.core.hash_chain import RunId
    from podium.core.state import State
    from podium.ports.runtime import DrivenRun

LAST_WAIT_S: Final = 3.0
"""How long a process that has released its run waits until its messages are sent: in a container nothing outlives it."""
LOOK_S: Final = 0.05


class RunMessages:
    """Called after every turn; the work is done in a thread."""

    def __init__(self, project: Project, messages: ProjectMessages) -> None:
        self._project = project
        self._messages = messages
        self._newest: tuple[RunId, State, tuple[Event, ...]] | None = None
        self._count = 0
        self._changed = anyio.Event()

    def on_turn(self, driven: DrivenRun) -> None:
        if self._newest is not None and self._newest[0] != driven.run:
            # A series goes on in another run, whose events are counted anew.
            self._count = 0
        events = driven.events
        is_first = self._newest is None
        if is_first or any(isinstance(event, RELEVANT) for event in events[self._count :]):
            self._newest = driven.run, driven.state, tuple(events)
            self._changed.set()
        self._count = len(events)

    async def keep(self) -> None:
        while True:
            await self._changed.wait()
            self._changed = anyio.Event()
            with anyio.CancelScope(shield=True):
                await self._record()

    async def finish(self) -> None:
        """The run is released: store what is still to be stored, and give the messages a moment to be sent."""
        with anyio.CancelScope(shield=True):
            await self._record()
            with anyio.move_on_after(LAST_WAIT_S):
                while self._messages.is_sending():  # noqa: ASYNC110  # another process sends them
                    await anyio.sleep(LOOK_S)
            self._messages.leave()
            self._messages.close()

    async def _record(self) -> None:
        newest = self._newest
        if newest is None:
            return
        run, state, events = newest
        try:
            await anyio.to_thread.run_sync(self._messages.record, run, state, events)
        except (PodiumError, OSError, ValueError):
            # A message that cannot be stored must not stop the run; the next process tries again.
            folder = self._project.paths.run_dir(run)
            with (folder / "internal_errors.log").open("a", encoding="utf-8") as file:
                file.write(traceback.format_exc())
