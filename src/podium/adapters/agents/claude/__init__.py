"""Claude Code."""

from typing import Final

from podium.ports import agent_keys
from podium.ports.agent_keys import AgentKey, Number
from podium.ports.agent_type import AgentType, Capabilities, Credentials, LoginFile

CREDENTIALS: Final = Credentials(
    keys=("ANTHROPIC_API_KEY",),
    login=LoginFile(
        folder="~/.claude",
        name=".credentials.json",
        variable="CLAUDE_CONFIG_DIR",
        freshness=("claudeAiOauth", "expiresAt"),
        how="start claude once and say /login",
    ),
)
AGENT: Final = AgentType(
    name="claude",
    make="podium.adapters.agents.claude.agent:Claude",
    capabilities=Capabilities(
        tools=True,
        schema=True,
        continuity="session",
        price="reported",
        vendor="anthropic",
        needs="bubblewrap",
        keys={
            "command": agent_keys.PROGRAM,
            "auth": agent_keys.AUTH,
            "key": agent_keys.KEY,
            "base_url": agent_keys.BASE_URL,
            "max_turns": agent_keys.MAX_TURNS,
            "max_usd": AgentKey(
                Number, "dollars at which the program itself stops; the last call may exceed it"
            ),
            "server_tools": agent_keys.SERVER_TOOLS,
        },
    ),
    credentials=CREDENTIALS,
    program="claude",
    tested="2.1.197",
    # Always passed, because the program would choose its most expensive model.
    model="sonnet",
    preferred=1,
)
