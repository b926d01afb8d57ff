"""The protocol of sandboxes, which run a process with restricted rights; a contract suite checks them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

from podium.core.types import Millis
from podium.fast_dataclass import dataclass

if TYPE_CHECKING:
    # Commands that only read the log do not need to import these.
    from anyio.abc import SocketStream

    from podium.core.model import Step
    from podium.process.disk import DiskBound
    from podium.process.launch import Finished, Launch
    from podium.process.output import OnOutput


SandboxLevel: TypeAlias = Literal["none", "limits", "bubblewrap", "container"]


BROKER: Final = ("127.0.0.1", 8081)
"""The address of the broker inside a sandbox; always the same, because each sandbox has its own loopback interface."""
PROXY: Final = ("127.0.0.1", 8082)
"""The address of the proxy to the hosts of `SandboxPolicy.network` inside a sandbox."""

TOOLS: Final = ("127.0.0.1", 8083)
"""The address of the tools of a step inside a sandbox."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A model API behind the broker, which adds the key; the caller never has it."""

    upstream: str
    """The scheme, host and port, and the path prefix of all calls."""
    paths: tuple[str, ...]
    """The allowed calls, as patterns `METHOD /path` below `upstream`; `*` matches one part.

    The names of allowed parameters follow after a `?`, separated by `&`.
    """
    headers: Mapping[str, str] = field(repr=False)
    """Headers that the broker sets in place of the caller's, with the key."""
    server_tools: frozenset[str] = frozenset()
    """What the workflow allows the vendor to run or to look up; names of `SERVER_TOOLS`."""


@dataclass(frozen=True, slots=True)
class EgressDecision:
    """A decision of the broker or the proxy about a request; contains no secret."""

    way: Literal["broker", "proxy"]
    allowed: bool
    what: str
    """The method and path, or CONNECT and the host with its port."""
    status: int
    """The status of the response."""
    reason: str = ""
    """Why the request was refused or failed."""
    retry_at: Millis | None = None
    """When the API accepts calls again, if its response says so."""
    removed: tuple[str, ...] = ()
    """What the broker took out of the request, because the vendor would have run it."""


OnDecision: TypeAlias = Callable[[EgressDecision], None]


def no_traffic() -> None:
    """Ignore a response."""


def not_recorded(decision: EgressDecision) -> None:
    """Ignore a decision."""


ToolHandler: TypeAlias = "Callable[[SocketStream], Awaitable[None]]"
"""Serves one connection to the tools of a step."""

Origin: TypeAlias = Literal["host", "lent", "agent"]
"""Who may have written a file: only the user, only the user and as part of a toolchain of the project, or an agent."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A file or folder of the host, and its path inside the sandbox."""

    source: Path
    target: Path
    writable: bool = False
    origin: Origin = "agent"
    """What is of an agent must not decide what else the process sees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxPolicy:
    """What a process may do, as far as the sandbox can enforce it."""

    writable: tuple[Path, ...] = ()
    """Writable folders, mounted at their own path."""
    mounts: tuple[Mount, ...] = ()
    """Further mounts; a deeper target covers a higher one."""
    hidden: tuple[Path, ...] = ()
    """Folders below a mount that appear empty."""
    network: tuple[str, ...] | Literal["open"] = ()
    memory_bytes: int | None = None
    cpus: float | None = None
    """The number of cores it may use."""
    processes: int | None = None
    """The number of processes and threads it may have at the same time."""
    disk: DiskBound | None = None
    """What it may write to its folders."""
    scratch_bytes: int | None = None
    """The size of each folder in memory that only it sees."""
    service: Service | None = None
    """The model API that it may call through the broker."""
    tools: ToolHandler | None = field(default=None, compare=False, repr=False)
    """Serves a connection to the tools of the step; None if it has none."""
    on_decision: OnDecision = field(default=not_recorded, compare=False, repr=False)
    """Called for every request to the broker and the proxy."""
    on_traffic: Callable[[], None] = field(default=no_traffic, compare=False, repr=False)
    """Called when a part of a response of the model API arrives."""


class Sandbox(Protocol):
    """Runs a process: the launch says what to start, the policy what it may do."""

    @property
    def level(self) -> SandboxLevel: ...

    @property
    def in_force(self) -> tuple[str, ...]:
        """What it enforces on this machine, for the record."""

    @property
    def unbounded(self) -> tuple[str, ...]:
        """Limits of the policy that it cannot enforce on this machine, for the record."""

    @property
    def owner(self) -> tuple[int, int] | None:
        """The user and group that must own everything mounted into the sandbox; None for ours."""

    async def run(
        self, launch: Launch, policy: SandboxPolicy, *, on_output: OnOutput | None = None
    ) -> Finished: ...


class Sandboxes(Protocol):
    """The sandboxes of one run on this machine."""

    @property
    def default(self) -> Sandbox: ...

    @property
    def bubblewrap_problem(self) -> str:
        """Why bubblewrap does not work on this machine, and what would help; empty if it works."""

    @property
    def container_problem(self) -> str:
        """Why no container can run on this machine; empty if one may."""

    def for_step(self, step: Step, *, in_project: bool) -> Sandbox:
        """The sandbox of a step; `in_project` says that it works in the project itself."""
