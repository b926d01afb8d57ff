"""What the engine needs of the world, as narrow protocols; adapters satisfy them, contract suites prove it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, runtime_checkable

from podium.core.chain import Record, RunId
from podium.core.words import MicroUsd, Millis
from podium.errors import PodiumError

if TYPE_CHECKING:
    # The commands that only read the log need no processes.
    from podium.process import Finished, Launch, OnOutput


@dataclass(frozen=True, slots=True)
class RunHead:
    """What is known of a run without reading its events."""

    run: RunId
    workflow: str
    fingerprint: str
    created: int
    epoch: int
    last_seq: int
    last_hash: str
    status: str = "running"
    source: str = ""
    """Where its definition came from, for whoever carries it on; the store does not look inside."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A message from another process to the owner of a run."""

    number: int
    run: RunId
    name: str
    body: Mapping[str, Any]


class StoreError(PodiumError):
    """The store could not do what was asked; the message says why."""


class Fenced(StoreError):
    """Somebody else owns the run by now: nothing was written."""


class Misplaced(StoreError):
    """The events do not follow what is stored: nothing was written."""


class Store(Protocol):
    """The log of all runs of a project.

    An append is one transaction: all of its events are there afterwards, or none. It names the position it follows
    and the epoch of its owner, so that two owners can never interleave.
    """

    def create(self, head: RunHead, letters: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """A new run without events, in one transaction with its first letters by name.

        StoreError if there is one of that name.
        """

    def claim(self, run: RunId) -> int:
        """Become the owner: a new epoch, which fences all earlier ones."""

    def append(
        self,
        run: RunId,
        events: Sequence[tuple[str, str]],
        *,
        after: int,
        epoch: int,
        cause: str,
        status: str | None = None,
        answers: tuple[Letter, str] | None = None,
    ) -> tuple[Record, ...]:
        """Add events, each a pair of type and JSON text, behind position `after`.

        In the same transaction: what the run's status is from now on, and the letter these events answer, with the
        reply to whoever sent it; so a letter takes effect once, whenever its reader dies.
        """

    def read(self, run: RunId, *, after: int = 0) -> tuple[Record, ...]: ...

    def head(self, run: RunId) -> RunHead | None: ...

    def heads(self) -> tuple[RunHead, ...]:
        """All runs, the newest first."""

    def set_status(self, run: RunId, status: str) -> None: ...

    def post(self, run: RunId, name: str, body: Mapping[str, Any]) -> None:
        """Leave a letter for the owner; the same name twice is one letter."""

    def letters(self, run: RunId) -> tuple[Letter, ...]:
        """What has been posted and not been answered, in order."""

    def answer(self, letter: Letter, reply: str) -> None:
        """Put a letter away that led to no event."""

    def reply(self, run: RunId, name: str) -> str | None:
        """The answer to a letter, once there is one."""

    def stamp(self) -> int:
        """Another number when a letter may have come since; cheap enough to be asked all the time."""

    def forget(self, run: RunId) -> None:
        """Delete a run with its events and letters; twice is once."""

    def damage(self) -> str | None:
        """What is wrong with the store itself, or None; the chain of a run's events is looked at by whoever reads it."""

    def close(self) -> None: ...


SandboxLevel: TypeAlias = Literal["none", "limits", "bubblewrap", "container"]


BROKER: Final = ("127.0.0.1", 8081)
"""Where a process within walls finds the model API of its `Service`; the port is its own, so it is always this one."""
PROXY: Final = ("127.0.0.1", 8082)
"""Where it finds the way out to the hosts of `Walls.network`, by CONNECT."""


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
class Decision:
    """What the broker or the proxy said to somebody within walls; never a secret."""

    way: Literal["broker", "proxy"]
    allowed: bool
    what: str
    """The method and the path, or CONNECT and the host with its port."""
    status: int
    """What was answered."""
    reason: str = ""
    """Why it was not let through, or why it came to nothing."""


OnDecision: TypeAlias = Callable[[Decision], None]


def not_recorded(decision: Decision) -> None:
    """For walls whose decisions nobody keeps."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A file or folder of the host, and where a process within walls finds it."""

    source: Path
    target: Path
    writable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Walls:
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

    async def run(self, launch: Launch, walls: Walls, *, on_output: OnOutput | None = None) -> Finished: ...


@dataclass(frozen=True, slots=True)
class Usage:
    """Of this attempt alone, as deltas."""

    input: int = 0
    output: int = 0
    """What was made, what was thought included."""
    cached: int = 0
    """Read from a cache, and no part of `input`."""
    written: int = 0
    """The part of `input` that was written to a cache, which has a price of its own."""
    calls: int = 1


@dataclass(frozen=True, slots=True)
class Turn:
    prompt: str
    answer: str


@dataclass(frozen=True, slots=True)
class Session:
    """An earlier conversation with an agent, in which it goes on."""

    id: str
    """By which its program knows it; empty if it has none of its own."""
    _: KW_ONLY
    turns: tuple[Turn, ...] = ()
    usage: Usage = Usage(calls=0)
    """Of all its turns: some programs count from the beginning of a conversation."""
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """What the last attempt left of it below its home."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What an agent is asked: everything it may know, nothing it has to look up."""

    agent: str
    config: Mapping[str, Any]
    """The agent's own settings: `agents.NAME` of the file."""
    path: str
    step: str
    visit: int
    attempt: int
    prompt: str
    system: str = ""
    model: str | None = None
    role: str = ""
    """The persona it plays, if any."""
    schema: Mapping[str, Any] | None = None
    """The shape of the value it must answer with; None: text is enough."""
    judge: bool = False
    """It gives a verdict; the value is a Review."""
    nonce: str = ""
    """What an answer must repeat to be taken for an answer to exactly this request."""
    tree: str = ""
    """For a judge: the tree it judges, which its answer must repeat as well."""
    must_touch: tuple[str, ...] = ()
    """Globs of files without which, or without a change of which, its work would not count."""
    project: Path
    """Where files named in `config` are looked for."""
    root: Path | None = None
    """The top of its workspace, as it sees it; None: `cwd` is that."""
    cwd: Path
    home: Path
    """A fresh folder that belongs to this attempt alone."""
    tools: tuple[str, ...] | None = None
    lasting: bool = False
    """Somebody may go on in this conversation later."""
    session: Session | None = None
    """The conversation to go on in; None: a new one."""
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    walled: bool = False
    """Walls stand around it: those that it may have of its own are not needed, and may not work within others."""
    brokered: bool = False
    """Its only way out is the broker: an agent with a key names a `Service` and works with a dummy key at `BROKER`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The process that plays an agent, without the walls and bounds that the launch path adds."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    stdin: bytes | None = field(default=None, repr=False)
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """Written below `home` before it starts."""
    reads: tuple[Path, ...] = ()
    """Files and folders of Podium's own that it needs besides its program."""
    remembers: tuple[str, ...] = ()
    """Patterns of the files below `home` by which a conversation can be gone on in."""
    network: tuple[str, ...] = ()
    speaks: bool = False
    """It says what it does while it does it, so that a long silence means that it is stuck."""
    service: Service | None = None
    """The API it calls at `BROKER`; only where the request said that it is brokered."""
    login: str | None = None
    """Which of `files` is the login of the user; the program may renew it there."""


@dataclass(frozen=True, slots=True)
class Progress:
    """One thing an agent was seen doing."""

    kind: Literal["text", "tool", "done", "file", "retry", "usage", "note"]
    """`tool`: it has begun to use one; `done`: that one has ended."""
    text: str


AgentTrouble: TypeAlias = Literal[
    "failed",
    "refused",
    "blocked",
    "malformed",
    "quota",
    "transient",
    "auth",
    "unavailable",
    "timeout",
    "error",
]
"""Whose doing it was that there is no answer: the worker's, its vendor's, or the world's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentResult:
    """What an agent said, understood; never what it claims to have changed."""

    text: str = ""
    value: Any = None
    has_value: bool = False
    """Whether there was exactly one JSON value where the answer stands; null is one."""
    usage: Usage = Usage()
    cut_off: bool = False
    """It was ended before it could tell what it has used: at least `usage`."""
    cost: MicroUsd | None = None
    """None: unknown, which is not zero."""
    cost_source: str = ""
    """Who says so: the agent itself (`reported`), the user's own table, or a public one; else `unknown`."""
    model: str = ""
    """Which one has answered, where the agent tells."""
    context: int | None = None
    """How many tokens its last call has read, where that is known."""
    window: int | None = None
    """How many its model could read, where the agent tells."""
    trouble: AgentTrouble | None = None
    detail: str = ""
    """Why, in words for a person and for the next attempt."""
    retry_at: Millis | None = None
    session: str | None = None


class Conversation(Protocol):
    """Reads what one process says while it says it."""

    def feed(self, data: bytes) -> Iterable[Progress]: ...

    def finish(self, finished: Finished) -> AgentResult: ...


class Agent(Protocol):
    """A program that works. It starts nothing and opens nothing itself: it says what to start and reads the answer."""

    def prepare(self, request: Request) -> tuple[Program, Conversation]:
        """Raises ConfigurationError where its settings cannot be used."""


@runtime_checkable
class Caller(Protocol):
    """An agent that is a service: asked over the network, by text, for text. It has no folder and changes no file."""

    async def call(self, request: Request) -> AgentResult:
        """Whatever goes wrong on the way is a trouble; raises ConfigurationError where its settings cannot be used.

        Cancelling it hangs up.
        """


PriceOf: TypeAlias = Callable[[str, str, Usage], tuple[MicroUsd, str] | None]
"""What so many tokens of a model of a vendor cost by a public table, and its name; None if it has no such model."""

Agents: TypeAlias = Mapping[str, Agent | Caller]
"""By type, as `agents.NAME.type` says."""

OnProgress: TypeAlias = Callable[[str, Progress], None]
"""Told the path of the attempt and what was seen."""
