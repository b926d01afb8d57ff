"""The files of a run that is resumed: what the last owner wrote is used again, and only if it is exactly that.

Whatever happened to them, they are in the end what `podium show --rebuild` makes from the log alone.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project, until

pytestmark = pytest.mark.slow

FLOW = """\
podium: 1
name: rounds
vars: {n: 0}
steps:
  count: {repeat: {max: 40, until: "vars.n >= 40"}, set: {n: "${{ vars.n + 1 }}"}}
  say: {run: [sh, -c, "echo 12345; echo odd >&2"]}
  first: {human: "First?"}
  wait: {run: [sh, -c, "touch $PODIUM_PROJECT_DIR/started; test -e $PODIUM_PROJECT_DIR/go || sleep 60"]}
  last: {human: "Last?"}
"""
TAKEN_OVER = ("log.jsonl", "state_log.jsonl", "audit.log", "run.json", "state.json")
MARKER = "written.json"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    flow = FLOW.replace("$PODIUM_PROJECT_DIR", str(tmp_path / "place"))
    with closing(new_project(tmp_path / "place", {"rounds.yaml": flow})) as made:
        yield made


def parked(project: Project) -> str:
    done = project.podium("run", "rounds.yaml", "--sandbox", "none", "--yes", "--json")
    assert done.code == 6, done.err
    return str(done.data()["run"])


def folder_of(project: Project, run: str) -> Path:
    return project.root / ".podium" / "runs" / run


def texts(project: Project, run: str) -> dict[str, str]:
    return {name: (folder_of(project, run) / name).read_text() for name in TAKEN_OVER}


def rebuilt(project: Project, run: str) -> dict[str, str]:
    """The same from the log, and of `run.json` those parts that only the owner of a run knows, such as its limits."""
    for name in (*TAKEN_OVER, MARKER):
        if name != "run.json":
            (folder_of(project, run) / name).unlink()
    done = project.podium("show", run, "--rebuild")
    assert done.code in (0, 6), done.err
    return texts(project, run)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def change(path: Path) -> None:
    data = path.read_bytes()
    assert data.count(b"12345") or data.count(b"count[7]") or data.count(b"count")
    path.write_bytes(data.replace(b"12345", b"54321").replace(b"count", b"c0unt"))


def other_version(path: Path) -> None:
    marker = json.loads((path.parent / MARKER).read_text())
    assert marker["podium"]
    (path.parent / MARKER).write_text(json.dumps({**marker, "podium": "0.0.1"}))
    change(path)


def marker_of_another_time(path: Path) -> None:
    marker = json.loads((path.parent / MARKER).read_text())
    (path.parent / MARKER).write_text(json.dumps({**marker, "seq": marker["seq"] - 2}))


@pytest.mark.parametrize("name", ["run.json", "state.json", "log.jsonl"])
@pytest.mark.parametrize("harm", [cut, change, Path.unlink, other_version, marker_of_another_time])
def test_a_resumed_run_repairs_files_that_are_not_as_they_were_left(
    project: Project, name: str, harm: Callable[[Path], None]
) -> None:
    run = parked(project)
    harm(folder_of(project, run) / name)

    done = project.podium("resume", run)

    assert done.code == 6, done.err
    files = texts(project, run)
    assert '"54321' not in files["state.json"]
    assert files == rebuilt(project, run)


def test_a_project_that_moved_names_its_files_by_their_new_place(project: Project, tmp_path: Path) -> None:
    run = parked(project)
    shutil.move(project.folder, tmp_path / "moved")
    moved = Project(tmp_path / "moved", project.env, project.python_path)
    with closing(moved):
        done = moved.podium("resume", run)

        assert done.code == 6, done.err
        files = texts(moved, run)
        assert str(moved.root) in files["state.json"]
        assert str(project.root) not in files["state.json"]
        assert files == rebuilt(moved, run)


def test_files_of_a_run_that_was_killed_are_completed(project: Project) -> None:
    """`kill -9` in a step, after the run was resumed once: the owner could not note what it wrote last."""
    run = parked(project)
    assert project.podium("resume", run).code == 6
    owner = project.start("approve", run, "first")
    until((project.folder / "started").exists, "the step that waits")
    owner.kill()
    owner.wait()
    (project.folder / "go").touch()

    done = project.podium("resume", run)

    assert done.code == 6, done.err
    files = texts(project, run)
    assert json.loads(files["state.json"])["current_step"] == "last"
    assert files == rebuilt(project, run)


def test_a_log_that_was_changed_by_hand_is_not_resumed_from_what_was_written(project: Project) -> None:
    run = parked(project)
    with sqlite3.connect(project.root / ".podium" / "podium.db") as database:
        changed = database.execute(
            "update event set body = replace(body, '12345', '54321') where body like '%12345%'"
        )
        assert changed.rowcount
    before = texts(project, run)

    done = project.podium("resume", run)

    assert done.code != 6
    assert "cannot be trusted" in done.err
    assert "has been altered" in done.err
    assert texts(project, run) == before
