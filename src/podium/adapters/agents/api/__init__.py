"""OpenAI-compatible HTTP services."""

from typing import Final

from podium.ports.agent_type import AgentType, Capabilities, Credentials

CREDENTIALS: Final = Credentials(keys=("OPENAI_API_KEY",), keyless_at_base_url=True)
AGENT: Final = AgentType(
    name="api",
    make="podium.adapters.agents.api.agent:Api",
    capabilities=Capabilities(
        tools=True,
        files=False,
        schema=True,
        continuity="retold",
        price="unknown",
        vendor="openai",
        any_vendor=True,
        needs="limits",
        settings={"key": {"type": "string"}, "timeout": {"type": "string"}},
    ),
    credentials=CREDENTIALS,
)
