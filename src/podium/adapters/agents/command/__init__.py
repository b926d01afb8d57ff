"""Any program."""

from typing import Final

from podium.ports.agent_type import AgentType, Capabilities

AGENT: Final = AgentType(
    name="command",
    make="podium.adapters.agents.command.agent:Command",
    capabilities=Capabilities(
        tools=False,
        continuity="",
        price="unknown",
        needs="limits",
        settings={"exit_codes": {"type": "object", "additionalProperties": {"type": "string"}}},
    ),
    listed=False,
)
