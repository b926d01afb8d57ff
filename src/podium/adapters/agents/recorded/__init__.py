"""Answers from recordings."""

from typing import Final

from podium.ports.agent_keys import AgentKey
from podium.ports.agent_type import AgentType, Capabilities

AGENT: Final = AgentType(
    name="recorded",
    make="podium.adapters.agents.recorded.agent:Recorded",
    capabilities=Capabilities(
        tools=True,
        continuity="ignored",
        price="reported",
        needs="limits",
        keys={"dir": AgentKey(str, "the folder of the recordings, a path in the project", "required")},
    ),
    listed=False,
)
