"""What a sandbox must show a process so that it finds its ways out, and what it must start before it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from podium.egress import forwarder
from podium.egress.server import BROKER_SOCKET, PROXY_SOCKET
from podium.ports.sandbox import BROKER, PROXY, SandboxPolicy

INSIDE: Final = Path("/run/podium")
"""Where a sandbox binds the folder of `serving`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    argv: tuple[str, ...]
    """What stands before the argv of the process."""
    reads: tuple[Path, ...]
    """What it needs to see for that."""


def inside(walls: SandboxPolicy) -> Inside | None:
    """None: there is no way out."""
    ways = [(BROKER, BROKER_SOCKET)] if walls.service is not None else []
    if walls.network and walls.network != "open":
        ways.append((PROXY, PROXY_SOCKET))
    if not ways:
        return None
    python, script = Path(sys.executable).resolve(), Path(forwarder.__file__).resolve()
    pairs = (f"{host}:{port}={INSIDE / socket}" for (host, port), socket in ways)
    return Inside(
        argv=(str(python), "-I", "-S", str(script), *pairs, "--"),
        reads=(Path(sys.base_prefix).resolve(), script),
    )
