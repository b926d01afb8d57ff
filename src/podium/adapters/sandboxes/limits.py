"""The `limits` sandbox: kernel resource limits only, which stop accidents but not attacks.

Other sandboxes apply the same limits.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Literal

from podium.fast_dataclass import replace
from podium.ports.sandbox import SandboxPolicy
from podium.process import cgroups
from podium.process.bounds import Bounds, ScratchBound
from podium.process.launch import Finished, Launch
from podium.process.limits import Limits
from podium.process.output import OnOutput
from podium.process.procfs import tasks_of_user
from podium.process.run import run as run_process


class LimitsSandbox:
    level: ClassVar[Literal["limits"]] = "limits"
    owner: ClassVar[None] = None

    @property
    def in_force(self) -> tuple[str, ...]:
        """The limits; files and network are not restricted."""
        return in_force()

    @property
    def unbounded(self) -> tuple[str, ...]:
        return unbounded()

    async def run(
        self, launch: Launch, policy: SandboxPolicy, *, on_output: OnOutput | None = None
    ) -> Finished:
        with with_limits(launch, policy) as limited_launch:
            return await run_process(limited_launch, on_output=on_output)


@contextmanager
def with_limits(
    launch: Launch,
    policy: SandboxPolicy,
    *,
    scratch: tuple[str, ...] = (),
    core_bytes: int | None = 0,
) -> Iterator[Launch]:
    """The launch with the limits of the policy and its own, the stricter of each.

    `scratch` are the folders inside that are in memory. The number of processes is limited per user where this kernel
    has no control group for it, except for root, whose processes it does not count.
    """
    base = launch.limits or Limits(core_bytes=core_bytes)
    requested = [bound for bound in (base.memory_bytes, policy.memory_bytes) if bound is not None]
    memory = min(requested, default=None)
    parents = _parents(policy, memory)
    with cgroups.group(
        memory_bytes=memory, cpus=policy.cpus, processes=policy.processes, parents=parents
    ) as groups:
        limits = replace(
            base,
            # With a control group, do not limit the address space, because programs reserve more than they use.
            memory_bytes=None if parents.memory is not None else memory,
            file_bytes=None if policy.disk is None else policy.disk.bytes,
            processes=_per_user(launch, policy, groups),
            groups=groups.folders,
        )
        bounds = bounds_of(policy, scratch, groups, per_user=limits.processes)
        yield replace(launch, limits=limits, bounds=bounds)


def bounds_of(
    policy: SandboxPolicy, scratch: tuple[str, ...], groups: cgroups.Groups, *, per_user: int | None = None
) -> Bounds:
    """What is measured while the process runs."""
    in_memory = None
    if scratch and policy.scratch_bytes is not None and policy.disk is not None:
        in_memory = ScratchBound(scratch, policy.scratch_bytes, policy.disk.files)
    return Bounds(
        processes=policy.processes,
        pids=groups.pids,
        per_user=per_user,
        disk=policy.disk,
        scratch=in_memory,
    )


def _parents(policy: SandboxPolicy, memory: int | None) -> cgroups.Parents:
    needs_groups = memory is not None or policy.cpus is not None or policy.processes is not None
    return cgroups.find() if needs_groups else cgroups.Parents()


def _per_user(launch: Launch, policy: SandboxPolicy, groups: cgroups.Groups) -> int | None:
    """RLIMIT_NPROC, which counts all processes of a user; a sandbox with its own users sets it inside."""
    if policy.processes is None or groups.pids is not None or launch.own_pid_namespace or not os.geteuid():
        return None
    return policy.processes + tasks_of_user(os.geteuid())


def in_force(processes: str | None = None) -> tuple[str, ...]:
    """The limits that are enforced here, for the record; `processes` says how their number is limited, if known."""
    parents = cgroups.find()
    memory = "memory per process" if parents.memory is None else f"memory by cgroup v{parents.version}"
    cpu = () if parents.cpu is None else (f"cpu by cgroup v{parents.version}",)
    return (memory, *cpu, *usage_in_force(processes), "core dumps")


def usage_in_force(processes: str | None = None) -> tuple[str, ...]:
    """How the number of processes and the disk are limited."""
    processes = process_limit() if processes is None else processes
    return (*((f"number of processes by {processes}",) if processes else ()), "disk by measuring")


def process_limit() -> str:
    """What limits the number of processes outside a sandbox with users of its own; empty if nothing does."""
    parents = cgroups.find()
    if parents.pids is not None:
        return f"cgroup v{parents.version}"
    return "user" if os.geteuid() else ""


def unbounded() -> tuple[str, ...]:
    """What a process that shares the host's files can use without a limit."""
    processes = () if process_limit() else ("number of processes",)
    return (*processes, "folders in memory", "disk outside its folders")
