"""No sandbox: the process has the user's rights. Its environment, output and end are still controlled."""

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
        self, launch: Launch, policy: SandboxPolicy, *, on_output: OnOutput | None = None
    ) -> Finished:
        unlimited = launch if launch.limits is None else replace(launch, limits=None)
        return await run_process(unlimited, on_output=on_output)
