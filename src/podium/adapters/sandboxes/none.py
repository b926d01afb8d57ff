"""No walls: the process may do what the user may. Its environment, output and end are bounded all the same."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

from podium.ports.sandbox import SandboxPolicy
from podium.process.launch import Finished, Launch
from podium.process.output import OnOutput
from podium.process.run import run as run_process


class NoSandbox:
    level: ClassVar[Literal["none"]] = "none"
    in_force: ClassVar[tuple[str, ...]] = ()
    owner: ClassVar[None] = None

    async def run(
        self, launch: Launch, walls: SandboxPolicy, *, on_output: OnOutput | None = None
    ) -> Finished:
        free = launch if launch.limits is None else replace(launch, limits=None)
        return await run_process(free, on_output=on_output)
