"""Projects in temporary folders, and Podium as a process of its own in surroundings where nothing else is set.

Rule: a project that a test has made is left by `closing`, which ends what the test has started and what that has left.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import podium
from podium.core.hash_chain import Record, RunId
from podium.files.project_paths import ProjectPaths
from podium.process.procfs import Process, read_marker, read_pids, read_process, send
from podium.wiring import open_store

T = TypeVar("T")
PATIENCE_S = 120.0
"""How long a fact may take on a machine that has other things to do."""
PEOPLE = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Ann"), ("EMAIL", "ann@example.com"), ("DATE", "1700000000 +0000"))
}


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: str
    err: str

    def data(self) -> Any:
        return json.loads(self.out)


@dataclass(slots=True)
class Project:
    folder: Path
    env: dict[str, str] = field(default_factory=dict)
    """On top of what every process here gets."""
    python_path: list[str] = field(default_factory=list)
    """Where Podium looks for modules before its own."""
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def root(self) -> Path:
        return self.folder / "project"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def cache(self) -> Path:
        return self.home / ".cache"

    @property
    def tag(self) -> str:
        """With what the marker of every run of this project ends."""
        return hashlib.sha256(str(self.root).encode()).hexdigest()[:12]

    def put(self, files: Mapping[str, str]) -> None:
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, "utf-8")

    def git(self, *args: str) -> str:
        command = ("git", *args)
        # Its own PATH: some tests give Podium another git.
        env = {**self.environment(), **PEOPLE, "PATH": os.environ.get("PATH", os.defpath)}
        done = subprocess.run(command, cwd=self.root, env=env, capture_output=True, check=False)
        assert done.returncode == 0, f"{command}: {done.stderr.decode()}"
        return done.stdout.decode().removesuffix("\n")

    def commit(self, files: Mapping[str, str], message: str = "first") -> None:
        self.put(files)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "HOME": str(self.home),
            "XDG_CACHE_HOME": str(self.cache),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_DATA_HOME": str(self.home / ".local/share"),
            "XDG_STATE_HOME": str(self.home / ".local/state"),
            "GIT_CONFIG_NOSYSTEM": "1",
            # The very code that the tests import.
            "PYTHONPATH": os.pathsep.join((*self.python_path, str(Path(podium.__file__).parents[1]))),
            "PODIUM_USER": "ann",
            **self.env,
        }

    def podium(self, *args: str, timeout_s: float = PATIENCE_S) -> Ended:
        """Runs a command to its end, without a terminal."""
        command = (sys.executable, "-m", "podium", *args)
        done = subprocess.run(
            command,
            cwd=self.root,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
        return Ended(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))

    def start(self, *args: str, **options: Any) -> subprocess.Popen[bytes]:
        """Begins a command in a session of its own; it can be killed alone or with its group."""
        command = (sys.executable, "-m", "podium", *args)
        with (self.folder / "talk.log").open("ab") as talk:
            chosen: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": talk, "stderr": talk, **options}
            child = subprocess.Popen(
                command, cwd=self.root, env=self.environment(), start_new_session=True, **chosen
            )
        self.started.append(child)
        return child

    def talk(self) -> str:
        """What the processes that were started have said."""
        log = self.folder / "talk.log"
        return log.read_text("utf-8", "replace") if log.exists() else ""

    def while_running(self, child: subprocess.Popen[bytes], look: Callable[[], T | None], what: str) -> T:
        """What `look` finds while the process goes on."""

        def found() -> T | None:
            seen = look()
            assert seen or child.poll() is None, f"ended with {child.returncode} before {what}: {self.talk()}"
            return seen

        return until(found, what)

    def run_id(self) -> RunId:
        """The only run there is, as soon as there is one."""

        def look() -> RunId | None:
            with self.store() as store:
                heads = store.heads() if store is not None else ()
            ended = all(child.poll() is not None for child in self.started)
            assert heads or not ended, f"there is no run: {self.talk()}"
            return heads[0].run if heads else None

        return until(look, "a run")

    @contextmanager
    def store(self) -> Iterator[Any]:
        """The store, or None as long as there is none."""
        # Not before the file is one: a reader of an empty file would write the tables itself.
        path = self.root / ".podium/podium.db"
        if not path.exists() or path.stat().st_size == 0:
            yield None
            return
        store = open_store(ProjectPaths(self.root))
        try:
            yield store
        finally:
            store.close()

    def records(self, run: RunId) -> tuple[Record, ...]:
        with self.store() as store:
            found: tuple[Record, ...] = store.read(run)
        return found

    def events(self, run: RunId) -> list[dict[str, Any]]:
        return [
            {"type": record.type, "seq": record.seq, **json.loads(record.body)}
            for record in self.records(run)
        ]

    def until_event(self, run: RunId, kind: str, path: str | None = None, times: int = 1) -> dict[str, Any]:
        """The n-th event of a kind, once it is stored."""

        def look() -> dict[str, Any] | None:
            found = [
                event
                for event in self.events(run)
                if event["type"] == kind and path in (None, event.get("path"))
            ]
            return found[times - 1] if len(found) >= times else None

        return until(look, f"{kind} of {path}")

    def marked(self) -> list[Process]:
        """What is alive and carries the marker of a run of this project."""
        found = []
        for pid in read_pids():
            marker = read_marker(pid)
            if marker is not None and marker.split("/")[0].endswith(f"-{self.tag}"):
                process = read_process(pid)
                if process is not None and not process.is_dead:
                    found.append(process)
        return found

    def inhabitants(self) -> list[int]:
        """What else is alive and works in a folder of this project, whatever it carries."""
        found = []
        for pid in set(read_pids()) - {os.getpid()}:
            with suppress(OSError):
                if Path(f"/proc/{pid}/cwd").readlink().is_relative_to(self.folder):
                    found.append(pid)
        return found

    def leftovers(self) -> list[Path]:
        """Workspaces, and locks of git, that nobody has taken away."""
        work = self.cache / "podium/work" / self.tag
        spaces = list(work.iterdir()) if work.is_dir() else []
        locks = [
            lock
            for place in (self.root / ".git", self.root / ".podium/git")
            for lock in (place.rglob("*.lock") if place.is_dir() else ())
        ]
        return spaces + locks


def new_project(folder: Path, files: Mapping[str, str], *, git: bool = True, **env: str) -> Project:
    project = Project(folder, dict(env))
    for place in (project.root, project.home):
        place.mkdir(parents=True)
    if not git:
        project.put(files)
        return project
    project.git("init", "-q", "-b", "main")
    project.git("config", "user.name", "Ann")
    project.git("config", "user.email", "ann@example.com")
    project.commit({".gitignore": ".podium/\n", **files})
    return project


@contextmanager
def closing(project: Project) -> Iterator[Project]:
    """Ends what was started here, however the test ends."""
    try:
        yield project
    finally:
        for child in project.started:
            child.kill()
            child.wait()
        for process in project.marked():
            send(process, signal.SIGKILL)
        for pid in project.inhabitants():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def until(look: Callable[[], T | None], what: str, *, within_s: float = PATIENCE_S) -> T:
    """What `look` finds, as soon as it finds something."""
    deadline = time.monotonic() + within_s
    while not (found := look()):
        assert time.monotonic() < deadline, f"waited {within_s:.0f} s in vain for {what}"
        time.sleep(0.01)
    return found


def until_exit(child: subprocess.Popen[bytes], *, within_s: float = PATIENCE_S) -> int:
    return child.wait(timeout=within_s)


def script(text: str) -> str:
    """A YAML value for a script of several lines."""
    return json.dumps(text)


def python_command(*arguments: str) -> str:
    """The argv of this interpreter, as a YAML list."""
    return json.dumps([sys.executable, "-I", "-S", *arguments])
