"""Local models, GPU detection, model tiers."""

from typing import Final

from podium.ports.agent_type import AgentType, Capabilities

AGENT: Final = AgentType(
    name="ollama",
    make="podium.adapters.agents.ollama.agent:Ollama",
    capabilities=Capabilities(
        tools=True,
        files=False,
        schema=True,
        continuity="retold",
        price="free",
        needs="limits",
        settings={"timeout": {"type": "string"}},
    ),
    local_models="podium.adapters.agents.ollama.tiers:local_models",
)
