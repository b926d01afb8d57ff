"""No child outlives its step, its cancellation or its engine, however it detaches (X15)."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from podium.errors import ConfigurationError
from podium.process.launch import Launch
from podium.process.procfs import Process, listed_children, read_process, searched_children
from podium.process.run import run
from podium.process.sweep import sweep
from tests.process.kit import (
    finish,
    is_alive,
    is_gone,
    new_marker,
    python,
    stray,
    stray_in,
    until,
    until_async,
)
from tests.timing import best_of

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SIX = ["background", "setsid", "daemon", "deaf", "pipe_holder", "own_group"]
# Strays that can be found only while the engine runs, or that need more than a signal.
MORE = ["nameless", "stopped"]


@pytest.mark.req("R141", "X15")
@pytest.mark.parametrize("kind", [*SIX, *MORE])
def test_a_stray_is_killed_at_the_timeout(kind: str, tmp_path: Path) -> None:
    best_of(3, lambda chance: dead_after_its_time(kind, tmp_path / str(chance), 1.0 * chance**3), under=2.3)


def dead_after_its_time(kind: str, folder: Path, timeout_s: float) -> float:
    """How long after the timeout everything had ended; fails if the stray was not running by then."""
    folder.mkdir()
    begin = time.monotonic()

    done = finish(stray(kind, folder, then="stay", timeout_s=timeout_s, grace_s=0.3))

    seconds = time.monotonic() - begin - timeout_s
    assert (done.exit_code, done.timed_out, done.survivors) == (124, True, ())
    if not (folder / "stray").exists():
        return math.inf
    assert_is_gone(folder)
    return seconds


@pytest.mark.req("X15")
@pytest.mark.parametrize("kind", [*SIX, *MORE])
def test_a_stray_is_killed_within_two_seconds_of_a_cancel(kind: str, tmp_path: Path) -> None:
    def dead_after(chance: int) -> float:
        folder = tmp_path / str(chance)
        folder.mkdir()
        found, seconds = anyio.run(cancel_when_ready, stray(kind, folder, then="stay"), folder)
        assert is_gone(found)
        return seconds

    best_of(3, dead_after, under=2.0)


async def cancel_when_ready(start: Launch, folder: Path) -> tuple[Process, float]:
    async with anyio.create_task_group() as group:
        group.start_soon(run, start)
        found = await until_async(lambda: stray_in(folder))
        begin = time.monotonic()
        group.cancel_scope.cancel()
    return found, time.monotonic() - begin


@pytest.mark.req("X15")
@pytest.mark.parametrize("kind", [*SIX, *MORE])
def test_a_stray_does_not_outlive_a_successful_main_process(kind: str, tmp_path: Path) -> None:
    done = finish(stray(kind, tmp_path, then="exit"))

    assert (done.exit_code, done.timed_out, done.survivors) == (0, False, ())
    assert_is_gone(tmp_path)


@pytest.mark.req("X15")
@pytest.mark.parametrize("kind", SIX)
def test_a_sweep_kills_the_stray_of_a_killed_engine(kind: str, tmp_path: Path) -> None:
    marker = new_marker()
    with engine(marker, kind, tmp_path) as parent:
        found = until(lambda: stray_in(tmp_path))
        parent.kill()
        parent.wait()

        assert is_alive(found)
        assert found.pid in sweep(marker)
        assert not is_alive(found)
        assert sweep(marker) == ()


def test_a_sweep_spares_other_runs(tmp_path: Path) -> None:
    """Also a run whose marker starts with the same letters."""
    marker = new_marker()
    with engine(f"{marker}-2", "setsid", tmp_path):
        found = until(lambda: stray_in(tmp_path))

        assert sweep(marker) == ()
        assert is_alive(found)
        assert found.pid in sweep(f"{marker}-2")


@pytest.mark.parametrize("marker", ["", "short", "a/b/c/d/e", "marker with spaces"])
def test_a_sweep_with_an_invalid_marker_is_refused(marker: str) -> None:
    """An empty marker would match every process with a marker."""
    with pytest.raises(ConfigurationError, match="is not a valid marker of a run"):
        sweep(marker)


def test_a_sweep_spares_its_own_process_and_ancestors() -> None:
    """As when a step of a run resumes the same run."""
    marker = new_marker()
    code = f"from podium.process.sweep import sweep; print(sweep({marker!r}))"
    env = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PODIUM_MARKER": f"{marker}/1"}

    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True, cwd=ROOT)

    assert done.stdout.strip() == b"()"


def test_a_child_of_a_killed_nested_engine_is_found(tmp_path: Path) -> None:
    """A nested engine gives its children another marker; when it is killed, they become ours."""
    inner = f"""
import sys
sys.path[:0] = {[str(ROOT), str(ROOT / "src"), *(path for path in sys.path if path)]!r}
from pathlib import Path
from tests.process.kit import finish, stray
finish(stray("daemon", Path({str(tmp_path)!r}), then="stay"))
"""
    found, _ = anyio.run(cancel_when_ready, python(inner), tmp_path)

    assert is_gone(found)


def test_an_orphan_without_a_marker_is_killed_with_the_last_possible_launch(tmp_path: Path) -> None:
    """Rule 4 of process_tree.py: while two launches are older than it, its owner is unknown."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()

    async def main() -> tuple[Process, bool]:
        async with anyio.create_task_group() as group:
            group.start_soon(run, stray("background", one, then="stay"))
            await until_async(lambda: stray_in(one))
            await run(stray("nameless", two, then="exit"))
            found = await until_async(lambda: stray_in(two))
            survived = is_alive(found)
            group.cancel_scope.cancel()
        return found, survived

    found, survived = anyio.run(main)

    assert survived
    assert is_gone(found)


@pytest.mark.parametrize("turn", range(6))
def test_parallel_launches_kill_only_their_own_strays(turn: int, tmp_path: Path) -> None:
    """Repeated, because a dying process loses its marker first and was then not attributed to its launch."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()

    async def main() -> tuple[bool, bool]:
        async with anyio.create_task_group() as group:
            group.start_soon(run, stray("daemon", one, then="stay"))
            first = await until_async(lambda: stray_in(one))
            await run(stray("daemon", two, then="exit"))
            second = stray_in(two)
            result = is_alive(first), second is None
            group.cancel_scope.cancel()
        return result

    assert anyio.run(main) == (True, True)


def test_a_foreign_child_in_our_session_is_spared(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        finish(stray("nameless", tmp_path, then="exit"))

        assert other.poll() is None
        other.communicate(b"\n")
    assert other.returncode == 0


def test_both_methods_to_list_children_agree() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.pid in listed_children(os.getpid())
        assert child.pid in searched_children(os.getpid())
        child.communicate(b"\n")
    assert listed_children(child.pid) == ()


def assert_is_gone(folder: Path) -> None:
    pid = int((folder / "stray").read_text("ascii"))
    assert read_process(pid) is None


@contextmanager
def engine(marker: str, kind: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs this stray; everything is cleaned up afterwards."""
    env = {"PYTHONPATH": os.pathsep.join([str(ROOT), *(path for path in sys.path if path)])}
    command = [sys.executable, "-m", "tests.process.engine", marker, kind, str(folder)]
    with subprocess.Popen(command, env=env, cwd=ROOT) as parent:
        try:
            yield parent
        finally:
            parent.kill()
            parent.wait()
            for process in filter(None, [stray_in(folder)]):
                if is_alive(process):
                    os.kill(process.pid, signal.SIGKILL)
