"""Answers from recordings."""

from typing import Final

from podium.ports.agent_type import AgentType, Capabilities

AGENT: Final = AgentType(
    name="recorded",
    make="podium.adapters.agents.recorded.agent:Recorded",
    capabilities=Capabilities(
        tools=True,
        continuity="ignored",
        price="reported",
        needs="limits",
        settings={"dir": {"type": "string"}},
    ),
    listed=False,
)
