"""Any agent that speaks the Agent Client Protocol."""

from typing import Final

from podium.ports.agent_type import AgentType, Capabilities, Credentials

CREDENTIALS: Final = Credentials(required=False)
AGENT: Final = AgentType(
    name="acp",
    make="podium.adapters.agents.acp.agent:Acp",
    capabilities=Capabilities(
        tools=False,
        continuity="",
        price="unknown",
        needs="bubblewrap",
        settings={
            "key": {"type": ["string", "array"], "items": {"type": "string"}},
            "authenticate": {"type": "string"},
            "hosts": {"type": "array", "items": {"type": "string"}},
            "service": {
                "type": "object",
                "properties": {
                    "url": {"type": "string"},
                    "variable": {"type": "string"},
                    "header": {"type": "string"},
                    "calls": {"type": "array", "items": {"type": "string"}},
                },
                "additionalProperties": False,
            },
            "home": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    ),
    credentials=CREDENTIALS,
    listed=False,
)
