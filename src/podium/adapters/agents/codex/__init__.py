"""Codex."""

from typing import Final, Literal, TypeAlias, get_args

from podium.ports import agent_keys
from podium.ports.agent_keys import AgentKey
from podium.ports.agent_type import AgentType, Capabilities, Credentials, LoginFile

Effort: TypeAlias = Literal["minimal", "low", "medium", "high", "xhigh"]
EFFORTS: Final[tuple[str, ...]] = get_args(Effort)
CREDENTIALS: Final = Credentials(
    keys=("OPENAI_API_KEY",),
    login=LoginFile(
        folder="~/.codex",
        name="auth.json",
        variable="CODEX_HOME",
        freshness=("last_refresh",),
        expires=("tokens", "access_token"),
        renewal=("tokens", "refresh_token"),
        how="codex login",
    ),
)
AGENT: Final = AgentType(
    name="codex",
    check="podium.adapters.agents.shared.model_list:check_codex",
    make="podium.adapters.agents.codex.agent:Codex",
    # `codex exec` has no list of allowed tools: some features can be disabled, commands cannot.
    capabilities=Capabilities(
        step_tools="mcp",
        tools=False,
        schema=True,
        images=True,
        continuity="session",
        price="priced",
        vendor="openai",
        needs="bubblewrap",
        keys={
            "command": agent_keys.PROGRAM,
            "auth": agent_keys.AUTH,
            "key": agent_keys.KEY,
            "base_url": agent_keys.BASE_URL,
            "effort": AgentKey(Effort, "how much the model thinks", "the model's"),
            "instructions": agent_keys.INSTRUCTIONS,
            "mcp": agent_keys.MCP,
            "args": agent_keys.ARGS,
            "server_tools": agent_keys.SERVER_TOOLS,
        },
        unsupported={
            "thinking": "its models take no number of tokens; use effort",
            "permission_mode": "codex exec never asks; what it may do is decided by its sandbox, and by touches",
            "max_turns": "its program has no such limit; use timeout of the step",
        },
        instruction_files=("AGENTS.md",),
    ),
    credentials=CREDENTIALS,
    program="codex",
    install="npm install -g @openai/codex",
    tested="0.166.0",
    # A model of codex's own catalogue, because only those get the tool apply_patch.
    model="gpt-5.5",
    preferred=2,
)
