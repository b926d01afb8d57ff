"""Runs the broker and the proxy for one sandbox, and says how a process inside reaches them."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeAlias

import anyio
from anyio.abc import SocketStream

from podium.egress import forwarder
from podium.egress.broker import Upstream, broker
from podium.egress.hosts import Resolve, allowed_hosts, public_addresses
from podium.egress.proxy import proxy
from podium.fast_dataclass import dataclass
from podium.ports.sandbox import BROKER, PROXY, TOOLS, OnDecision, SandboxPolicy, Service, no_traffic

BROKER_SOCKET: Final = "broker.sock"
PROXY_SOCKET: Final = "proxy.sock"
TOOLS_SOCKET: Final = "tools.sock"
AT_ONCE: Final = 64
"""Maximum connections of each kind; further ones wait, so that the sandbox cannot exhaust our descriptors."""
BACKLOG: Final = 256
INSIDE: Final = Path("/run/podium")
"""Where a sandbox mounts the folder with the sockets."""

_Handler: TypeAlias = Callable[[SocketStream], Awaitable[None]]


@asynccontextmanager
async def serving(
    folder: Path,
    service: Service | None,
    hosts: tuple[str, ...],
    *,
    on_decision: OnDecision,
    on_traffic: Callable[[], None] = no_traffic,
    owner: tuple[int, int] | None = None,
    resolve: Resolve | None = None,
    tools: _Handler | None = None,
) -> AsyncIterator[None]:
    """Serve `broker.sock`, `proxy.sock` and `tools.sock` in `folder`, as far as they are needed, until the block is left.

    `owner` are the user and group that may connect, if not ours. The path of the folder must be short, because the
    kernel allows 107 bytes for the path of a socket. Raises ConfigurationError for invalid hosts.
    """
    upstream = None if service is None else Upstream(service, on_traffic)
    allowed = allowed_hosts(hosts)

    async def call(stream: SocketStream) -> None:
        assert upstream is not None
        await broker(stream, upstream, on_decision)

    async def connect(stream: SocketStream) -> None:
        await proxy(stream, allowed, resolve or public_addresses, on_decision)

    async def use_tools(stream: SocketStream) -> None:
        assert tools is not None
        await tools(stream)

    servers = (
        (BROKER_SOCKET, call, upstream is not None),
        (PROXY_SOCKET, connect, bool(allowed)),
        (TOOLS_SOCKET, use_tools, tools is not None),
    )
    failure: Exception | None = None
    async with anyio.create_task_group() as group:
        for name, handler, is_needed in servers:
            if is_needed:
                await group.start(_listen, folder / name, owner, handler)
        try:
            yield
        except Exception as error:  # noqa: BLE001 - reraised below, outside the task group
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _listen(
    path: Path,
    owner: tuple[int, int] | None,
    handler: _Handler,
    *,
    task_status: anyio.abc.TaskStatus[None],
) -> None:
    free = anyio.Semaphore(AT_ONCE)

    async def attend(stream: SocketStream) -> None:
        try:
            async with stream:
                await _handle(handler, stream)
        finally:
            free.release()

    async with (
        await anyio.create_unix_listener(path, mode=0o600, backlog=BACKLOG) as listener,
        anyio.create_task_group() as group,
    ):
        if owner is not None:
            os.chown(path, *owner)
        task_status.started()
        while True:
            await free.acquire()
            group.start_soon(attend, await listener.accept())


async def _handle(handler: _Handler, stream: SocketStream) -> None:
    try:
        await handler(stream)
    except* (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError):
        # A peer hung up in the middle of a connection.
        pass


@dataclass(frozen=True, slots=True, kw_only=True)
class RelaySetup:
    argv: tuple[str, ...]
    """The prefix for the argv of the process."""
    reads: tuple[Path, ...]
    """Files that this prefix needs to read."""


def relay_setup(
    policy: SandboxPolicy, sockets: Path = INSIDE, options: tuple[str, ...] = ()
) -> RelaySetup | None:
    """The relay for a policy, with the folder where it finds the sockets; None if the policy allows no way out."""
    relays = [(BROKER, BROKER_SOCKET)] if policy.service is not None else []
    if policy.network and policy.network != "open":
        relays.append((PROXY, PROXY_SOCKET))
    if policy.tools is not None and policy.network != "open":
        relays.append((TOOLS, TOOLS_SOCKET))
    if not relays:
        return None
    python, script = Path(sys.executable).resolve(), Path(forwarder.__file__).resolve()
    pairs = (f"{host}:{port}={sockets / socket}" for (host, port), socket in relays)
    return RelaySetup(
        argv=(str(python), "-I", "-S", str(script), *options, *pairs, "--"),
        reads=(Path(sys.base_prefix).resolve(), script),
    )
