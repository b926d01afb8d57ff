"""OpenAI-compatible HTTP services."""

from typing import Final, Literal

from podium.ports import agent_keys
from podium.ports.agent_keys import AgentKey
from podium.ports.agent_type import AgentType, Capabilities, Credentials

CREDENTIALS: Final = Credentials(keys=("OPENAI_API_KEY",), keyless_at_base_url=True)
AGENT: Final = AgentType(
    name="api",
    check="podium.adapters.agents.shared.model_list:check_api",
    make="podium.adapters.agents.api.agent:Api",
    capabilities=Capabilities(
        tools=True,
        files=False,
        schema=True,
        images=True,
        continuity="retold",
        price="unknown",
        vendor="openai",
        any_vendor=True,
        needs="limits",
        keys={
            "base_url": AgentKey(str, "the address of the service", "OpenAI's"),
            "key": agent_keys.KEY,
            "effort": AgentKey(
                Literal["minimal", "low", "medium", "high"], "sent as `reasoning_effort`", "the model's"
            ),
            "temperature": agent_keys.TEMPERATURE,
            "max_tokens": agent_keys.MAX_TOKENS,
            "timeout": agent_keys.TIMEOUT,
            "instructions": agent_keys.INSTRUCTIONS,
        },
        instruction_files=("AGENTS.md",),
    ),
    credentials=CREDENTIALS,
)
