"""Codex by the Agent Client Protocol."""

from typing import Final

from podium.adapters.agents.acp.preset_type import preset_type

AGENT: Final = preset_type(
    "codex_acp",
    program="codex-acp",
    install="@agentclientprotocol/codex-acp",
    tested="2.6.0",
    key="OPENAI_API_KEY",
    model="gpt-5.5",
    price="priced",
    vendor="openai",
)
