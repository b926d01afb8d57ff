"""One attempt as a value: whatever stops it has a kind and a reason, and a cancelled one leaves nothing behind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from podium.core.effects import RunAttempt
from podium.core.events import AttemptStarted
from podium.core.payloads import Amounts
from podium.core.state import State
from podium.core.types import Millis, Tree
from podium.redaction.mask import Mask
from tests.attempt.runs import Bench, bench, perform_attempt
from tests.git.kit import Project
from tests.process.kit import until_async


def asked_of(bench_: Bench, inputs: dict[str, Any] | None = None) -> tuple[AttemptStarted, State]:
    """The first attempt that a run asks for, and the state it asked in."""
    found: list[tuple[AttemptStarted, State]] = []

    def before(effect: object, state: State) -> None:
        if isinstance(effect, RunAttempt):
            found.append((effect.started, state))

    bench_.before = before
    bench_.play(inputs)
    return found[0]


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ('{run: [cat, "${{ steps.first.output.nothing }}"]}', "expression"),
        ('{run: [ls], dir: "${{ inputs.where }}"}', "path"),
        ("{run: [ls], dir: no/such/folder}", "configuration"),
        ("{run: [cat], stdin: no_such_file}", "configuration"),
        ('{run: [cat], stdin: "${{ inputs.where }}/x"}', "path"),
        ('{run: [ls], junit: "${{ inputs.where }}/x"}', "path"),
        ("{run: [ls], sandbox: {memory: much}}", "configuration"),
        ("{run: [no_such_program]}", "not_started"),
    ],
)
def test_what_cannot_be_carried_out_is_an_error_with_its_reason(
    project: Project, tmp_path: Path, step: str, reason: str
) -> None:
    text = f"""
inputs: {{where: string}}
steps:
  first: {{run: [printf, "{{}}"], output: json}}
  it: {step}
"""
    played = bench(project, tmp_path, text).play({"where": "../.."})

    answer = played.answer("it")
    assert (answer.kind, answer.reason) == ("error", reason)
    assert (answer.result or {})["message"]
    assert answer.used == Amounts()


def test_a_path_violation_ends_with_exit_3_and_the_message_names_the_path(
    project: Project, tmp_path: Path
) -> None:
    text = 'inputs: {where: string}\nsteps:\n  it: {run: [ls], dir: "${{ inputs.where }}"}'

    played = bench(project, tmp_path, text).play({"where": "/etc"})

    assert played.state.ended is not None
    assert played.state.ended.exit == 3
    assert "/etc" in played.result("it")["message"]


def test_a_secret_in_a_message_is_masked(project: Project, tmp_path: Path) -> None:
    text = "steps:\n  it: {run: [ls], dir: folder-s3cret-of-mine}\n"

    played = bench(project, tmp_path, text, mask=Mask({"TOKEN": "s3cret-of-mine"})).play()

    assert "s3cret" not in str(played.result("it"))


def test_a_secret_in_an_argument_is_refused(project: Project, tmp_path: Path) -> None:
    """Every user of the machine can read the list of processes."""
    text = 'inputs: {x: string}\nsteps:\n  it: {run: [echo, "${{ inputs.x }}"]}\n'

    played = bench(project, tmp_path, text, mask=Mask({"TOKEN": "s3cret-of-mine"})).play(
        {"x": "s3cret-of-mine"}
    )

    assert (played.answer("it").kind, played.answer("it").reason) == ("error", "configuration")


def test_a_cancelled_attempt_ends_its_process_and_removes_its_home(project: Project, tmp_path: Path) -> None:
    mark = tmp_path / "started"
    text = f'steps:\n  it: {{run: [sh, -c, "touch $HOME/left {mark}; test -e {tmp_path}/quick || exec sleep 600"]}}\n'
    bench_ = bench(project, tmp_path, text)
    (tmp_path / "quick").touch()
    asked, state = asked_of(bench_)
    (tmp_path / "quick").unlink()
    mark.unlink()

    async def go() -> bool:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(perform_attempt, asked, state, bench_.host)
                await until_async(mark.exists)
                scope.cancel()
        return scope.cancelled_caught

    assert anyio.run(go)
    assert [path.name[0] for path in (tmp_path / "work").iterdir()] == ["c"]


def test_the_time_of_an_attempt_comes_from_the_host(project: Project, tmp_path: Path) -> None:
    played = bench(project, tmp_path, "steps:\n  it: {run: [ls]}\n", now=lambda: Millis(7)).play()

    assert played.answer("it").at == 7


def test_what_the_system_refuses_is_an_error_that_says_so(project: Project, tmp_path: Path) -> None:
    (tmp_path / "in_the_way").write_text("a file where a folder is needed")

    played = (
        bench(project, tmp_path, "steps:\n  it: {run: [ls]}\n").given(work_dir=tmp_path / "in_the_way").play()
    )

    assert (played.answer("it").kind, played.answer("it").reason) == ("error", "system")


def test_a_git_that_fails_is_an_error_with_its_words(project: Project, tmp_path: Path) -> None:
    """The objects of the tree are gone: nobody's work, and nothing a retry would mend."""
    bench_ = bench(project, tmp_path, "steps:\n  it: {run: [ls]}\n")
    asked, state = asked_of(bench_)
    lost = replace(asked, start=Tree("0" * 39 + "1"))

    ended = anyio.run(perform_attempt, lost, state, bench_.host)

    assert (ended.kind, ended.reason) == ("error", "git")
