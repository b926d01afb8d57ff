"""What an assistant or an editor works with: one project, the name that is recorded, and what it may decide."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import anyio

from podium.app.paths import has_runs, user_dir
from podium.errors import PodiumError, os_fault
from podium.fast_dataclass import dataclass
from podium.wiring import open_project

if TYPE_CHECKING:
    from podium.app.decide.sender import Speaker
    from podium.app.project import Project

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Access:
    root: Path
    speaker: Speaker
    """Who is recorded for what the assistant does, and the channel."""
    may_answer: bool = False
    """Whether a person has typed --may-answer."""
    make_fault: Callable[[PodiumError], Exception] | None = None
    """What the protocol raises for an error that a person can act on."""

    async def read(self, use: Callable[[Project], T]) -> T:
        """What a query says about the project; one without runs gets no folder for them."""
        if has_runs(self.root):
            return await self._call(use)

        def with_empty_store(make: Callable[..., Project]) -> T:
            with (
                tempfile.TemporaryDirectory(prefix="podium-empty-") as folder,
                closing(make(Path(folder))) as project,
            ):
                return use(project)

        return await self._in_thread(lambda: with_empty_store(partial(self._open, create=True)))

    async def change(self, use: Callable[[Project], T]) -> T:
        """What a command returns; a project without runs becomes one with them."""
        return await self._call(use)

    async def _call(self, use: Callable[[Project], T]) -> T:
        def call() -> T:
            with closing(self._open(create=True)) as project:
                return use(project)

        return await self._in_thread(call)

    def _open(self, state_dir: Path | None = None, *, create: bool) -> Project:
        return open_project(self.root, user_dir=user_dir(), create=create, state_dir=state_dir)

    async def _in_thread(self, call: Callable[[], T]) -> T:
        """With a project of its own: what calls git blocks, and a store belongs to one thread."""
        try:
            return await anyio.to_thread.run_sync(call)
        except (OSError, PodiumError) as error:
            fault = error if isinstance(error, PodiumError) else os_fault(error)
            if fault is None:
                raise
            raise (fault if self.make_fault is None else self.make_fault(fault)) from error
