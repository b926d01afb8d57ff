"""OpenCode."""

from typing import Final

from podium.adapters.agents.acp.preset_type import preset_type

AGENT: Final = preset_type(
    "opencode",
    program="opencode",
    install="opencode-ai",
    tested="1.18.33",
    key="ANTHROPIC_API_KEY",
    model="claude-sonnet-4-5",
    price="reported",
    vendor="anthropic",
)
