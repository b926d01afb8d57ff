"""Any program."""

from typing import Final

from podium.ports import agent_keys
from podium.ports.agent_keys import AgentKey, OutputFields, Texts
from podium.ports.agent_type import AgentType, Capabilities

AGENT: Final = AgentType(
    name="command",
    make="podium.adapters.agents.command.agent:Command",
    capabilities=Capabilities(
        step_tools="command",
        tools=False,
        continuity="",
        price="unknown",
        needs="limits",
        keys={
            "command": AgentKey(str | Texts, "the program and its arguments, without a shell", "required"),
            "args": AgentKey(Texts, "appended to `command`"),
            "resume": AgentKey(str | Texts, "the command that continues a conversation, with `{session}`"),
            "fields": AgentKey(
                OutputFields,
                "where the JSON object on standard output has the answer, its usage and its session",
            ),
            "prompt_argument": AgentKey(
                bool, "allows `{prompt}` in `command`, where every user of this machine can read it", "false"
            ),
            "exit_codes": AgentKey(
                dict[str, str], "the meaning of exit codes: a word for each, `*` for all others"
            ),
            "instructions": agent_keys.INSTRUCTIONS,
        },
        instruction_files=("AGENTS.md",),
    ),
    listed=False,
)
