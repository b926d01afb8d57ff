"""Agents for a person at a terminal: how they are started, and what their conversations tell afterwards."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from podium.adapters.agents.claude.agent import Claude
from podium.adapters.agents.codex.agent import Codex
from podium.adapters.agents.gemini.agent import Gemini
from podium.ports.agent import AgentRequest, InteractiveAgent, PriorSession, Usage

ROLLOUT = ".codex/sessions/2026/11/18/rollout-1.jsonl"
TRANSCRIPT = ".claude/projects/-work/abc-1.jsonl"
CHAT = ".gemini/tmp/podium/chats/session-1.jsonl"
AGENTS = (Claude(), Codex(), Gemini())
HEADLESS = {
    "-p",
    "exec",
    "--json",
    "--ephemeral",
    "--input-format=stream-json",
    "--output-format=stream-json",
}


def request(tmp_path: Path, agent: str, **changes: Any) -> AgentRequest:
    base = AgentRequest(
        agent=agent,
        config={},
        path="build",
        step="build",
        visit=1,
        attempt=1,
        prompt="Paint the shed",
        system="You are careful.",
        project=tmp_path,
        cwd=tmp_path / "work",
        home=tmp_path / "home",
        sandboxed=True,
        brokered=True,
        env=dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"), "a-real-key"),
    )
    return replace(base, **changes)


def lines(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def codex_call(number: int, text: str) -> tuple[dict[str, Any], ...]:
    usage = {"input_tokens": 100, "cached_input_tokens": 30, "output_tokens": 20}
    content = [{"type": "output_text", "text": text}]
    return (
        {"type": "turn_context", "payload": {"model": "gpt-5.5"}},
        {"type": "response_item", "payload": {"type": "message", "role": "assistant", "content": content}},
        {"type": "token_usage_record", "payload": {"response_id": f"r{number}", "usage": usage}},
    )


def claude_call(number: int, text: str, **more: Any) -> tuple[dict[str, Any], ...]:
    usage = {"input_tokens": 70, "output_tokens": 20, "cache_read_input_tokens": 30}
    message = {"id": f"m{number}", "model": "claude-sonnet-5", "usage": usage}

    def part(words: str) -> dict[str, Any]:
        content = [{"type": "text", "text": words}]
        return {"type": "assistant", "sessionId": "abc-1", "message": {**message, "content": content}, **more}

    # A message is written in two lines.
    return part(text[:2]), part(text[2:])


def gemini_call(number: int, text: str) -> tuple[dict[str, Any], ...]:
    tokens = {"input": 100, "output": 15, "cached": 30, "thoughts": 5, "total": 120}
    message = {"id": f"m{number}", "type": "gemini", "content": text, "tokens": tokens, "model": "gemini-x"}
    # A second line for the same message, as after its tools have run.
    return (message, {**message, "toolCalls": []})


@pytest.mark.parametrize("agent", AGENTS)
def test_the_program_has_no_key_no_headless_options_and_knows_the_task(
    agent: Claude | Codex | Gemini, tmp_path: Path
) -> None:
    asked = request(tmp_path, "x")
    assert isinstance(agent, InteractiveAgent)
    program = agent.open(asked)

    everything = b"\n".join(program.files.values())
    assert b"Paint the shed" in everything
    assert b"You are careful." in everything
    assert "a-real-key" not in str((program.argv, program.env)) + everything.decode()
    assert program.stdin is None
    assert program.service is not None
    assert not HEADLESS & {*program.argv}


def test_claude_starts_without_its_first_questions_and_without_its_limits(tmp_path: Path) -> None:
    program = Claude().open(request(tmp_path, "claude", config={"max_usd": 1.5}))

    state = json.loads(program.files[".claude/.claude.json"])
    assert state["projects"][str(tmp_path / "work")]["hasTrustDialogAccepted"] is True
    assert program.env["ANTHROPIC_API_KEY"].endswith(state["customApiKeyResponses"]["approved"][0])
    assert not {"--max-turns=100", "--max-budget-usd=1.5", "--disable-slash-commands"} & {*program.argv}
    assert {"--setting-sources=", "--strict-mcp-config"} < {*program.argv}
    assert sum(word.startswith("--append-system-prompt-file=") for word in program.argv) == 1


def test_claude_continues_its_conversation(tmp_path: Path) -> None:
    content = lines(*claude_call(1, "hello"))
    session = PriorSession(id="abc-1", files={TRANSCRIPT: content})
    program = Claude().open(request(tmp_path, "claude", session=session))

    assert "--resume=abc-1" in program.argv
    assert content in program.files.values()


def test_answers_of_subagents_and_errors_are_not_the_answer_of_claude(tmp_path: Path) -> None:
    error = lines(*claude_call(9, "API Error")).replace(b"claude-sonnet-5", b"<synthetic>")
    content = lines(*claude_call(1, "mine"), *claude_call(2, "from a subagent", isSidechain=True)) + error
    result = Claude().read_conversation({TRANSCRIPT: content}, request(tmp_path, "claude"))

    assert (result.text, result.model, result.usage.calls) == ("mine", "claude-sonnet-5", 2)


def test_claude_without_a_call_of_the_person_has_no_answer_and_keeps_its_conversation(tmp_path: Path) -> None:
    content = lines(*claude_call(1, "first"))
    asked = request(tmp_path, "claude", session=PriorSession(id="abc-1", files={TRANSCRIPT: content}))
    result = Claude().read_conversation({TRANSCRIPT: content}, asked)

    assert (result.text, result.usage.calls, result.session) == ("", 0, "abc-1")


def test_codex_continues_its_conversation_and_keeps_the_model_of_the_workflow(tmp_path: Path) -> None:
    session = PriorSession(id="abc-1", files={ROLLOUT: b"x\n"}, turns=(), usage=Usage())
    program = Codex().open(request(tmp_path, "codex", session=session))

    assert program.argv[1:3] == ("resume", "abc-1")
    assert program.files[ROLLOUT] == b"x\n"
    config = tomllib.loads(program.files[".codex/config.toml"].decode())
    assert config["notice"]["model_migrations"]["gpt-5.5"] == "gpt-6-sol"
    assert config["model"] == "gpt-5.5"


def test_gemini_has_no_limit_of_turns_at_a_terminal(tmp_path: Path) -> None:
    session = PriorSession(id="abc-1", files={CHAT: b"x\n"}, turns=(), usage=Usage())
    program = Gemini().open(request(tmp_path, "gemini", session=session))

    assert "--resume=abc-1" in program.argv
    settings = json.loads(program.files[".gemini/settings.json"])
    assert settings["model"]["maxSessionTurns"] == -1


@pytest.mark.parametrize(
    ("agent", "file", "call", "first"),
    [
        (Claude(), TRANSCRIPT, claude_call, {"type": "summary"}),
        (Codex(), ROLLOUT, codex_call, {"type": "session_meta", "payload": {"id": "abc-1"}}),
        (Gemini(), CHAT, gemini_call, {"sessionId": "abc-1", "kind": "main"}),
    ],
)
def test_only_calls_after_the_earlier_conversation_count(
    agent: Claude | Codex | Gemini, file: str, call: Any, first: dict[str, Any], tmp_path: Path
) -> None:
    earlier = lines(first, *call(1, "earlier"))
    session = PriorSession(id="abc-1", files={file: earlier}, turns=(), usage=Usage())
    later = earlier + lines(*call(2, ""), *call(3, "All is well")) + b"not a record\n"

    continued = agent.read_conversation({file: later}, request(tmp_path, "x", session=session))
    new = agent.read_conversation({file: later}, request(tmp_path, "x"))

    assert (continued.text, continued.session) == ("All is well", "abc-1")
    assert continued.usage == Usage(input=140, output=40, cached=60, calls=2)
    assert (new.session, new.usage.calls) == ("abc-1", 3)


@pytest.mark.parametrize("agent", AGENTS)
def test_a_session_without_a_conversation_has_no_answer_and_no_calls(
    agent: Claude | Codex | Gemini, tmp_path: Path
) -> None:
    result = agent.read_conversation({"a.jsonl": b"\xff{\n"}, request(tmp_path, "x"))

    assert (result.text, result.session, result.usage.calls) == ("", None, 0)
