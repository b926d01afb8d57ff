"""claude for a person at a terminal: how it is started, and what its conversation tells afterwards."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from podium.adapters.agents.claude.agent import Claude
from podium.ports.agent import AgentRequest, PriorSession, Usage

FILE = ".claude/projects/-work/abc.jsonl"


def request(tmp_path: Path, **changes: Any) -> AgentRequest:
    base = AgentRequest(
        agent="claude",
        config={"max_usd": 1.5},
        path="build",
        step="build",
        visit=1,
        attempt=1,
        prompt="Paint the shed",
        system="You are careful.",
        project=tmp_path,
        cwd=tmp_path / "work",
        home=tmp_path / "home",
        resumable=True,
        sandboxed=True,
        brokered=True,
        env={"ANTHROPIC_API_KEY": "a-real-key"},
    )
    return replace(base, **changes)


def line(name: str, *texts: str, usage: dict[str, int] | None = None, **more: Any) -> bytes:
    message = {
        "id": name,
        "model": "claude-sonnet-5",
        "content": [{"type": "text", "text": text} for text in texts],
        "usage": usage or {"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 7},
    }
    return json.dumps({"type": "assistant", "sessionId": "abc", "message": message, **more}).encode() + b"\n"


def test_the_program_starts_without_its_first_questions_and_without_the_key(tmp_path: Path) -> None:
    program = Claude().open(request(tmp_path))

    state = json.loads(program.files[".claude/.claude.json"])
    assert state["projects"][str(tmp_path / "work")]["hasTrustDialogAccepted"] is True
    assert program.env["ANTHROPIC_API_KEY"].endswith(state["customApiKeyResponses"]["approved"][0])
    assert "a-real-key" not in str((program.argv, program.env, program.files))
    assert program.service is not None
    assert program.stdin is None


def test_the_task_is_context_and_options_without_a_terminal_are_left_out(tmp_path: Path) -> None:
    program = Claude().open(request(tmp_path))

    system = program.files["system.md"].decode()
    assert system.startswith("You are careful.")
    assert "Paint the shed" in system
    assert not {"-p", "--max-turns=100", "--max-budget-usd=1.5", "--disable-slash-commands"} & {*program.argv}
    assert {"--setting-sources=", "--strict-mcp-config"} < {*program.argv}
    assert sum(word.startswith("--append-system-prompt-file=") for word in program.argv) == 1


def test_the_conversation_of_the_last_attempt_is_continued(tmp_path: Path) -> None:
    session = PriorSession(id="abc", files={FILE: line("m1", "hello")})
    program = Claude().open(request(tmp_path, session=session))

    assert "--resume=abc" in program.argv
    assert line("m1", "hello") in program.files.values()


def test_calls_and_the_last_answer_are_read_from_the_conversation(tmp_path: Path) -> None:
    content = line("m1", "first") + line("m2", "se") + line("m2", "cond") + b"noise\n"
    result = Claude().read_conversation({FILE: content}, request(tmp_path))

    assert (result.text, result.session, result.model) == ("second", "abc", "claude-sonnet-5")
    assert result.usage == Usage(input=200, output=40, cached=14, calls=2)


def test_calls_before_the_person_came_are_not_booked_again(tmp_path: Path) -> None:
    session = PriorSession(id="abc", files={FILE: line("m1", "first")})
    content = line("m1", "first") + line("m2", "second")
    asked = request(tmp_path, session=session)

    assert Claude().read_conversation({FILE: content}, asked).usage.calls == 1
    nothing = Claude().read_conversation({FILE: line("m1", "first")}, asked)
    assert (nothing.text, nothing.usage.calls, nothing.session) == ("", 0, "abc")


def test_answers_of_subagents_and_errors_are_not_the_answer(tmp_path: Path) -> None:
    error = line("e", "API Error").replace(b"claude-sonnet-5", b"<synthetic>")
    content = line("m1", "mine") + line("s1", "from a subagent", isSidechain=True) + error
    result = Claude().read_conversation({FILE: content}, request(tmp_path))

    assert (result.text, result.usage.calls) == ("mine", 2)
