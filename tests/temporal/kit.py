"""A Temporal server, workers and a client as real processes on this machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.kit import Ended, Project, closing, new_project, until, until_exit

HEARTBEAT_S = "3"


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@dataclass(slots=True)
class Server:
    """The development server; its file outlives its process."""

    folder: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"temporal://127.0.0.1:{self.port}/default"

    def start(self) -> None:
        program = Path(sys.executable).parent / "temporal"
        options = ("--headless", "--ip", "127.0.0.1", "--log-level", "error", "--port", str(self.port))
        command = (
            str(program),
            "server",
            "start-dev",
            *options,
            "--db-filename",
            str(self.folder / "temporal.db"),
        )
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                command,
                env={"PATH": os.defpath, "HOME": str(self.folder)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        until(self.answers, "the Temporal server")

    def answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.folder / "server.log").read_text("utf-8")
        with socket.socket() as line:
            return line.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@dataclass(slots=True)
class Worker:
    name: str
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def talk(self) -> str:
        return self.folder.with_suffix(".log").read_text("utf-8", "replace")

    def until_ready(self) -> None:
        def look() -> bool:
            assert self.process.poll() is None, self.talk
            return "takes work from" in self.talk

        until(look, f"worker {self.name}")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return until_exit(self.process)

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)


@dataclass(slots=True)
class Cluster:
    server: Server
    project: Project
    workers: list[Worker] = field(default_factory=list)

    @property
    def exchange(self) -> Path:
        return self.project.folder / "exchange.git"

    def start_home(self) -> Worker:
        """The worker that does what belongs into the project's own folder, and nothing else."""
        return self.start_worker("--home", "--only", name="home", cwd=self.project.root)

    def start_worker(
        self, *options: str, name: str = "", cwd: Path | None = None, on: str = "", **env: str
    ) -> Worker:
        """A worker with a home of its own, so that it shares nothing with the client but server and exchange."""
        name = name or f"w{len(self.workers) + 1}"
        folder = self.project.folder / f"worker-{name}"
        folder.mkdir(exist_ok=True)
        home = self.project.folder / f"home-{name}"
        home.mkdir(exist_ok=True)
        own = {**self.project.environment(), "HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache"), **env}
        command = (sys.executable, "-m", "podium", "worker", "--on", on or self.server.address)
        with folder.with_suffix(".log").open("wb") as log:
            process = subprocess.Popen(
                (*command, "--name", name, "--dir", str(folder), *options),
                cwd=cwd or home,
                env=own,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        worker = Worker(name, folder, process)
        self.workers.append(worker)
        worker.until_ready()
        return worker

    def run(self, *args: str, **options: Any) -> Ended:
        return self.project.podium("run", *args, "--on", self.server.address, **options)

    def start_run(self, *args: str) -> str:
        ended = self.run(*args, "--detach")
        assert ended.code == 0, ended.err
        return ended.out.strip()

    def follow(self, run: str) -> Ended:
        """Until the run ends or waits."""
        return self.project.podium("resume", run, "--json")

    def branch(self, name: str = "main") -> list[str]:
        """The subjects of the commits on a branch of the exchange, newest first."""
        out = subprocess.run(
            ("git", "-C", str(self.exchange), "log", "--format=%s", name),
            capture_output=True,
            check=True,
            text=True,
        )
        return out.stdout.splitlines()

    def kinds(self, run: str) -> list[str]:
        return [event["type"] for event in self.project.events(run)]  # type: ignore[arg-type]  # its id


@contextmanager
def cluster(server: Server, folder: Path, files: Mapping[str, str]) -> Iterator[Cluster]:
    project = new_project(folder, files, PODIUM_HEARTBEAT=HEARTBEAT_S)
    made = Cluster(server, project)
    subprocess.run(("git", "init", "-q", "--bare", "-b", "main", str(made.exchange)), check=True)
    project.git("remote", "add", "podium", str(made.exchange))
    with closing(project):
        try:
            yield made
        finally:
            for worker in made.workers:
                worker.thaw()
                worker.kill()
