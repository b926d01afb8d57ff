"""The registration of an agent whose way to be started by the Agent Client Protocol is known."""

from __future__ import annotations

from podium.ports import agent_keys
from podium.ports.agent_type import AgentType, Capabilities, Credentials
from podium.workflow.agent_capabilities import Price


def preset_type(  # each is a fact about one agent, by name
    name: str, *, program: str, install: str, tested: str, key: str, model: str, price: Price, vendor: str
) -> AgentType:
    """The folder of the agent has the function that makes its adapter."""
    return AgentType(
        name=name,
        make=f"podium.adapters.agents.{name}.agent:make",
        capabilities=Capabilities(
            tools=False,
            continuity="",
            price=price,
            vendor=vendor,
            needs="bubblewrap",
            keys={
                "command": agent_keys.PROGRAM,
                "base_url": agent_keys.BASE_URL,
                "server_tools": agent_keys.SERVER_TOOLS,
            },
            step_tools="mcp",
            unsupported={
                "key": f"its program reads its key from {key}; for another one use type acp",
                "auth": "Podium cannot copy its login; use a key",
                "effort": "the protocol has no such setting; use type acp with a home of your own",
                "thinking": "the protocol has no such setting; use type acp with a home of your own",
                "permission_mode": "its tools are allowed by kind; use tools of the role",
                "mcp": "Podium allows its tools by kind, and tools of MCP servers have none",
                "args": "Podium itself sets what matters; for other options use type acp",
                "instructions": "it reads the instructions of its folder by itself",
            },
        ),
        credentials=Credentials(keys=(key,)),
        program=program,
        install=f"npm install -g {install}",
        tested=tested,
        model=model,
        listed=False,
    )
