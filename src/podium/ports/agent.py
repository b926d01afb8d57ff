"""Who works: agents satisfy one of these protocols, programs or services, and a contract suite proves it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

from podium.core.types import MicroUsd, Millis
from podium.ports.agent_type import AgentType
from podium.ports.sandbox import Service

if TYPE_CHECKING:
    # The commands that only read the log need no processes.
    from podium.process.launch import Finished


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
class Exchange:
    prompt: str
    answer: str


@dataclass(frozen=True, slots=True)
class PriorSession:
    """An earlier conversation with an agent, in which it goes on."""

    id: str
    """By which its program knows it; empty if it has none of its own."""
    _: KW_ONLY
    turns: tuple[Exchange, ...] = ()
    usage: Usage = Usage(calls=0)
    """Of all its turns: some programs count from the beginning of a conversation."""
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """What the last attempt left of it below its home."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRequest:
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
    resumable: bool = False
    """Somebody may go on in this conversation later."""
    session: PriorSession | None = None
    """The conversation to go on in; None: a new one."""
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    sandboxed: bool = False
    """Walls stand around it: those that it may have of its own are not needed, and may not work within others."""
    brokered: bool = False
    """Its only way out is the broker: an agent with a key names a `Service` and works with a dummy key at `BROKER`."""
    login: bytes | None = field(default=None, repr=False)
    """The content of the user's login file, if the agent works with `auth: login` and the user has logged in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramSpec:
    """The process that plays an agent, without the walls and bounds that the launch path adds."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    stdin: bytes | None = field(default=None, repr=False)
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """Written below `home` before it starts."""
    reads: tuple[Path, ...] = ()
    """Files and folders of Podium's own that it needs besides its program."""
    session_files: tuple[str, ...] = ()
    """Patterns of the files below `home` by which a conversation can be gone on in."""
    network: tuple[str, ...] = ()
    streams_progress: bool = False
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
    usage_incomplete: bool = False
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


class OutputParser(Protocol):
    """Reads what one process says while it says it."""

    def feed(self, data: bytes) -> Iterable[Progress]: ...

    def finish(self, finished: Finished) -> AgentResult: ...


@runtime_checkable
class Agent(Protocol):
    """A program that works. It starts nothing and opens nothing itself: it says what to start and reads the answer."""

    def prepare(self, request: AgentRequest) -> tuple[ProgramSpec, OutputParser]:
        """Raises ConfigurationError where its settings cannot be used."""


@runtime_checkable
class ServiceAgent(Protocol):
    """An agent that is a service: asked over the network, by text, for text. It has no folder and changes no file."""

    async def call(self, request: AgentRequest) -> AgentResult:
        """Whatever goes wrong on the way is a trouble; raises ConfigurationError where its settings cannot be used.

        Cancelling it hangs up.
        """


PriceOf: TypeAlias = Callable[[str, str, Usage], tuple[MicroUsd, str] | None]
"""What so many tokens of a model of a vendor cost by a public table, and its name; None if it has no such model."""


def no_login() -> bytes | None:
    """For agents without a login."""
    return None


@dataclass(frozen=True, slots=True)
class InstalledAgent:
    """An agent type on this machine."""

    type: AgentType
    make: Callable[[], Agent | ServiceAgent]
    """Gives the adapter, always the same one."""
    login: Callable[[], bytes | None] = no_login
    """The content of the user's login file; None: there is none, or the agent has no use for it."""

    @property
    def adapter(self) -> Agent | ServiceAgent:
        return self.make()


Agents: TypeAlias = Mapping[str, InstalledAgent]
"""By type, as `agents.NAME.type` says."""

OnProgress: TypeAlias = Callable[[str, Progress], None]
"""Told the path of the attempt and what was seen."""
