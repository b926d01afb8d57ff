"""The broker and the proxy of one sandbox, and the network of a container that reaches only them.

A container may have any image, so nothing of Podium runs in it. Instead a process of the host makes an empty network,
listens at the addresses of the broker and the proxy there, and passes on what it receives; the container joins that
network. It has no rights and no secret, like the relay inside bubblewrap, which is the same program.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio

from podium.errors import ConfigurationError
from podium.process.launch import Launch
from podium.process.output import StreamName
from podium.process.run import run as run_process

if TYPE_CHECKING:
    from podium.egress.hosts import Resolve
    from podium.ports.sandbox import SandboxPolicy

UNSHARE: Final = Path("/usr/bin/unshare")
START_S: Final = 60.0
_HOLD: Final = ("/bin/sh", "-c", "echo $$; exec sleep infinity")
"""Prints its process number, by which the network is joined, and keeps the network."""


def needs_sockets(policy: SandboxPolicy) -> bool:
    return policy.network != "open" and bool(policy.network or policy.service or policy.tools)


@asynccontextmanager
async def sockets(
    policy: SandboxPolicy, owner: tuple[int, int] | None, resolve: Resolve | None
) -> AsyncIterator[Path]:
    """Serve the broker and the proxy at sockets in a new folder, for `owner`."""
    # Slow to import, and most processes need no egress.
    from podium.egress.server import serving

    assert policy.network != "open", "an open network needs no way out"
    # Not in the workspace, because the kernel allows only short paths for a socket.
    with tempfile.TemporaryDirectory(prefix="podium-") as name:
        folder = Path(name)
        if owner is not None:
            os.chown(folder, *owner)
        async with serving(
            folder,
            policy.service,
            policy.network,
            on_decision=policy.on_decision,
            on_traffic=policy.on_traffic,
            owner=owner,
            resolve=resolve,
            tools=policy.tools,
        ):
            yield folder


@asynccontextmanager
async def network_of_container(
    launch: Launch, policy: SandboxPolicy, owner: tuple[int, int], resolve: Resolve | None
) -> AsyncIterator[str]:
    """A network namespace with the ways out of the policy, as a path for the engine. Only root can make one."""
    from podium.egress.server import relay_setup

    async with sockets(policy, owner, resolve) as folder:
        relay = relay_setup(policy, folder, ("--loopback", f"--user={owner[0]}:{owner[1]}"))
        assert relay is not None, "the policy has a way out"
        argv = (str(UNSHARE), "--net", "--", *relay.argv, *_HOLD)
        env = {"PATH": os.defpath}
        holder = replace(
            launch, argv=argv, cwd=Path("/"), env=env, stdin=None, timeout_s=float("inf"), limits=None
        )
        async with _running_holder(holder) as pid:
            yield f"/proc/{pid}/ns/net"


@asynccontextmanager
async def _running_holder(holder: Launch) -> AsyncIterator[int]:
    """Start the process that keeps the network, and end it with the block."""
    printed, is_ready = bytearray(), anyio.Event()
    failure: Exception | None = None

    def on_output(stream: StreamName, data: bytes) -> None:
        printed.extend(data)
        if stream == "stdout" and data.endswith(b"\n"):
            is_ready.set()

    async def hold() -> None:
        await run_process(holder, on_output=on_output)
        is_ready.set()

    async with anyio.create_task_group() as group:
        group.start_soon(hold)
        with anyio.move_on_after(START_S):
            await is_ready.wait()
        text = printed.decode("utf-8", "replace").strip()
        try:
            yield _process_number(text)
        except Exception as error:  # noqa: BLE001 - reraised below, outside the task group
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure


def _process_number(printed: str) -> int:
    if not printed.isdigit():
        raise ConfigurationError(f"the network of the container could not be made: {printed}")
    return int(printed)
