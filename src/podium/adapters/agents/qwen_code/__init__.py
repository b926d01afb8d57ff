"""Qwen Code."""

from typing import Final

from podium.adapters.agents.acp.preset_type import preset_type

AGENT: Final = preset_type(
    "qwen_code",
    program="qwen",
    install="@qwen-code/qwen-code",
    tested="0.24.4",
    key="OPENAI_API_KEY",
    model="qwen3-coder-plus",
    price="unknown",
    vendor="",
)
