"""Waiting for something outside: files, commits, other runs, and commands that say when it is time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from podium.core.effects import Watch
from tests.attempt.runs import Bench, Played, bench
from tests.git.kit import Project, git, put


def flow(project: Project | Path, folder: Path, wait: str, rest: str = "") -> Bench:
    return bench(project, folder, f"{rest}\nsteps:\n  it: {{wait: {wait}, on: {{else: next}}}}\n")


def play_while(bench_: Bench, happens: Callable[[], object]) -> Played:
    """Plays the run; when it has begun to wait, something happens in the world."""

    async def go() -> Played:
        waiting = anyio.Event()
        found: list[Played] = []

        def before(effect: object, state: object) -> None:
            if isinstance(effect, Watch):
                waiting.set()

        bench_.before = before

        async def play() -> None:
            found.append(await bench_._play({}))

        async with anyio.create_task_group() as group:
            group.start_soon(play)
            await waiting.wait()
            await anyio.to_thread.run_sync(happens)
        return found[0]

    return anyio.run(go)


@pytest.mark.parametrize(
    ("content", "output"),
    [
        ('{"ok": [1]}', {"ok": [1]}),
        ("plain\n", "plain\n"),
        # Half a character and no number: JSON that no other file could hold is text.
        ('["\\ud83d"]', '["\\ud83d"]'),
        ("NaN", "NaN"),
    ],
)
@pytest.mark.req("R200", "C44")
def test_a_file_that_appears_is_read(project: Project, tmp_path: Path, content: str, output: object) -> None:
    bench_ = flow(project, tmp_path, "{file: drop/answer.json}")

    played = play_while(bench_, lambda: put(project.root, {"drop/answer.json": content}))

    assert played.ending("it").outcome == "passed"
    assert (played.ending("it").result or {})["output"] == output


def test_a_file_outside_the_project_is_never_looked_at(project: Project, tmp_path: Path) -> None:
    bench_ = flow(project, tmp_path, '{file: "${{ inputs.where }}"}', "inputs: {where: string}")

    played = bench_.play({"where": "../secret"})

    assert (played.ending("it").outcome, played.ending("it").reason) == ("error", "path")


def test_a_commit_with_the_words_ends_the_waiting(project: Project, tmp_path: Path) -> None:
    bench_ = flow(project, tmp_path, '{commit: "[GATE:GO]"}')

    def happens() -> None:
        project.commit({"a": "1"}, "something else")
        project.commit({"a": "2"}, "all done [GATE:GO]")

    played = play_while(bench_, happens)

    output = (played.ending("it").result or {})["output"]
    assert output == {"commit": git(project.root, "rev-parse", "main"), "message": "all done [GATE:GO]"}


def test_a_commit_from_before_the_run_does_not_count(project: Project, tmp_path: Path) -> None:
    project.commit({"a": "1"}, "old [GATE:GO]")
    bench_ = flow(project, tmp_path, '{commit: "[GATE:GO]"}')

    played = play_while(bench_, lambda: project.commit({"a": "2"}, "new [GATE:GO]"))

    assert (played.ending("it").result or {})["output"]["message"] == "new [GATE:GO]"


@pytest.mark.req("R172")
def test_a_step_of_another_run_is_asked_for_until_it_has_passed(project: Project, tmp_path: Path) -> None:
    answers = iter([False, True])
    asked: list[tuple[str, str]] = []

    def passed(workflow: str, step: str) -> bool:
        asked.append((workflow, step))
        return next(answers)

    played = flow(project, tmp_path, "{step: release/deploy}").given(passed_steps=passed).play()

    assert played.ending("it").outcome == "passed"
    assert asked == [("release", "deploy")] * 2


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ("echo ready; exit 0", "passed"),
        ("exit 3", "failed"),
    ],
)
def test_a_poll_ends_by_what_its_command_says(
    project: Project, tmp_path: Path, script: str, outcome: str
) -> None:
    played = flow(project, tmp_path, f'{{poll: [sh, -c, "{script}"], every: 1s, pending: [75]}}').play()

    assert played.ending("it").outcome == outcome


def test_a_poll_goes_on_while_its_command_says_pending(project: Project, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    script = f"test -e {mark} && exit 0; touch {mark}; exit 75"

    played = flow(project, tmp_path, f'{{poll: [sh, -c, "{script}"], every: 1s, pending: [75]}}').play()

    assert played.ending("it").outcome == "passed"


def test_a_poll_that_cannot_be_started_is_an_error(project: Project, tmp_path: Path) -> None:
    played = flow(project, tmp_path, "{poll: [no_such_program], every: 1s}").play()

    assert played.ending("it").outcome == "error"
