"""Answers from a cast."""

from typing import Final

from podium.ports.agent_keys import AgentKey
from podium.ports.agent_type import AgentType, Capabilities

AGENT: Final = AgentType(
    name="scripted",
    make="podium.adapters.agents.scripted.agent:Scripted",
    capabilities=Capabilities(
        step_tools="command",
        tools=True,
        continuity="ignored",
        price="reported",
        needs="limits",
        keys={"script": AgentKey(str, "the cast, a path in the project", "every attempt passes")},
    ),
    listed=False,
)
