"""What puts walls around a process: sandboxes satisfy this protocol, a contract suite proves it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    # The commands that only read the log need no processes.
    from podium.process.launch import Finished, Launch
    from podium.process.output import OnOutput


SandboxLevel: TypeAlias = Literal["none", "limits", "bubblewrap", "container"]


BROKER: Final = ("127.0.0.1", 8081)
"""Where a process within walls finds the model API of its `Service`; the port is its own, so it is always this one."""
PROXY: Final = ("127.0.0.1", 8082)
"""Where it finds the way out to the hosts of `SandboxPolicy.network`, by CONNECT."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A model API as a broker serves it: the caller never holds the key."""

    upstream: str
    """Scheme, host and port, and the path all calls begin with."""
    paths: tuple[str, ...]
    """Which calls are let through, as patterns of `METHOD /path` below `upstream`; `*` stands for one part.

    Behind a `?` stand the names of the parameters it may have, with `&` between them.
    """
    headers: Mapping[str, str] = field(repr=False)
    """What the broker sets, in place of whatever the caller sent under these names: the key."""


@dataclass(frozen=True, slots=True)
class EgressDecision:
    """What the broker or the proxy said to somebody within walls; never a secret."""

    way: Literal["broker", "proxy"]
    allowed: bool
    what: str
    """The method and the path, or CONNECT and the host with its port."""
    status: int
    """What was answered."""
    reason: str = ""
    """Why it was not let through, or why it came to nothing."""


OnDecision: TypeAlias = Callable[[EgressDecision], None]


def not_recorded(decision: EgressDecision) -> None:
    """For walls whose decisions nobody keeps."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A file or folder of the host, and where a process within walls finds it."""

    source: Path
    target: Path
    writable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxPolicy:
    """What a process is allowed, whatever the sandbox can enforce of it."""

    writable: tuple[Path, ...] = ()
    """Folders that it finds where they are."""
    mounts: tuple[Mount, ...] = ()
    """What it finds besides; a deeper target stands over a higher one."""
    hidden: tuple[Path, ...] = ()
    """Folders below a mount that look empty."""
    network: tuple[str, ...] | Literal["open"] = ()
    memory_bytes: int | None = None
    cpus: float | None = None
    """How many cores it may use at once."""
    service: Service | None = None
    """The one model API that may be called, through the broker that holds its key."""
    on_decision: OnDecision = field(default=not_recorded, compare=False, repr=False)
    """Told of everything that was asked of the broker and the proxy."""


class Sandbox(Protocol):
    """Runs a process within walls. The launch says what, the walls say how freely."""

    @property
    def level(self) -> SandboxLevel: ...

    @property
    def in_force(self) -> tuple[str, ...]:
        """What it enforces of the walls on this machine, for the record."""

    @property
    def owner(self) -> tuple[int, int] | None:
        """The user and group to whom everything must belong that is lent to a process; None: to us, as it is."""

    async def run(
        self, launch: Launch, walls: SandboxPolicy, *, on_output: OnOutput | None = None
    ) -> Finished: ...
