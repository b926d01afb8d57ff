"""Codex."""

from typing import Final

from podium.ports.agent_type import AgentType, Capabilities, Credentials, LoginFile

EFFORTS: Final = ("minimal", "low", "medium", "high", "xhigh")
CREDENTIALS: Final = Credentials(
    keys=("OPENAI_API_KEY",),
    login=LoginFile(
        folder="~/.codex",
        name="auth.json",
        variable="CODEX_HOME",
        freshness=("last_refresh",),
        how="codex login",
    ),
)
AGENT: Final = AgentType(
    name="codex",
    make="podium.adapters.agents.codex.agent:Codex",
    # `codex exec` has no list of allowed tools: some features can be disabled, commands cannot.
    capabilities=Capabilities(
        tools=False,
        schema=True,
        continuity="session",
        price="priced",
        vendor="openai",
        needs="bubblewrap",
        settings={"effort": {"enum": EFFORTS}, "key": {"type": "string"}},
    ),
    credentials=CREDENTIALS,
    program="codex",
    tested="0.166.0",
    # A model of codex's own catalogue, because only those get the tool apply_patch.
    model="gpt-5.5",
    preferred=2,
)
