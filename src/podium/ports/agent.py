"""The protocols of agents, which are programs or services; contract suites check them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, runtime_checkable

from podium.core.types import MicroUsd, Millis
from podium.fast_dataclass import dataclass
from podium.ports.agent_type import AgentType
from podium.ports.sandbox import Service

if TYPE_CHECKING:
    from anyio.abc import SocketStream

    # Commands that only read the log do not need to import this.
    from podium.process.launch import Finished


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one attempt."""

    input: int = 0
    output: int = 0
    """Includes reasoning tokens."""
    cached: int = 0
    """Read from a cache; not included in `input`."""
    written: int = 0
    """The part of `input` that was written to a cache, which is priced separately."""
    calls: int = 1
    """How often the model was asked, as far as the agent shows it; 0 if it was never reached, so there was no call."""


@dataclass(frozen=True, slots=True)
class Exchange:
    prompt: str
    answer: str


@dataclass(frozen=True, slots=True)
class ImageInput:
    """An image that belongs to the prompt."""

    path: str
    """Its path in the tree."""
    media_type: str
    content: bytes = field(repr=False)

    def base64(self) -> str:
        return b64encode(self.content).decode("ascii")


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorSession:
    """An earlier conversation that an agent continues."""

    id: str
    """The id that the agent's program gave it; empty if it has none."""
    turns: tuple[Exchange, ...] = ()
    usage: Usage = Usage(calls=0)
    """The sum over all turns, because some programs count from the beginning of a conversation."""
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """The session files that the last attempt left below its home."""


@dataclass(frozen=True, slots=True)
class ToolServer:
    """Where an agent reaches the tools of its step, as an MCP server over HTTP."""

    url: str
    token: str = field(repr=False)
    """For the header `Authorization: Bearer`."""
    handler: Callable[[SocketStream], Awaitable[None]] | None = field(default=None, compare=False, repr=False)
    """Serves a connection that the sandbox relays; None if the server listens by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRequest:
    """A request to an agent, with everything it needs."""

    agent: str
    config: Mapping[str, Any]
    """The agent's own settings: `agents.NAME` of the file."""
    path: str
    step: str
    visit: int
    attempt: int
    prompt: str
    system: str = ""
    images: tuple[ImageInput, ...] = ()
    """Only for a type whose capabilities have `images`."""
    model: str | None = None
    role: str = ""
    """The name of its role, if any."""
    schema: Mapping[str, Any] | None = None
    """The JSON Schema of the answer; None for plain text."""
    judge: bool = False
    """Whether it is a reviewer, whose answer is a verdict."""
    nonce: str = ""
    """A verdict must repeat it, which proves that it answers this request."""
    tree: str = ""
    """For a reviewer: the tree it reviews, which its verdict must repeat as well."""
    must_touch: tuple[str, ...] = ()
    """Globs of files that it must create or change; otherwise the attempt fails."""
    project: Path
    """The folder to which files named in `config` are relative."""
    root: Path | None = None
    """The top of its workspace, as a path inside the sandbox; None if that is `cwd`."""
    cwd: Path
    home: Path
    """A new folder for this attempt only."""
    memory: Path | None = None
    """A folder outside its workspace that it may read and write, if the step names a memory."""
    tools: tuple[str, ...] | None = None
    approve: tuple[str, ...] = ()
    """The tools, by the program's own names, before whose use it asks at the tool server: the tool `approve`."""
    streams: bool = False
    """Whether a person waits for what it says, which is then shown while it is written, if its program can do that."""
    resumable: bool = False
    """Whether a later attempt may continue this conversation."""
    session: PriorSession | None = None
    """The conversation to continue; None to start a new one."""
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    tool_server: ToolServer | None = None
    """The tools of its step; None if it gets none, or cannot use them."""
    has_settings: bool = False
    """Whether the workspace has files that configure the program if it trusts them: `settings_files` of its type."""
    sandboxed: bool = False
    """Whether it runs in a sandbox. The one of its own program is not needed then, and may not work inside another."""
    brokered: bool = False
    """Whether it reaches its API only through the broker: it names a `Service`, and uses a dummy key at `BROKER`."""
    login: bytes | None = field(default=None, repr=False)
    """The content of the user's login file, if the agent uses `auth: login` and the user has logged in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramSpec:
    """The process of an agent, without the sandbox and limits that the launch adds."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    stdin: bytes | None = field(default=None, repr=False)
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """Files to write below `home` before it starts, by path."""
    reads: tuple[Path, ...] = ()
    """Files and folders of Podium that it must be able to read."""
    starts: tuple[str, ...] = ()
    """Further programs that it starts, by name or path, which a sandbox must show as well."""
    session_files: tuple[str, ...] = ()
    """Patterns of the files below `home` that are needed to continue its conversation."""
    network: tuple[str, ...] = ()
    streams_progress: bool = False
    """Whether it prints progress while it works, so that a long silence means that it is stuck."""
    service: Service | None = None
    """The API it calls at `BROKER`; only if the request is brokered."""
    login: str | None = None
    """The path in `files` of the user's login, which the program may renew."""
    report: str | None = None
    """The path below `home` of a file that the program writes about its calls; a `ReportParser` gets its end."""


ProgressKind: TypeAlias = Literal[
    "text", "output", "think", "read", "edit", "run", "tool", "done", "file", "wait", "retry", "usage", "note"
]
"""`text`: what an agent says; `output`: what a command prints.

`read`, `edit`, `run` and `tool`: a tool was started, by what it does; `done`: it has ended; `file`: it changed a file.

`wait`: a model was called; `retry`: a call failed and is repeated.
"""
TOOL_KINDS: Final[tuple[ProgressKind, ...]] = ("read", "edit", "run", "tool")


@dataclass(frozen=True, slots=True)
class Progress:
    """One step of an agent's work, as its output shows it."""

    kind: ProgressKind
    text: str
    """For `text`: the next piece of what it says; a message ends with a line end."""
    until: Millis | None = None
    """For `retry`: when it calls its model again."""
    tokens: int = 0
    """For `usage`: the tokens of the attempt so far."""
    usd: MicroUsd | None = None
    """For `usage`: the cost of the attempt so far, if the agent reports it."""


AgentTrouble: TypeAlias = Literal[
    "failed",
    "refused",
    "blocked",
    "malformed",
    "truncated",
    "quota",
    "transient",
    "auth",
    "unavailable",
    "timeout",
    "resources",
    "error",
]
"""Why there is no usable answer; it decides whether to retry, to wait, to use another agent or to fail.

`truncated`: the answer ended before it was complete, at the maximum length of an answer or because the program stopped.
`resources`: the program was ended because it used more disk, memory or processes than it may.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentResult:
    """The parsed answer of an agent. Which files changed is read from the workspace, not from here."""

    text: str = ""
    value: Any = None
    has_value: bool = False
    """Whether the answer is exactly one JSON value, which may be null."""
    usage: Usage = Usage()
    usage_incomplete: bool = False
    """Whether it ended before it reported all its usage; `usage` is a minimum then."""
    cost: MicroUsd | None = None
    """None if unknown, which is not the same as zero."""
    cost_source: str = ""
    """Where the cost comes from: the agent (`reported`), the user's price table or a public one; else `unknown`."""
    simulated: bool = False
    """Whether a script or a recording answered: its usage counts against limits, but nothing was really spent."""
    model: str = ""
    """The model that answered, if the agent reports it."""
    context: int | None = None
    """The number of tokens that its last call read, if known."""
    window: int | None = None
    """The number of tokens that its model can read, if the agent reports it."""
    quota: int | None = None
    """The percentage of its quota window that is used, if the agent reports it."""
    trouble: AgentTrouble | None = None
    detail: str = ""
    """The reason for `trouble`, as text for people and for the next attempt."""
    retry_at: Millis | None = None
    session: str | None = None


class OutputParser(Protocol):
    """Reads the output of one process while it runs."""

    def feed(self, data: bytes) -> Iterable[Progress]: ...

    def finish(self, finished: Finished) -> AgentResult: ...


@runtime_checkable
class ReportParser(OutputParser, Protocol):
    """A parser that also needs the report that its program writes to a file."""

    def read_report(self, end: bytes) -> None:
        """Read the end of the report; called once, before `finish`. The program's tools may have written to it."""


@runtime_checkable
class GuidedParser(OutputParser, Protocol):
    """A parser whose program takes further messages while it works; its input stays open until it has answered."""

    def guide(self, key: str, text: str) -> bytes:
        """The input that passes a text to the program."""

    def passed_on(self) -> Iterable[str]:
        """The keys of the texts that the program has passed to its model since the last call."""

    @property
    def has_answered(self) -> bool:
        """Whether it has answered all that it was sent, so that its input may end."""


@runtime_checkable
class Agent(Protocol):
    """An agent that is a program. The adapter starts nothing itself: it describes the process and parses its output."""

    def prepare(self, request: AgentRequest) -> tuple[ProgramSpec, OutputParser]:
        """Raises ConfigurationError if the settings of the agent are invalid."""


@runtime_checkable
class InteractiveAgent(Protocol):
    """An agent whose program a person can also use at a terminal."""

    def open(self, request: AgentRequest) -> ProgramSpec:
        """The program for a person, with the same tools; the prompt is context for it and is not sent by itself."""

    def read_conversation(self, files: Mapping[str, bytes], request: AgentRequest) -> AgentResult:
        """The last answer, the id, and the calls in the session files, without those of the request's session."""


@runtime_checkable
class ServiceAgent(Protocol):
    """An agent that is a network service: text in, text out. It has no folder and changes no file."""

    async def call(self, request: AgentRequest) -> AgentResult:
        """Send the request; any failure on the way is a `trouble`, and cancelling it closes the connection.

        Raises ConfigurationError if the settings of the agent are invalid.
        """


PriceOf: TypeAlias = Callable[[str, str, Usage], tuple[MicroUsd, str] | None]
"""Prices the usage of a vendor's model by a public table: the cost and the table's name; None if it lacks the model."""


def no_login() -> bytes | None:
    """The login of an agent that has none."""
    return None


@dataclass(frozen=True, slots=True)
class InstalledAgent:
    """An agent type on this machine."""

    type: AgentType
    make: Callable[[], Agent | ServiceAgent]
    """Returns the adapter, always the same object."""
    login: Callable[[], bytes | None] = no_login
    """Returns the content of the user's login file; None if there is none or the agent does not need it."""

    @property
    def adapter(self) -> Agent | ServiceAgent:
        return self.make()


Agents: TypeAlias = Mapping[str, InstalledAgent]
"""Installed agents by type, which is the value of `agents.NAME.type`."""

OnProgress: TypeAlias = Callable[[str, Progress], None]
"""Called with the path of the attempt and its progress."""
