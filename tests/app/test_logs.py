"""What was kept of a run's attempts: in order, by name, while it grows, and never through a link."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.adapters.stores.memory import MemoryStore
from podium.app.query.logs import LogFile, follow_logs, log_files, pieces
from podium.app.query.runs import show
from podium.core.types import Address
from podium.errors import ConfigurationError
from podium.files.project_paths import ProjectPaths
from podium.ports.store import Store
from podium.views.run.view import RunView
from tests.views.kit import Told, facade_of, keep, tell


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return tell(tmp_path)


@pytest.fixture
def store() -> Store:
    return MemoryStore()


def _log(project: Path, place: str, attempt: int, name: str, text: str) -> Path:
    path = ProjectPaths(project).run_dir("r1") / "agent_logs" / place / str(attempt) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def _silent(view: RunView) -> RunView:
    """The run, without what its steps said in the log of events."""
    return view._replace(steps=tuple(step._replace(result={}) for step in view.steps))


def test_a_command_with_little_output_is_read_from_the_events_and_with_much_from_its_file(
    store: Store, told: Told, tmp_path: Path
) -> None:
    view = show(facade_of(store, tmp_path), keep(store, told))

    (file,) = log_files(ProjectPaths(tmp_path), view, "implement#1/tests")
    assert (file.title, b"".join(pieces(file))) == (
        "implement#1/tests attempt 1: output",
        b"1 failed: greet() returned None",
    )
    spilled = ProjectPaths(tmp_path).run_dir("r1") / "outputs" / "tests.log"
    spilled.parent.mkdir(parents=True)
    spilled.write_text("very long")
    steps = tuple(step._replace(result={**step.result, "log": "outputs/tests.log"}) for step in view.steps)
    (file,) = log_files(ProjectPaths(tmp_path), view._replace(steps=steps), "implement#1/tests")
    assert b"".join(pieces(file)) == b"very long"


def test_logs_come_in_the_order_of_steps_and_attempts(store: Store, told: Told, tmp_path: Path) -> None:
    view = _silent(show(facade_of(store, tmp_path), keep(store, told)))
    _log(tmp_path, "implement", 2, "stdout", "b")
    _log(tmp_path, "implement", 1, "stdout", "a")
    _log(tmp_path, "plan", 1, "prompt", "p")
    _log(tmp_path, "implement#1+tests", 1, "stdout", "red")

    def titles(step: str | None = None, *, failed: bool = False) -> list[str]:
        return [file.title for file in log_files(ProjectPaths(tmp_path), view, step, failed=failed)]

    work = [
        "implement attempt 1: stdout",
        "implement attempt 2: stdout",
        "implement#1/tests attempt 1: stdout",
    ]
    assert titles() == ["plan attempt 1: prompt", *work]
    assert titles("implement") == work
    (first,) = (step for step in view.steps if step.path == "implement")
    inner = [first._replace(path=Address(path), attempts=1) for path in ("implement~2", "implement~2/ann")]
    view = view._replace(steps=(*view.steps, *inner))
    _log(tmp_path, "implement~2", 1, "stdout", "again")
    _log(tmp_path, "implement~2+ann", 1, "stdout", "of a member")
    later = ["implement~2 attempt 1: stdout", "implement~2/ann attempt 1: stdout"]
    assert titles("implement") == [*work, *later]
    assert titles("implement~2") == later
    assert titles("implement~1") == work
    assert titles("implement#1/tests") == work[2:]
    assert titles(failed=True) == [": reasons", *work[2:]]
    with pytest.raises(ConfigurationError, match='has no step "biuld"'):
        titles("biuld")


def test_answer_repairs_are_not_counted_as_attempts(store: Store, told: Told, tmp_path: Path) -> None:
    view = _silent(show(facade_of(store, tmp_path), keep(store, told)))
    repaired = {"implement": (2, 3)}
    steps = (step._replace(attempts=4, repaired=repaired.get(step.path, ())) for step in view.steps)
    for number in range(1, 5):
        _log(tmp_path, "implement", number, "stdout", "x")

    files = log_files(ProjectPaths(tmp_path), view._replace(steps=tuple(steps)), "implement")

    assert [file.title.removesuffix(": stdout") for file in files if file.step == "implement"] == [
        "implement attempt 1",
        "implement attempt 1, answer repair 1",
        "implement attempt 1, answer repair 2",
        "implement attempt 2",
    ]


def test_a_link_among_the_logs_is_not_followed(store: Store, told: Told, tmp_path: Path) -> None:
    view = _silent(show(facade_of(store, tmp_path), keep(store, told)))
    (tmp_path / "private").write_text("private")
    _log(tmp_path, "plan", 1, "prompt", "p").with_name("trap").symlink_to(tmp_path / "private")

    assert [file.title for file in log_files(ProjectPaths(tmp_path), view)] == ["plan attempt 1: prompt"]


def test_logs_are_followed_while_they_grow(store: Store, told: Told, tmp_path: Path) -> None:
    view = _silent(show(facade_of(store, tmp_path), keep(store, told)))
    path = _log(tmp_path, "plan", 1, "stdout", "one ")
    additions = ["two ", "three"]

    def wait() -> None:
        with path.open("a") as file:
            file.write(additions.pop(0))

    seen = follow_logs(
        lambda: log_files(ProjectPaths(tmp_path), view), is_over=lambda: not additions, wait=wait
    )

    assert b"".join(piece for _, piece in seen) == b"one two three"
    assert list(pieces(LogFile("plan", 1, tmp_path / "nothing"))) == []
