"""What the three programs print around an answer: each story as the bytes of its own stream, ended or broken off."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from podium.adapters.agents.claude.agent import Claude
from podium.adapters.agents.codex.agent import Codex
from podium.adapters.agents.gemini.agent import Gemini
from podium.attempt.agent.verdict import verdict_of, verdict_schema
from podium.core.decide.pass_rules import verdict_outcome
from podium.core.model import Review
from podium.core.types import Tree
from podium.ports.agent import AgentRequest, ProgramSpec
from podium.testing.agent_contract import finished_process, parse_output
from podium.workflow.contracts.contract import OutputFault
from podium.workflow.contracts.single_json import NotOneValue, one_json

NONCE: Final = "5f3a9c0d1e2b4a68"
TREE: Final = Tree("9fceb02d0ae598e95dc970b74767f19372d61af8")
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Story:
    """What a reviewer did: words on the way, tools with what they printed, and its last message."""

    final: str | None
    """None: it never came to one."""
    before: tuple[str, ...] = ()
    tool_output: str = ""
    exit_code: int = 0
    complete: bool = True
    """Whether the stream says at its end that all went well."""


def claude(story: Story) -> list[Record]:
    said = [
        {
            "type": "assistant",
            "message": {"id": "m", "model": "claude-sonnet-5", "content": [{"type": "text", "text": text}]},
        }
        for text in story.before
    ]
    tool = {"type": "user", "message": {"content": [{"type": "tool_result", "content": story.tool_output}]}}
    end: dict[str, Any] = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": story.final or "",
    }
    if story.final is not None:
        # What its own mechanism has made of the answer; of a text that is no value it makes nothing.
        try:
            end["structured_output"] = one_json(story.final)
        except NotOneValue:
            end["structured_output"] = None
    return [{"type": "system", "subtype": "init"}, *said, tool, *([end] if story.complete else [])]


def codex(story: Story) -> list[Record]:
    def message(text: str) -> Record:
        return {"type": "item.completed", "item": {"id": "m", "type": "agent_message", "text": text}}

    command = {
        "id": "c",
        "type": "command_execution",
        "command": "cat README",
        "aggregated_output": story.tool_output,
    }
    return [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "turn.started"},
        *(message(text) for text in story.before),
        {"type": "item.started", "item": command},
        {"type": "item.completed", "item": {**command, "exit_code": 0}},
        *([message(story.final)] if story.final is not None else []),
        *(
            [{"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}}]
            if story.complete
            else []
        ),
    ]


def gemini(story: Story) -> list[Record]:
    def message(text: str) -> Record:
        return {"type": "message", "role": "assistant", "content": text, "delta": True}

    return [
        {"type": "init", "session_id": "s"},
        *(message(text) for text in story.before),
        {"type": "tool_use", "tool_name": "read_file", "parameters": {}},
        {"type": "tool_result", "status": "success", "output": story.tool_output},
        *([message(story.final)] if story.final is not None else []),
        *([{"type": "result", "status": "success"}] if story.complete else []),
    ]


Adapter = Claude | Codex | Gemini
PROGRAMS: Final[Mapping[str, tuple[Adapter, Callable[[Story], list[Record]]]]] = {
    "claude": (Claude(), claude),
    "codex": (Codex(), codex),
    "gemini": (Gemini(), gemini),
}


def approves(program: str, story: Story, folder: Path) -> bool:
    """Whether this transcript would count as an approval: the way an attempt goes, from bytes to verdict."""
    adapter, stream = PROGRAMS[program]
    data = "".join(json.dumps(record) + "\n" for record in stream(story)).encode()
    request = AgentRequest(
        agent=program, config={}, path="look", step="look", visit=1, attempt=1, prompt="Judge it", judge=True,
        nonce=NONCE, tree=TREE, schema=verdict_schema(), project=folder, cwd=folder, home=folder,
        env={"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k", "GEMINI_API_KEY": "k"},
    )  # fmt: skip
    assert isinstance(adapter.prepare(request)[0], ProgramSpec)
    result, _ = parse_output(
        adapter, request, [data], finished_process(exit_code=story.exit_code, stdout=data)
    )
    if result.trouble is not None:
        return False
    found = verdict_of(result.text, (result.has_value, result.value), nonce=NONCE, tree=TREE)
    return not isinstance(found, OutputFault) and verdict_outcome(found, Review(())) == "passed"
