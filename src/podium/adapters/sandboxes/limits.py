"""The `limits` sandbox: kernel resource limits only, which stop accidents but not attacks.

Other sandboxes apply the same limits.
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
        """The limits; files and network are not restricted."""
        return in_force()

    async def run(
        self, launch: Launch, policy: SandboxPolicy, *, on_output: OnOutput | None = None
    ) -> Finished:
        with with_limits(launch, policy) as limited_launch:
            return await run_process(limited_launch, on_output=on_output)


@contextmanager
def with_limits(launch: Launch, policy: SandboxPolicy) -> Iterator[Launch]:
    """The launch with the limits of the policy and its own, the stricter of each."""
    base = launch.limits or Limits()
    requested = [bound for bound in (base.memory_bytes, policy.memory_bytes) if bound is not None]
    memory = min(requested, default=None)
    parents = cgroups.find() if memory is not None or policy.cpus is not None else cgroups.Parents()
    with cgroups.group(memory_bytes=memory, cpus=policy.cpus, parents=parents) as groups:
        # With a control group, do not limit the address space, because programs reserve more than they use.
        per_process = None if parents.memory is not None else memory
        yield replace(launch, limits=replace(base, memory_bytes=per_process, groups=groups))


def in_force() -> tuple[str, ...]:
    """The limits that are enforced here, for the record."""
    parents = cgroups.find()
    memory = "memory per process" if parents.memory is None else f"memory by cgroup v{parents.version}"
    return (memory, *(() if parents.cpu is None else (f"cpu by cgroup v{parents.version}",)), "core dumps")
