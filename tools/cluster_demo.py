"""`make cluster-demo`: a run on two workers of a real Temporal server, one of which is killed on the way.

Everything is on this machine: the server, a git repository as exchange, two workers with homes of their own.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from podium.app.author.demo import WORKFLOW, set_up, test_command
from podium.process.procfs import descend, read_marker

HEARTBEAT_S: Final = "5"
PATIENCE_S: Final = 120.0
GIT: Final = shutil.which("git") or "git"
BIN: Final = Path(sys.executable).parent


def tell(text: str) -> None:
    print(f"\n== {text}", flush=True)


def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"waited {PATIENCE_S:.0f} s for {what}")
        time.sleep(0.05)


class Demo:
    def __init__(self, folder: Path, closing: ExitStack) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.exchange = folder / "exchange.git"
        self._closing = closing
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port: int = free.getsockname()[1]
        self.address = f"temporal://127.0.0.1:{self._port}/default"

    def env(self, home: str) -> dict[str, str]:
        place = self.folder / home
        place.mkdir(exist_ok=True)
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(place),
            "PODIUM_HEARTBEAT": HEARTBEAT_S,
            "PODIUM_USER": "you",
        }

    def begin(
        self, name: str, command: Sequence[str], *, cwd: Path, env: dict[str, str]
    ) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self._closing.callback(process.wait)
        self._closing.callback(process.kill)
        return process

    def podium(self, *args: str, shown: bool = True) -> str:
        command = (str(BIN / "podium"), *args)
        if shown:
            print(f"$ podium {' '.join(args)}", flush=True)
        out = None if shown else subprocess.PIPE
        done = subprocess.run(command, cwd=self.project, env=self.env("home-you"), stdout=out, check=False)
        return (done.stdout or b"").decode()

    def start_server(self) -> None:
        options = ("--headless", "--ip", "127.0.0.1", "--log-level", "error", "--port", str(self._port))
        command = (
            str(BIN / "temporal"),
            "server",
            "start-dev",
            *options,
            "--db-filename",
            str(self.folder / "temporal.db"),
        )
        self.begin("server", command, cwd=self.folder, env=self.env("home-server"))
        until(self._answers, "the server")

    def _answers(self) -> bool:
        with socket.socket() as line:
            return line.connect_ex(("127.0.0.1", self._port)) == 0

    def start_worker(self, name: str) -> subprocess.Popen[bytes]:
        command = (str(BIN / "podium"), "worker", "--on", self.address, "--name", name)
        worker = self.begin(name, command, cwd=self.folder, env=self.env(f"home-{name}"))
        log = self.folder / f"{name}.log"
        until(lambda: "takes work" in log.read_text("utf-8"), f"worker {name}")
        return worker

    def events(self, run: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.podium("events", run, "--json", shown=False).splitlines()]


def worker_of(run: str, workers: dict[str, subprocess.Popen[bytes]]) -> str:
    """The worker under which a process of the run works."""
    for name, worker in workers.items():
        if any((read_marker(process.pid) or "").startswith(f"{run}-") for process in descend([worker.pid])):
            return name
    return ""


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="podium-cluster-demo-"))
    with ExitStack() as closing:
        closing.callback(shutil.rmtree, folder, ignore_errors=True)
        return play(Demo(folder, closing))


def play(demo: Demo) -> int:
    demo.project.mkdir()
    set_up(demo.project)
    tell("A Temporal server keeps the run: its development server, with its data in one file")
    demo.start_server()
    print(f"   {demo.address}")
    tell("A bare git repository, the exchange, carries files between machines")
    for command in (
        ("init", "-q", "--bare", "-b", "main", str(demo.exchange)),
        ("remote", "add", "podium", str(demo.exchange)),
    ):
        subprocess.run((GIT, *command), cwd=demo.project, check=True)
    print(f"   {demo.exchange}")
    tell("Two workers, each with a home of its own, share nothing but these two")
    workers = {name: demo.start_worker(name) for name in ("north", "south")}
    demo.podium("doctor", "--on", demo.address, shown=False)
    tell("The workflow of `podium demo` is started; the command returns, and no process here drives the run")
    tests, _ = test_command()
    started = demo.podium(
        "run",
        str(WORKFLOW),
        "--on",
        demo.address,
        "--detach",
        "-i",
        f"tests={json.dumps(tests)}",
        shown=False,
    )
    run = started.strip()
    print(f"   run {run}")
    tell("One worker is killed with SIGKILL while a process of the run is at work there")
    until(lambda: worker_of(run, workers), "a process of the run")
    victim = worker_of(run, workers) or "north"
    workers[victim].send_signal(signal.SIGKILL)
    print(
        f"   {victim} is gone. It says nothing for {HEARTBEAT_S} s, so the server reports its attempt as lost, the core"
    )
    print("   books it, and the other worker performs it again")
    demo.podium("resume", run)
    tell("The run waits for a person, who answers from anywhere")
    demo.podium("approve", run)
    demo.podium("resume", run)
    return report(demo, run)


def report(demo: Demo, run: str) -> int:
    """What the log and the exchange say in the end."""
    tell("What the log says")
    events = demo.events(run)
    lost = [event for event in events if event["type"] == "AttemptLost"]
    for event in lost:
        print(f"   an attempt of {event['data']['path']} lost its worker, and was performed again")
    demo.podium("verify", run)
    landed = subprocess.run(
        (GIT, "-C", str(demo.exchange), "log", "--format=   %h %s", "main"),
        capture_output=True,
        check=True,
        text=True,
    )
    tell("The branch in the exchange: the work has landed once")
    print(landed.stdout, end="", flush=True)
    ended = events[-1]
    has_passed = ended["type"] == "RunEnded" and ended["data"]["status"] == "passed"
    is_once = len(landed.stdout.splitlines()) == 2
    tell(
        f"{'Passed' if has_passed and is_once else 'Failed'}: {len(events)} events, {len(lost)} attempt(s) lost"
    )
    return 0 if has_passed and is_once and lost else 1


if __name__ == "__main__":
    sys.exit(main())
