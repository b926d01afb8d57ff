"""Gemini CLI."""

from typing import Final

from podium.ports.agent_type import AgentType, Capabilities, Credentials

CREDENTIALS: Final = Credentials(keys=("GEMINI_API_KEY",))
AGENT: Final = AgentType(
    name="gemini",
    make="podium.adapters.agents.gemini.agent:Gemini",
    capabilities=Capabilities(
        tools=True,
        continuity="session",
        price="priced",
        vendor="google",
        needs="bubblewrap",
        settings={"key": {"type": "string"}},
    ),
    credentials=CREDENTIALS,
    program="gemini",
    tested="0.61.0",
    # Always passed, because otherwise the program asks a small model at each prompt which model to use.
    model="gemini-2.5-pro",
    preferred=3,
)
