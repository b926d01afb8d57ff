"""What only codex can fail with; what all programs fail with is in test_faults.py."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from podium.testing.models.server import ModelServer, Rule
from tests.git.kit import Project
from tests.live import kit
from tests.live.kit import CODEX, survivors
from tests.timing import best_of

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

WORK = CODEX.work
play = partial(kit.play, CODEX)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return kit.small_project(tmp_path, CODEX)


FAULTS = {
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
    "503": (Rule(status=503, error="come back"), "transient", "transient", "come back"),
    "overloaded": (Rule(stop="server_is_overloaded"), "transient", "transient", "at capacity"),
    "wrong call": (Rule(status=400, error="bad value"), "error", "error", "bad value"),
    "refusal": (Rule(stop="refusal", text="I will not"), "malformed", "contract", "said nothing"),
    "nothing": (Rule(text=""), "malformed", "contract", "said nothing"),
    "too long": (Rule(stop="max_output_tokens"), "malformed", "truncated", "max_output_tokens"),
}


@pytest.mark.req("R063", "R136")
@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_of_the_vendor_is_told_apart_in_bounded_time(name: str, tmp_path: Path) -> None:
    best_of(3, lambda chance: told_apart_after(name, tmp_path / str(chance)), under=30)


def told_apart_after(name: str, folder: Path) -> float:
    rule, kind, reason, words = FAULTS[name]
    project = kit.small_project(folder, CODEX)
    with ModelServer(rule) as server:
        live, played = play(project, folder, WORK, server, settings=", stall: 10s")

    first = played.answers("it")[0]
    assert (first.kind, first.reason) == (kind, reason), first.result
    assert words in (first.result or {})["message"]
    if kind in ("transient", "quota"):
        assert played.ending("it").outcome == "passed", "the same try goes well when the world does"
    assert survivors() == []
    return live.took[0][0]


def test_a_pause_longer_than_the_time_is_the_doing_of_the_vendor(project: Project, tmp_path: Path) -> None:
    """codex keeps whatever pause it is asked for, without a word."""
    flow = WORK.replace("timeout: 60s", "timeout: 15s")
    with ModelServer(Rule(status=429, headers={"Retry-After": "3600"})) as server:
        _, played = play(project, tmp_path, flow, server)

    first = played.answers("it")[0]
    assert (first.kind, first.reason) == ("quota", "quota")
    assert "waited to try again" in (first.result or {})["message"]
    assert survivors() == []


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
