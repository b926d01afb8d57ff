"""What a sandbox must mount and start so that a process can reach the broker and the proxy."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from podium.egress import forwarder
from podium.egress.server import BROKER_SOCKET, PROXY_SOCKET
from podium.ports.sandbox import BROKER, PROXY, SandboxPolicy

INSIDE: Final = Path("/run/podium")
"""Where a sandbox mounts the folder with the sockets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelaySetup:
    argv: tuple[str, ...]
    """The prefix for the argv of the process."""
    reads: tuple[Path, ...]
    """Files that this prefix needs to read."""


def relay_setup(policy: SandboxPolicy) -> RelaySetup | None:
    """The relay for a policy; None if the policy allows no way out."""
    relays = [(BROKER, BROKER_SOCKET)] if policy.service is not None else []
    if policy.network and policy.network != "open":
        relays.append((PROXY, PROXY_SOCKET))
    if not relays:
        return None
    python, script = Path(sys.executable).resolve(), Path(forwarder.__file__).resolve()
    pairs = (f"{host}:{port}={INSIDE / socket}" for (host, port), socket in relays)
    return RelaySetup(
        argv=(str(python), "-I", "-S", str(script), *pairs, "--"),
        reads=(Path(sys.base_prefix).resolve(), script),
    )
