"""Keys that several types of agents declare, for their registrations."""

from typing import ClassVar, Final, Literal

from podium.ports.agent_type import ServerTool
from podium.workflow.agent_keys import AgentKey
from podium.workflow.schema.fields import Raw
from podium.workflow.schema.parts import Texts
from podium.workflow.schema.scalars import Duration, Number, Positive, Tokens

__all__ = ["AgentKey", "Duration", "Number", "Positive", "Texts", "Tokens"]


class McpServer(Raw):
    """An MCP server that an agent starts, inside its sandbox."""

    noun: ClassVar[str] = "MCP server"

    command: Texts
    env: Texts = ()
    network: Texts = ()
    """The hosts it must reach."""


class OutputFields(Raw):
    """Paths such as `usage.input_tokens` into the JSON object that a program prints."""

    noun: ClassVar[str] = "fields"

    text: str
    input: str | None = None
    output: str | None = None
    cached: str | None = None
    cost_usd: str | None = None
    session: str | None = None


PROGRAM: Final = AgentKey(
    str | Texts,
    "the program, or a list such as an interpreter and its file; without options, which belong to `args`",
)
KEY: Final = AgentKey(str, "the variable of your environment that has the key")
BASE_URL: Final = AgentKey(str, "the address of the API", "the vendor's")
AUTH: Final = AgentKey(
    Literal["key", "login"],
    "a key, or a copy of your login of the program",
    "a key if one is set, else a login",
)
MAX_TURNS: Final = AgentKey(Positive, "calls of the model in one attempt", "100")
SERVER_TOOLS: Final = AgentKey(
    tuple[ServerTool, ...], "tools that the vendor may run on its side; all others are taken out of requests"
)
TEMPERATURE: Final = AgentKey(Number, "from 0 to 2", "the service's")
MAX_TOKENS: Final = AgentKey(Tokens, "the longest answer, in tokens", "the service's")
TIMEOUT: Final = AgentKey(Duration, "the longest time of one call", "the step's")
MCP: Final = AgentKey(
    dict[str, McpServer],
    "MCP servers for workers, started inside the sandbox; `network` names the hosts that a server must reach",
    trusted=True,
)
ARGS: Final = AgentKey(Texts, "further options of the program, out of a list that was tried", trusted=True)
INSTRUCTIONS: Final = AgentKey(
    Literal["project", "none"],
    "`project`: its system text has the instruction files of the base commit, never those of the workspace",
    "none",
)
