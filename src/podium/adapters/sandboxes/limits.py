"""The `limits` sandbox: kernel resource limits only, which stop accidents but not attacks.

Other sandboxes apply the same bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import ClassVar, Literal

from podium.ports.sandbox import SandboxPolicy
from podium.process import cgroups
from podium.process.launch import Finished, Launch
from podium.process.limits import Limits
from podium.process.output import OnOutput
from podium.process.run import run as run_process


class LimitsSandbox:
    level: ClassVar[Literal["limits"]] = "limits"
    owner: ClassVar[None] = None

    @property
    def in_force(self) -> tuple[str, ...]:
        """Files and network stay open."""
        return in_force()

    async def run(
        self, launch: Launch, walls: SandboxPolicy, *, on_output: OnOutput | None = None
    ) -> Finished:
        with bounded(launch, walls) as bound:
            return await run_process(bound, on_output=on_output)


@contextmanager
def bounded(launch: Launch, walls: SandboxPolicy) -> Iterator[Launch]:
    """The launch with the bounds of its walls and its own, the narrower of each."""
    base = launch.limits or Limits()
    asked = [bound for bound in (base.memory_bytes, walls.memory_bytes) if bound is not None]
    memory = min(asked, default=None)
    parents = cgroups.find() if memory is not None or walls.cpus is not None else cgroups.Parents()
    with cgroups.group(memory_bytes=memory, cpus=walls.cpus, parents=parents) as groups:
        # An address space is no measure of memory: where the group bounds it, what only reserves is left alone.
        each = None if parents.memory is not None else memory
        yield replace(launch, limits=replace(base, memory_bytes=each, groups=groups))


def in_force() -> tuple[str, ...]:
    """Which bounds hold here, and for whom; for the record."""
    parents = cgroups.find()
    memory = "memory per process" if parents.memory is None else f"memory by cgroup v{parents.version}"
    return (memory, *(() if parents.cpu is None else (f"cpu by cgroup v{parents.version}",)), "core dumps")
