"""Faults of a model as `podium run` reports them: the real command, the real programs, the default sandbox."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from podium.testing.models.gemini import BAD_KEY
from podium.testing.models.server import ModelServer, Rule
from tests.e2e import kit as e2e
from tests.live.kit import KEY, PROGRAMS
from tests.live.programs import found
from tests.live.sandbox_kit import needs_bubblewrap

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

OTHER = "other: {type: command, command: [sh, -c, 'cat > /dev/null; echo from the other agent'], price: {input: 0, output: 0}}"


@contextmanager
def project_for(
    name: str,
    folder: Path,
    server: ModelServer,
    *,
    step: str = "",
    settings: str = "",
    fallback: bool = True,
    limits: str = "unknown_cost: count_tokens",
) -> Iterator[e2e.Project]:
    """A project whose one step asks a real program for a text; another agent is there in case it cannot answer."""
    needs_bubblewrap()
    program = PROGRAMS[name]
    own = f"command: {found(name)}, base_url: '{server.url}{program.path}'{program.settings}{settings}"
    other = ", fallback: [other]" if fallback else ""
    flow = (
        f"podium: 1\nname: flow\nlimits: {{{limits}}}\nagents:\n  {name}: {{{own}}}\n  {OTHER}\n"
        f"steps:\n  it: {{agent: {name}, prompt: Say it., no_change: pass, timeout: 120s{other}{step}}}\n"
    )
    with e2e.closing(e2e.new_project(folder / "p", {"flow.yaml": flow})) as project:
        project.env[program.key] = KEY
        yield project


def run(project: e2e.Project, *options: str) -> tuple[e2e.Ended, list[dict[str, Any]]]:
    done = project.podium("run", "flow.yaml", "--no-human", "--json", *options, timeout_s=300)
    return done, [event for event in project.events(project.run_id()) if event["type"] == "AttemptEnded"]


def kinds(ends: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(end["kind"], end.get("reason", "")) for end in ends]


def message(end: dict[str, Any]) -> str:
    return str((end.get("result") or {}).get("message", ""))


@pytest.mark.req("R136", "R137")
@pytest.mark.parametrize(
    ("name", "rule"),
    [
        *(pytest.param(name, Rule(status=401, error="no such key"), id=f"{name}-401") for name in PROGRAMS),
        *(pytest.param(name, Rule(status=403, error="not yours"), id=f"{name}-403") for name in PROGRAMS),
        pytest.param("gemini", Rule(status=400, error="API key not valid.", stop=BAD_KEY), id="gemini-400"),
    ],
)
def test_a_refused_key_goes_to_the_next_agent_at_once(name: str, rule: Rule, tmp_path: Path) -> None:
    with ModelServer(rule) as server, project_for(name, tmp_path, server) as project:
        done, ends = run(project)

    assert done.code == 0, done.err
    assert kinds(ends) == [("unavailable", "auth"), ("ok", "")], [message(end) for end in ends]
    assert "signal" not in message(ends[0])
    assert ends[1]["result"]["agent"] == "other"


def test_a_request_that_gemini_says_is_wrong_is_an_error_and_no_signal(tmp_path: Path) -> None:
    with (
        ModelServer(Rule(status=400, error="bad request")) as server,
        project_for("gemini", tmp_path, server) as project,
    ):
        _, ends = run(project)

    assert kinds(ends) == [("error", "error")]
    assert message(ends[0]) == "bad request"


@pytest.mark.req("R207", "X3")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("status", [400, 401, 404, 529])
def test_a_call_that_was_rejected_is_no_call_and_costs_nothing(
    name: str, status: int, tmp_path: Path
) -> None:
    with (
        ModelServer(Rule(status=status, error="x is not found")) as server,
        project_for(name, tmp_path, server, fallback=False, limits="usd: 5", step=", retry: none") as project,
    ):
        done, ends = run(project)
        costs = project.podium("costs", "--json").data()["total"]

    assert [end.get("used", {}) for end in ends] == [{}] * len(ends), kinds(ends)
    assert (costs["calls"], costs["cost"]) == (0, {"usd": 0.0, "unknown_calls": 0})
    assert done.data()["limits"]["usd"]["used"] == 0


@pytest.mark.req("R207")
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_attempt_of_each_agent_is_one_call_however_often_it_asks_its_model(
    name: str, tmp_path: Path
) -> None:
    tools = [PROGRAMS[name].runs("true"), PROGRAMS[name].runs("echo 2")]
    with (
        ModelServer(Rule(tools=tools, text="done")) as server,
        project_for(name, tmp_path, server, fallback=False) as project,
    ):
        done, ends = run(project)

    assert done.code == 0, done.err
    assert len(server.requests_to(PROGRAMS[name].calls)) >= 3
    assert [end["used"]["calls"] for end in ends] == [1]


@pytest.mark.req("C20")
@pytest.mark.parametrize(
    ("name", "stop"), [("claude", "max_tokens"), ("codex", "max_output_tokens"), ("gemini", "MAX_TOKENS")]
)
def test_an_answer_that_is_cut_off_is_asked_for_again_and_never_taken(
    name: str, stop: str, tmp_path: Path
) -> None:
    # claude continues an answer three times before it gives up.
    cut = Rule(stop=stop, text="half of the", times=4 if name == "claude" else 1)
    with (
        ModelServer(cut, Rule(text="whole")) as server,
        project_for(name, tmp_path, server, fallback=False) as project,
    ):
        done, ends = run(project)

    assert kinds(ends) == [("malformed", "truncated"), ("ok", "")], [message(end) for end in ends]
    assert done.data()["steps"][0]["output"] == "whole"
    assert "maximum length" in message(ends[0])


@pytest.mark.req("C20")
def test_an_answer_that_is_cut_off_every_time_fails_the_step(tmp_path: Path) -> None:
    with (
        ModelServer(Rule(stop="MAX_TOKENS", text="half of the")) as server,
        project_for(
            "gemini", tmp_path, server, fallback=False, step=", retry: {attempts: 1, repair: 1}"
        ) as project,
    ):
        done, ends = run(project)

    assert done.code != 0
    assert kinds(ends) == [("malformed", "truncated")] * 2
    assert [step["reason"] for step in done.data()["steps"] if step["path"] == "it"] == ["truncated"]


@pytest.mark.req("C20")
def test_an_answer_that_claude_continued_is_whole(tmp_path: Path) -> None:
    with (
        ModelServer(Rule(stop="max_tokens", text="One, two, ", times=1), Rule(text="three, four.")) as server,
        project_for("claude", tmp_path, server) as project,
    ):
        done, ends = run(project)

    assert kinds(ends) == [("ok", "")], [message(end) for end in ends]
    assert done.data()["steps"][0]["output"] == "One, two, three, four."


@pytest.mark.req("R137")
@pytest.mark.parametrize("sandbox", ["bubblewrap", "limits"])
@pytest.mark.parametrize(("name", "calls"), [("claude", 3), ("codex", 3), ("gemini", 1)])
def test_the_run_waits_as_long_as_the_vendor_asks(
    name: str, calls: int, sandbox: str, tmp_path: Path
) -> None:
    """The broker reads the header; without it only what the program prints or how long it waits tells the time.

    claude and codex repeat such a call by themselves before they give up.
    """
    limited = Rule(status=429, error="slow down", headers={"Retry-After": "3"}, times=calls)
    with (
        ModelServer(limited, Rule(text="done")) as server,
        project_for(name, tmp_path, server, fallback=False) as project,
    ):
        done, ends = run(project, "--sandbox", sandbox)
        (wait,) = (e for e in project.events(project.run_id()) if e["type"] == "RetryScheduled")

    assert done.code == 0, done.err
    assert kinds(ends) == [("quota", "quota"), ("ok", "")]
    assert ends[0]["retry_at"] - ends[0]["at"] <= 15_000
    assert wait["due"] - wait["at"] <= 60_000, "and not a quarter of an hour"


@pytest.mark.req("R137")
def test_silence_while_claude_waits_for_a_rate_limit_is_a_rate_limit(tmp_path: Path) -> None:
    limited = Rule(status=429, error="slow down", headers={"Retry-After": "15"}, times=1)
    with (
        ModelServer(limited, Rule(text="done")) as server,
        project_for("claude", tmp_path, server, fallback=False, settings=", stall: 5s") as project,
    ):
        done, ends = run(project)

    assert done.code == 0, done.err
    assert kinds(ends) == [("quota", "quota"), ("ok", "")], [message(end) for end in ends]
    assert "429" in message(ends[0]) and "may not have answered" not in message(ends[0])
    assert 0 < ends[0]["retry_at"] - ends[0]["at"] <= 15_000


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("status", [401, 500])
def test_no_message_names_the_address_of_the_broker(name: str, status: int, tmp_path: Path) -> None:
    with (
        ModelServer(Rule(status=status, error="boom")) as server,
        project_for(name, tmp_path, server, fallback=False, step=", retry: none") as project,
    ):
        done, ends = run(project)
        shown = project.podium("show", project.run_id()).out

    for text in (json.dumps(ends), done.out, done.err, shown):
        assert "8081" not in text and "inference gateway" not in text
