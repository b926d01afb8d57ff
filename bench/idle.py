"""What an engine or a watch costs that only waits: memory, and the share of a core."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench.engine import Cost
from bench.startup import compiled_in, new_project

WORKFLOW: Final = "podium: 1\nname: idle\nsteps:\n  hold: {wait: {timer: 10m}}\n"
EMPTY: Final = 'podium: 1\nname: empty\nsteps:\n  done: {run: ["true"]}\n'
IGNORED_FOLDERS: Final = 400
FILES_EACH: Final = 50
SECONDS: Final = 5.0
CALM_S: Final = 0.5
TICK: Final = 1 / os.sysconf("SC_CLK_TCK")


def costs() -> tuple[Cost, ...]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "project"
        folder.mkdir()
        (folder / "w.yaml").write_text(WORKFLOW, "utf-8")
        # The first one compiles what it imports, and keeps the memory that took.
        with _waiting(folder, "run") as pid:
            _come_to_rest(pid)
        with _waiting(folder, "run") as pid:
            _come_to_rest(pid)
            share, memory = _share(pid), _resident_mb(pid)
    return (
        Cost("memory of an engine that waits", memory, "MB", 60),
        Cost("its share of a core", share * 100, "%", 1),
        Cost("share of a watch by 20,000 ignored files", _watching() * 100, "%", 1),
    )


def _watching() -> float:
    with tempfile.TemporaryDirectory() as name:
        files = {"w.yaml": EMPTY, ".gitignore": ".podium/\nnode_modules/\n"}
        folder = new_project(Path(name) / "project", files)
        for number in range(IGNORED_FOLDERS):
            package = folder / f"node_modules/p{number}"
            package.mkdir(parents=True)
            for file in range(FILES_EACH):
                (package / f"{file}.js").touch()
        with _waiting(folder, "watch") as pid:
            _come_to_rest(pid)
            return _share(pid)


@contextmanager
def _waiting(folder: Path, command: str) -> Iterator[int]:
    # Next to the project, not in it: there, a compiled module would be a changed file.
    env = {**compiled_in(folder.parent / "compiled"), "HOME": str(folder.parent)}
    child = subprocess.Popen(
        (sys.executable, "-m", "podium", command, "w.yaml"),
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield child.pid
        assert child.poll() is None, f"it has ended with {child.returncode}"
    finally:
        child.kill()
        child.wait()


def _come_to_rest(pid: int) -> None:
    """Until it has used at most a tick for a while, after it has started at all."""
    last = 0.0
    while not last or _cpu_s(pid) - last > TICK:
        last = _cpu_s(pid)
        time.sleep(CALM_S)


def _share(pid: int) -> float:
    used, began = _cpu_s(pid), time.monotonic()
    time.sleep(SECONDS)
    return (_cpu_s(pid) - used) / (time.monotonic() - began)


def _cpu_s(pid: int) -> float:
    values = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(values[11]) + int(values[12])) * TICK


def _resident_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return int(fields["VmRSS"].split()[0]) / 1024
