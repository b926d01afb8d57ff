"""Claude Code."""

from typing import Final, Literal, TypeAlias

from podium.ports import agent_keys
from podium.ports.agent_keys import AgentKey, Number
from podium.ports.agent_type import AgentType, Capabilities, Credentials, LoginFile

PermissionMode: TypeAlias = Literal["acceptEdits", "dontAsk", "plan", "bypassPermissions"]
CREDENTIALS: Final = Credentials(
    keys=("ANTHROPIC_API_KEY",),
    login=LoginFile(
        folder="~/.claude",
        name=".credentials.json",
        variable="CLAUDE_CONFIG_DIR",
        freshness=("claudeAiOauth", "expiresAt"),
        expires=("claudeAiOauth", "expiresAt"),
        renewal=("claudeAiOauth", "refreshToken"),
        how="start claude once and say /login",
    ),
)
AGENT: Final = AgentType(
    name="claude",
    check="podium.adapters.agents.shared.model_list:check_claude",
    make="podium.adapters.agents.claude.agent:Claude",
    capabilities=Capabilities(
        step_tools="mcp",
        # It was seen to wait 200 seconds, and not to wait 305.
        asks_s=200,
        asks={
            "read": ("Read", "Glob", "Grep"),
            "edit": ("Edit", "Write", "NotebookEdit"),
            "run": ("Bash",),
            "web": ("WebFetch", "WebSearch"),
        },
        tools=True,
        schema=True,
        continuity="session",
        price="reported",
        quota=True,
        vendor="anthropic",
        needs="bubblewrap",
        keys={
            "command": agent_keys.PROGRAM,
            "auth": agent_keys.AUTH,
            "key": agent_keys.KEY,
            "base_url": agent_keys.BASE_URL,
            "max_turns": agent_keys.MAX_TURNS,
            "max_usd": AgentKey(
                Number, "dollars at which the program itself stops; the last call may exceed it"
            ),
            "effort": AgentKey(
                Literal["low", "medium", "high", "xhigh", "max"], "how much the model thinks", "the program's"
            ),
            "permission_mode": AgentKey(
                PermissionMode,
                "what a worker may do without asking; `bypassPermissions` only in a sandbox; a reviewer always has `dontAsk`",
                "acceptEdits",
            ),
            "instructions": agent_keys.INSTRUCTIONS,
            "mcp": agent_keys.MCP,
            "args": agent_keys.ARGS,
            "server_tools": agent_keys.SERVER_TOOLS,
        },
        unsupported={"thinking": "its models decide by themselves how long they think; use effort"},
        instruction_files=("CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md"),
    ),
    credentials=CREDENTIALS,
    program="claude",
    install="npm install -g @anthropic-ai/claude-code",
    tested="2.1.197",
    # Always passed, because the program would choose its most expensive model.
    model="sonnet",
    preferred=1,
)
