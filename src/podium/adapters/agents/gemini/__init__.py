"""Gemini CLI."""

from typing import Final

from podium.ports import agent_keys
from podium.ports.agent_keys import AgentKey, Tokens
from podium.ports.agent_type import AgentType, Capabilities, Credentials

CREDENTIALS: Final = Credentials(keys=("GEMINI_API_KEY",))
AGENT: Final = AgentType(
    name="gemini",
    check="podium.adapters.agents.shared.model_list:check_gemini",
    make="podium.adapters.agents.gemini.agent:Gemini",
    capabilities=Capabilities(
        step_tools="mcp",
        settings_files=(".gemini", ".agents"),
        tools=True,
        continuity="session",
        price="priced",
        vendor="google",
        needs="bubblewrap",
        keys={
            "command": AgentKey(str, "the program"),
            "key": agent_keys.KEY,
            "base_url": agent_keys.BASE_URL,
            "max_turns": agent_keys.MAX_TURNS,
            "thinking": AgentKey(Tokens, "how many tokens the model may think", "the program's"),
            "instructions": agent_keys.INSTRUCTIONS,
            "server_tools": agent_keys.SERVER_TOOLS,
        },
        unsupported={
            "auth": "Podium cannot copy its login; use a key",
            "effort": "its models take a number of tokens; use thinking",
            "permission_mode": "its tools are allowed by name; use tools of the role",
            "mcp": "it starts no servers in a folder that it does not trust, and it must not trust a workspace",
            "args": "Podium itself sets the options that matter, and no other one was found safe and useful",
        },
        instruction_files=("GEMINI.md", "AGENTS.md"),
    ),
    credentials=CREDENTIALS,
    program="gemini",
    install="npm install -g @google/gemini-cli",
    tested="0.61.0",
    # Always passed, because otherwise the program asks a small model at each prompt which model to use.
    model="gemini-2.5-pro",
    preferred=3,
)
