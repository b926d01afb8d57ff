"""No sandbox: the process has the user's rights. Its environment, output and end are still controlled.

So is what it uses, because one process must not stop all others: the number of processes, and the disk.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

from podium.adapters.sandboxes import limits
from podium.ports.sandbox import SandboxPolicy
from podium.process.launch import Finished, Launch
from podium.process.output import OnOutput
from podium.process.run import run as run_process


class NoSandbox:
    level: ClassVar[Literal["none"]] = "none"
    owner: ClassVar[None] = None

    @property
    def in_force(self) -> tuple[str, ...]:
        return limits.usage_in_force()

    @property
    def unbounded(self) -> tuple[str, ...]:
        return limits.unbounded()

    async def run(
        self, launch: Launch, policy: SandboxPolicy, *, on_output: OnOutput | None = None
    ) -> Finished:
        unlimited = launch if launch.limits is None else replace(launch, limits=None)
        usage_only = replace(policy, memory_bytes=None, cpus=None)
        with limits.with_limits(unlimited, usage_only, core_bytes=None) as bound:
            return await run_process(bound, on_output=on_output)
