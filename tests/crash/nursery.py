"""Brings `podium` commands to life by forking a process that has imported everything: a fresh one in milliseconds.

`python -m tests.crash.nursery` reads one request per line and answers with the pid, later with the exit code.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from podium.frontends.cli.main import COMMANDS, module_of, run_command
from tests.crash import trap
from tests.crash.stories import orders_of
from tests.e2e.kit import PATIENCE_S, Ended, Project

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Nursery:
    process: subprocess.Popen[bytes]

    def podium(self, project: Project, *args: str, at: str | int | None = None, story: str = "") -> Ended:
        """A command to its end, or to the point at which it ends itself."""
        return self.wait(project, self.begin(project, *args, at=at, story=story))

    def begin(self, project: Project, *args: str, at: str | int | None = None, story: str = "") -> int:
        request = {
            "args": args,
            "folder": str(project.folder),
            "env": project.environment(),
            "at": at,
            "story": story,
        }
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        return self._heard()

    def has_ended(self, *, within_s: float) -> bool:
        assert self.process.stdout is not None
        return bool(select.select([self.process.stdout], [], [], within_s)[0])

    def wait(self, project: Project, pid: int) -> Ended:
        in_time = self.has_ended(within_s=PATIENCE_S)
        if not in_time:
            # Its end has to be heard in any case, or it would be taken for the answer to the next request.
            os.killpg(pid, signal.SIGKILL)
        code = self._heard()
        assert in_time, f"it did not end within {PATIENCE_S:.0f} s"
        return Ended(code, _said(project.folder / "out"), _said(project.folder / "err"))

    def _heard(self) -> int:
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())


def _said(file: Path) -> str:
    """Nothing of one that was killed before it could say anything."""
    return file.read_text("utf-8", "replace") if file.exists() else ""


@contextmanager
def nursery() -> Iterator[Nursery]:
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    process = subprocess.Popen(
        (sys.executable, "-m", "tests.crash.nursery"),
        cwd=ROOT,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    )
    try:
        yield Nursery(process)
    finally:
        process.kill()
        process.communicate()


def serve() -> None:
    for name in COMMANDS:
        import_module(module_of(name))
    for module, *_ in trap.PLACES.values():
        import_module(module)
    import_module("podium.attempt.agent.run")
    last = 0
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if last:
            # Only now: as long as it was not collected its number was its own, and a kill that came a moment too late
            # hit nobody else.
            os.waitpid(last, 0)
        last = os.fork()
        if last == 0:
            _live(request)
        _say(last)
        _say(_code(last))


def _code(pid: int) -> int:
    """Its exit code once it has ended, negative for a signal."""
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert ended is not None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def _say(number: int) -> None:
    os.write(1, f"{number}\n".encode())


def _live(request: dict[str, Any]) -> NoReturn:
    folder = Path(request["folder"])
    os.setsid()
    for number, place in enumerate((Path(os.devnull), folder / "out", folder / "err")):
        handle = os.open(place, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(handle, number)
        os.close(handle)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(folder / "project")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    trap.install(trap.Trap(folder / "points", request["at"], orders_of(request["story"], folder)))
    sys.argv = ["podium", *request["args"]]
    code = 70
    try:
        run_command()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 (a fork must never return into the loop of its parent)
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    serve()
