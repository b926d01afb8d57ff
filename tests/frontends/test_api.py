"""Podium as a Python program uses it: the real engine, scripted agents, answers and events through the functions."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

import podium
from podium.core.events import ApprovalAsked, AttemptEnded, AttemptStarted, Event, RunEnded, RunStarted
from tests.engine.kit import Project, git

CAST = """\
- {match: {step: write, visit: 1}, text: Draft., write: {notes.md: "draft\\n"}}
- {match: {step: write}, text: Better., write: {notes.md: "better\\n"}}
"""
FLOW: dict[str, Any] = {
    "name": "notes",
    "inputs": {"topic": "string"},
    "agents": {"writer": {"type": "scripted", "script": "cast.yaml"}},
    "steps": {
        "write": {
            "agent": "writer",
            "prompt": "Write about {{ inputs.topic }}.\n{{ feedback }}",
            "touches": ["notes.md"],
            "gates": [{"name": "there", "run": ["test", "-s", "notes.md"]}],
        },
        "approve": {"human": "Land this?", "on": {"rejected": "write"}},
        "land": {"git": {"land": "${{ run.branch }}", "message": "Add notes"}},
    },
    "outputs": {"said": "${{ steps.write.text }}"},
}
SHORT: dict[str, Any] = {"name": "short", "steps": {"only": {"run": ["true"]}}}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    project = Project(tmp_path / "project")
    project.write("cast.yaml", CAST)
    project.commit()
    return project.root


def started(root: Path) -> podium.RunView:
    return podium.run(FLOW, {"topic": "rain"}, project=root, sandbox="none")


def test_a_workflow_built_in_code_runs_asks_and_lands(root: Path) -> None:
    asked = started(root)
    assert (asked.status, [(each.path, each.question) for each in asked.pending]) == (
        "parked",
        [("approve", "Land this?")],
    )

    again = podium.reject(asked.run, feedback="Too short.", by="ana", project=root)
    assert [step.path for step in again.steps if "~2" in step.path and "#" not in step.path] == [
        "write~2",
        "approve~2",
    ]

    done = podium.approve(asked.run, "approve", by="ana", project=root)
    assert (done.status, dict(done.outputs)) == ("passed", {"said": "Better."})
    assert git(root, "show", "HEAD:notes.md") == "better"


def test_events_are_iterated_while_the_run_goes_on_and_an_answer_comes_from_beside(root: Path) -> None:
    """R144 and the issue of the API: one loop carries the run, follows it, and answers."""
    seen: list[Event] = []

    async def follow(run: str) -> None:
        async for event in podium.events_async(run, project=root):
            seen.append(event)
            if isinstance(event, ApprovalAsked):
                await podium.approve_async(run, by="bo", project=root)

    async def main() -> str:
        run = await podium.start_async(FLOW, {"topic": "rain"}, project=root, sandbox="none")
        async with anyio.create_task_group() as group:
            group.start_soon(follow, run)
            done = await podium.resume_async(run, project=root, parks=False)
        assert done.status == "passed"
        return run

    run = anyio.run(main)

    assert (type(seen[0]), type(seen[-1])) == (RunStarted, RunEnded)
    assert seen == list(podium.events(run, project=root))


def test_every_event_is_told_once_also_when_the_run_is_carried_on_later(root: Path) -> None:
    seen: list[Event] = []
    run = podium.start(SHORT, project=root, sandbox="none")
    assert seen == []
    done = podium.resume(run, project=root, on_event=seen.append)

    assert done.status == "passed"
    assert seen == list(podium.events(run, project=root))
    assert [type(event) for event in podium.events(run, project=root, after=len(seen) - 1)] == [RunEnded]
    assert list(podium.events(run, project=root, following=True)) == seen


def test_a_file_is_loaded_once_and_run_with_its_inputs(root: Path) -> None:
    (root / "flow.yaml").write_text(
        "podium: 1\nname: flow\ninputs: {word: string}\nsteps:\n  say: {run: [echo, '${{ inputs.word }}']}\n"
    )
    flow = podium.load(root / "flow.yaml", project=root)
    assert (flow.name, [known.name for known in flow.graph.inputs]) == ("flow", ["word"])

    done = podium.run(flow, {"word": "hello"}, sandbox="none", check=True)

    assert podium.show(done.run, project=root) == done
    said = [event.result for event in podium.events(project=root) if isinstance(event, AttemptEnded)]
    assert [result and result["text"] for result in said] == ["hello\n"]


def test_a_value_answers_a_question_that_wants_one(root: Path) -> None:
    ask = {"human": "How many?", "output": {"schema": {"count": "int"}}}
    asked = podium.run({"name": "ask", "steps": {"ask": ask}}, project=root, sandbox="none")
    done = podium.answer({"count": 3}, asked.run, project=root)
    assert done.status == "passed"
    assert done.steps[0].result["output"] == {"count": 3}


def test_mistakes_are_raised_with_their_place_before_anything_starts(root: Path) -> None:
    """R139, R144: a file of a built workflow is there to be looked at."""
    with pytest.raises(podium.ConfigurationError, match=r"built/wrong-\w+\.yaml:\d+:\d+: .*rum"):
        podium.run({"name": "wrong", "steps": {"a": {"rum": "make"}}}, project=root)
    with pytest.raises(podium.ConfigurationError, match="is not waiting"):
        podium.approve(podium.run(SHORT, project=root, sandbox="none").run, project=root)


def test_a_run_that_must_pass_raises_with_its_status_and_exit_code(root: Path) -> None:
    """R144."""
    wrong = {"name": "wrong", "steps": {"a": {"run": ["false"]}}}
    assert podium.run(wrong, project=root, sandbox="none").status == "failed"
    with pytest.raises(podium.RunFailed, match="has failed") as failed:
        podium.run(wrong, project=root, sandbox="none", check=True)
    assert (failed.value.status, failed.value.exit_code, failed.value.run[:2]) == ("failed", 1, "20")
    assert isinstance(failed.value, podium.PodiumError)


def test_a_call_that_would_stop_a_running_loop_is_refused(root: Path) -> None:
    async def main() -> None:
        podium.run(SHORT, project=root)

    with pytest.raises(podium.ConfigurationError) as refused:
        anyio.run(main)
    assert refused.value.hint == "await podium.run_async(...) instead"


def test_a_cancelled_caller_leaves_a_run_that_goes_on_later(root: Path, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    slow = {"name": "slow", "steps": {"wait": {"run": ["sh", "-c", f"test -e {ready} || sleep 60"]}}}

    async def main() -> None:
        with anyio.CancelScope() as scope:

            def on_event(event: Event) -> None:
                if isinstance(event, AttemptStarted):
                    scope.cancel()

            await podium.run_async(slow, project=root, sandbox="none", on_event=on_event)

    anyio.run(main)
    assert podium.show(project=root).status == "interrupted"
    ready.touch()
    assert podium.resume(project=root).status == "passed"


def test_everything_that_is_named_is_there_and_costs_nothing_until_it_is_used() -> None:
    assert all(getattr(podium, name) is not None for name in podium.__all__)
    assert set(podium.__all__) <= set(dir(podium))
    with pytest.raises(AttributeError, match="no attribute 'walk'"):
        _ = podium.walk
    script = "import sys, podium; print([m for m in sys.modules if m.startswith('podium.') or m == 'anyio'])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_callers_in_a_thread_of_an_async_program_are_served(root: Path) -> None:
    call = partial(podium.run, SHORT, project=root, sandbox="none")
    assert anyio.run(anyio.to_thread.run_sync, call).status == "passed"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (float("nan"), "inputs.a is nan, which is not a number in JSON"),
        ({"b": [float("inf")]}, "inputs.a.b[0] is inf"),
        ({1, 2}, "inputs.a is a set, which JSON cannot hold"),
        ("\ud800", "inputs.a has half of a character at position 0"),
        ({(1, 2): 3}, "a key of inputs.a is a tuple"),
    ],
)
def test_values_that_no_file_could_hold_are_refused_with_their_place(
    root: Path, wrong: Any, told: str
) -> None:
    flow = {**SHORT, "inputs": {"a": "list"}}

    with pytest.raises(podium.ConfigurationError, match=re.escape(told)):
        podium.run(flow, {"a": wrong}, project=root)
    with pytest.raises(
        podium.ConfigurationError, match=re.escape(told.replace("inputs.a", "the workflow.vars.a"))
    ):
        podium.load({**SHORT, "vars": {"a": wrong}}, project=root)
    assert podium.run(flow, {"a": (1, {"b": None})}, project=root).status == "passed"


def test_a_value_that_contains_itself_is_refused(root: Path) -> None:
    endless: list[Any] = []
    endless.append(endless)

    with pytest.raises(podium.ConfigurationError, match="nested deeper than 200 levels"):
        podium.start(SHORT, {"a": endless}, project=root)
