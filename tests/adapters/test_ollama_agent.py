"""The agent that asks an Ollama server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from podium.adapters.agents.ollama.agent import Ollama, understood, url_of
from podium.adapters.agents.shared.http import Answer
from podium.ports.agent import AgentRequest, AgentResult
from podium.testing.models.server import ModelServer, Rule, Tokens


def ask(tmp_path: Path, url: str, host: str = "", **more: Any) -> AgentResult:
    config: Mapping[str, Any] = {**({"base_url": url} if url else {}), **more.pop("config", {})}
    request = AgentRequest(
        agent="local", config=config, path="it", step="it", visit=1, attempt=1, prompt="Sum it up",
        model="small", project=tmp_path, cwd=tmp_path, home=tmp_path, **more,
    )  # fmt: skip
    return anyio.run(Ollama({"OLLAMA_HOST": host}).call, request)


def test_settings_become_options_of_the_model_and_a_call_is_free(tmp_path: Path) -> None:
    config = {"temperature": 0.2, "max_tokens": "2k", "context_window": "32k", "timeout": "30s"}
    with ModelServer(Rule(text="short", usage=Tokens(70, 9, 0))) as server:
        result = ask(tmp_path, server.url, config=config, system="Be brief")
        body = server.requests[0].body

    assert body["options"] == {"temperature": 0.2, "num_predict": 2000, "num_ctx": 32000}
    assert body["messages"] == [
        {"role": "system", "content": "Be brief"},
        {"role": "user", "content": "Sum it up"},
    ]
    assert "format" not in body
    assert (result.text, result.cost) == ("short", 0)


def test_any_json_is_asked_for_by_the_word(tmp_path: Path) -> None:
    with ModelServer(Rule(text="[1, 2]")) as server:
        result = ask(tmp_path, server.url, schema={})
        assert server.requests[0].body["format"] == "json"

    assert result.value == [1, 2]


def test_a_missing_model_says_how_to_get_it(tmp_path: Path) -> None:
    with ModelServer(Rule(status=404)) as server:
        result = ask(tmp_path, server.url)

    assert result.trouble == "unavailable"
    assert "ollama pull small" in result.detail


def test_a_server_that_is_not_there_says_how_to_start_it(tmp_path: Path) -> None:
    result = ask(tmp_path, "http://127.0.0.1:9")

    assert result.trouble == "unavailable"
    assert "127.0.0.1:9" in result.detail and "ollama serve" in result.detail


def test_the_server_is_where_the_variable_says_unless_the_settings_say_otherwise(tmp_path: Path) -> None:
    with ModelServer(Rule(text="here")) as server:
        assert ask(tmp_path, "", host=server.url.removeprefix("http://")).text == "here"
        assert ask(tmp_path, server.url, host="127.0.0.1:9").text == "here"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        (":8080", "http://127.0.0.1:8080"),
        ("gpu.example", "http://gpu.example:11434"),
        ("https://gpu.example:443/", "https://gpu.example:443"),
    ],
)
def test_the_variable_is_read_as_ollama_reads_it(host: str, url: str) -> None:
    assert url_of(host) == url


@pytest.mark.parametrize(
    ("body", "trouble", "words"),
    [
        (b'{"error": "out of memory"}\n', "transient", "out of memory"),
        (b'{"message": {"content": "half"}, "done": false}\n', "transient", "breaks off"),
        (b"<html>", "transient", "not JSON"),
        (b"[]\n7\n", "transient", "breaks off"),
        (b'{"message": {"content": "a"}, "done": true, "done_reason": "length"}', "truncated", "max_tokens"),
    ],
)
def test_what_is_no_answer_is_trouble(body: bytes, trouble: str, words: str) -> None:
    result = understood(Answer(200, {}, body), "small", wants_value=False)

    assert result.trouble == trouble
    assert words in result.detail
