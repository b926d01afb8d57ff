"""An agent that falls silent is ended long before its time, and what it had used is kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from podium.attempt.agent.stall import explain_rate_limit, explain_silence, with_silence_limits
from podium.core.types import Millis
from podium.ports.agent import AgentResult, AgentTrouble, ProgramSpec, Progress, Usage
from podium.ports.sandbox import EgressDecision
from podium.process.launch import Finished, Launch
from podium.process.output import CapturedOutput
from tests.attempt.agent_attempts import ask
from tests.git.kit import Project, new_project

pytestmark = pytest.mark.slow

FLOW = """
agents: {w: {type: command, command: [bash, -c, "%s"], stall: %s}}
steps: {it: {agent: w, prompt: x, no_change: pass, timeout: 60s, retry: none}}
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return new_project(tmp_path, {"a.txt": "a"})


@pytest.mark.req("R141")
@pytest.mark.parametrize(
    "script", ["sleep 50", "echo begun; sleep 50", "echo begun >&2; setsid sleep 50 & wait"]
)
def test_silence_ends_a_process_and_the_same_is_tried_again(
    project: Project, tmp_path: Path, script: str
) -> None:
    _, played = ask(project, tmp_path, FLOW % (script, "1s"))

    first = played.answers("it")[0]
    assert (first.kind, first.reason) == ("transient", "transient"), first.result
    assert re.match(r"it said nothing for \d+ s", (first.result or {})["message"])


def test_one_that_talks_may_take_longer_than_the_silence(project: Project, tmp_path: Path) -> None:
    _, played = ask(project, tmp_path, FLOW % ("for n in {1..35}; do echo $n; sleep 0.1; done", "3s"))

    assert played.ending("it").outcome == "passed"


def launch(tmp_path: Path) -> Launch:
    return Launch(argv=("true",), cwd=tmp_path, env={}, marker="podium-test")


def test_a_program_that_speaks_is_bounded_without_a_word_and_any_other_only_by_its_time(
    tmp_path: Path,
) -> None:
    speaks, mute = ProgramSpec(argv=("a",), streams_progress=True), ProgramSpec(argv=("a",))

    assert with_silence_limits(launch(tmp_path), speaks, {}).silence_s == 600
    assert with_silence_limits(launch(tmp_path), mute, {}) == launch(tmp_path)
    said = with_silence_limits(launch(tmp_path), speaks, {"stall": "30s"})
    assert (said.first_output_s, said.silence_s) == (120, 30), "to start may take longer than to go on"


def test_silence_while_a_tool_runs_counts_as_the_workers_time_and_keeps_what_was_used() -> None:
    nothing = CapturedOutput(head=b"", size=0, memory=b"")
    finished = Finished(
        exit_code=124, signal=15, timed_out=True, duration_s=9, stdout=nothing, stderr=nothing, silent_s=7
    )
    result = AgentResult(trouble="timeout", usage=Usage(input=17))

    tool = explain_silence(result, finished, Progress("run", "sleep 99"))
    model = explain_silence(result, finished, Progress("done", ""))

    assert (tool.trouble, model.trouble) == ("timeout", "transient")
    assert "sleep 99" in tool.detail
    assert tool.usage == model.usage == Usage(input=17)


@pytest.mark.parametrize(
    ("trouble", "status", "expected"),
    [
        ("timeout", 429, ("quota", 70_000)),
        ("quota", 429, ("quota", 70_000)),
        ("transient", 429, ("transient", None)),
        ("timeout", 200, ("timeout", None)),
    ],
)
def test_a_wait_after_a_rate_limit_is_one_for_the_quota(
    trouble: AgentTrouble, status: int, expected: tuple[str, int | None]
) -> None:
    call = EgressDecision("broker", True, "POST /v1/responses", status, retry_at=Millis(70_000))
    result = explain_rate_limit(AgentResult(trouble=trouble, detail="x"), call)

    assert (result.trouble, result.retry_at) == expected
    assert explain_rate_limit(AgentResult(trouble=trouble), None).trouble == trouble
