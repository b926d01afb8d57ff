"""Claude Code."""

from typing import Final

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
        max_usd=True,
        schema=True,
        continuity="session",
        price="reported",
        vendor="anthropic",
        needs="bubblewrap",
        settings={"key": {"type": "string"}},
    ),
    credentials=CREDENTIALS,
    program="claude",
    tested="2.1.197",
    # Always passed, because the program would choose its most expensive model.
    model="sonnet",
    preferred=1,
)
