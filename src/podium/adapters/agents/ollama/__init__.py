"""Local models, GPU detection, model tiers."""

from typing import Any, Final

from podium.ports import agent_keys
from podium.ports.agent_keys import AgentKey
from podium.ports.agent_type import AgentType, Capabilities

AGENT: Final = AgentType(
    name="ollama",
    check="podium.adapters.agents.ollama.agent:check_server",
    make="podium.adapters.agents.ollama.agent:Ollama",
    capabilities=Capabilities(
        tools=True,
        files=False,
        schema=True,
        images=True,
        continuity="retold",
        price="free",
        needs="limits",
        keys={
            "base_url": AgentKey(
                str, "the address of the server", "`OLLAMA_BASE_URL`, else `OLLAMA_HOST`, else this machine"
            ),
            "temperature": agent_keys.TEMPERATURE,
            "max_tokens": agent_keys.MAX_TOKENS,
            "timeout": agent_keys.TIMEOUT,
            "tiers": AgentKey(dict[str, Any], "models by the memory of the graphics card", "built in"),
            "instructions": agent_keys.INSTRUCTIONS,
        },
        instruction_files=("AGENTS.md",),
    ),
    local_models="podium.adapters.agents.ollama.tiers:local_models",
)
