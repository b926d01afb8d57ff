"""Any agent that speaks the Agent Client Protocol."""

from typing import Final

from podium.ports import agent_keys
from podium.ports.agent_keys import AgentKey, Texts
from podium.ports.agent_type import AgentType, Capabilities, Credentials
from podium.workflow.schema.fields import Raw


class ApiService(Raw):
    """How the broker calls the API of an agent."""

    url: str | None = None
    variable: str | None = None
    """The variable from which the agent reads the address."""
    header: str | None = None
    """The header with the key."""
    calls: Texts = ()
    """The allowed calls, such as `POST /v1/messages`."""


ASKS: Final = {
    "read": ("read", "search"),
    "edit": ("edit", "delete", "move"),
    "run": ("execute",),
    "web": ("fetch",),
}
"""The kinds of calls of the protocol; the agent decides which of them it asks about."""
CREDENTIALS: Final = Credentials(required=False)
AGENT: Final = AgentType(
    name="acp",
    make="podium.adapters.agents.acp.agent:Acp",
    capabilities=Capabilities(
        step_tools="mcp",
        asks=ASKS,
        tools=False,
        continuity="",
        price="unknown",
        needs="bubblewrap",
        keys={
            "command": AgentKey(
                str | Texts, "the agent and its arguments; `{model}` is replaced by `model`", "required"
            ),
            "key": AgentKey(str | Texts, "the variables of your environment that have its keys"),
            "service": AgentKey(
                ApiService, "how the broker calls its API", "known by `key`, for three vendors"
            ),
            "expose": AgentKey(Texts, "keys that the agent itself gets in a sandbox"),
            "authenticate": AgentKey(str, "the login method, by the agent's name for it"),
            "home": AgentKey(dict[str, str], "files for its home: paths and their contents"),
            "hosts": AgentKey(Texts, "hosts that it must reach"),
            "server_tools": agent_keys.SERVER_TOOLS,
        },
        unsupported={
            "effort": "the protocol has no such setting; use command or home",
            "thinking": "the protocol has no such setting; use command or home",
            "permission_mode": "its tools are allowed by kind; use tools of the role",
            "mcp": "Podium allows its tools by kind, and tools of MCP servers have none",
            "args": "write them in command",
            "instructions": "it reads the instructions of its folder by itself",
            "base_url": "write it in env, or under service",
        },
    ),
    credentials=CREDENTIALS,
    listed=False,
)
