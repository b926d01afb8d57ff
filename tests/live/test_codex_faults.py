"""Every way in which the real codex fails: each told apart, in bounded time, with no process left behind."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from podium.process.procfs import read_marker, read_pids
from podium.testing.models import ModelServer, Rule
from tests.git.kit import Project
from tests.live.codex_kit import MARKER, WORK, play, small_project

pytestmark = pytest.mark.live


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return small_project(tmp_path)


FAULTS = {
    "401": (Rule(status=401, error="Incorrect API key"), "unavailable", "auth", "Incorrect API key"),
    "429": (Rule(status=429), "quota", "quota", "429"),
    "429, Retry-After": (Rule(status=429, headers={"Retry-After": "1"}), "quota", "quota", "429"),
    "429, reset": (
        Rule(
            status=429, headers={"x-ratelimit-reset-requests": "30s", "x-ratelimit-remaining-requests": "0"}
        ),
        "quota",
        "quota",
        "429",
    ),
    "no credit": (Rule(status=429, stop="insufficient_quota"), "quota", "quota", "Quota exceeded"),
    "limited in the stream": (
        Rule(stop="rate_limit_exceeded", error="Rate limit reached. Please try again in 1.5s."),
        "quota",
        "quota",
        "try again in 1.5s",
    ),
    "500": (Rule(status=500), "transient", "transient", "high demand"),
    "503": (Rule(status=503, error="come back"), "transient", "transient", "come back"),
    "overloaded": (Rule(stop="server_is_overloaded"), "transient", "transient", "at capacity"),
    "stall": (Rule(fault="stall"), "transient", "transient", "idle timeout"),
    "cut": (Rule(fault="cut"), "transient", "transient", "stream disconnected"),
    "garbled": (Rule(fault="garbled"), "transient", "transient", "stream disconnected"),
    "wrong model": (
        Rule(status=404, error="The model `x` does not exist"),
        "error",
        "error",
        "does not exist",
    ),
    "wrong call": (Rule(status=400, error="bad value"), "error", "error", "bad value"),
    "filtered": (Rule(stop="content_filter"), "failed", "refused", "content_filter"),
    "refusal": (Rule(stop="refusal", text="I will not"), "malformed", "contract", "said nothing"),
    "nothing": (Rule(text=""), "malformed", "contract", "said nothing"),
    "too long": (Rule(stop="max_output_tokens"), "malformed", "contract", "max_output_tokens"),
}


@pytest.mark.req("R063", "R136")
@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_of_the_vendor_is_told_apart_in_bounded_time(
    name: str, project: Project, tmp_path: Path
) -> None:
    rule, kind, reason, words = FAULTS[name]
    with ModelServer(rule) as server:
        live, played = play(project, tmp_path, WORK, server, settings=", stall: 1s")

    first = played.answers("it")[0]
    took, calls = live.took[0]
    # A row of the table; pytest -s shows it.
    print(f"| {name} | {first.kind} {first.reason} | {calls} calls | {took:.1f} s |")  # noqa: T201 (the table is for people)
    assert (first.kind, first.reason) == (kind, reason), first.result
    assert words in (first.result or {})["message"]
    assert took < 30
    if kind in ("transient", "quota"):
        assert played.ending("it").outcome == "passed", "the same try goes well when the world does"
    assert survivors() == []


@pytest.mark.req("R136")
def test_a_usage_limit_tells_when_it_ends(project: Project, tmp_path: Path) -> None:
    opens = int(time.time()) + 5000
    told = {"type": "usage_limit_reached", "message": "x", "plan_type": "pro", "resets_at": opens}
    with ModelServer(Rule(status=429, error=json.dumps({"error": told}))) as server:
        _, played = play(project, tmp_path, WORK, server)

    first = played.answers("it")[0]
    assert first.kind == "quota" and first.retry_at is not None
    assert 0 <= first.retry_at / 1000 - opens <= 60


def test_a_pause_longer_than_the_time_is_the_doing_of_the_vendor(project: Project, tmp_path: Path) -> None:
    """codex keeps whatever pause it is asked for, without a word."""
    flow = WORK.replace("timeout: 60s", "timeout: 4s")
    with ModelServer(Rule(status=429, headers={"Retry-After": "3600"})) as server:
        _, played = play(project, tmp_path, flow, server)

    first = played.answers("it")[0]
    assert (first.kind, first.reason) == ("quota", "quota")
    assert "waited to try again" in (first.result or {})["message"]
    assert survivors() == []


def test_a_refused_connection_is_given_up(project: Project, tmp_path: Path) -> None:
    flow = WORK.replace("timeout: 60s", "timeout: 60s, retry: none")
    with ModelServer() as server:
        # Nothing listens on port 9 of this machine.
        _, played = play(project, tmp_path, flow, server, base_url="http://127.0.0.1:9/v1")

    first = played.answers("it")[0]
    assert (first.kind, first.reason) == ("transient", "transient")
    assert "Connection failed" in (first.result or {})["message"]


def test_a_missing_key_is_named(project: Project, tmp_path: Path) -> None:
    with ModelServer(Rule()) as server:
        _, played = play(project, tmp_path, WORK, server, settings=", key: OTHER_KEY")

    first = played.answers("it")[0]
    assert (first.kind, first.reason) == ("unavailable", "auth")
    assert "OTHER_KEY is not set" in (first.result or {})["message"]
    assert server.requests == []


@pytest.mark.req("R141")
@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(Rule(fault="hang"), id="while it waits for the model"),
        pytest.param(Rule(tools=[("exec_command", {"cmd": "sleep 1000"})]), id="while a tool runs"),
    ],
)
def test_nothing_survives_the_end_of_its_time(project: Project, tmp_path: Path, rule: Rule) -> None:
    flow = WORK.replace("timeout: 60s", "timeout: 3s, retry: none")
    with ModelServer(rule) as server:
        _, played = play(project, tmp_path, flow, server)

    assert played.answers("it")[0].kind == "timeout"
    assert survivors() == []


def survivors() -> list[int]:
    return [pid for pid in read_pids() if (read_marker(pid) or "").startswith(MARKER)]
