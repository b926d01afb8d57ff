"""Claude by the Agent Client Protocol."""

from typing import Final

from podium.adapters.agents.acp.preset_type import preset_type

AGENT: Final = preset_type(
    "claude_agent_acp",
    program="claude-agent-acp",
    install="@agentclientprotocol/claude-agent-acp",
    tested="0.100.0",
    key="ANTHROPIC_API_KEY",
    model="claude-sonnet-4-5",
    price="reported",
    vendor="anthropic",
)
