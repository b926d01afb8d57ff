"""Plants what must not be reached, tries every probe outside and inside the sandbox, and prints the results as JSON.

Started as a process of its own, by root or by an ordinary user: `python driver.py LEVEL [IMAGE]`.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import termios
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import anyio

from podium.adapters.sandboxes.select import sandbox_of_level
from podium.git.workdir.folder import give_ownership
from podium.ports.sandbox import Mount, Sandbox, SandboxPolicy
from podium.process.launch import Launch
from tests.security.containers import python_mounts
from tests.security.escape.probes import PROBES

RUNNER = Path(__file__).with_name("runner.py")
TOKEN = os.environ.get("PROBE_TOKEN", "")
libc = ctypes.CDLL(None, use_errno=True)


def plant(base: Path, held: ExitStack) -> dict[str, Any]:
    """All of it belongs to the user that runs this, so that only the sandbox keeps a process from it."""
    project, home = base / "project", base / "home"
    files = {
        home / "secret": TOKEN,
        base / "other/file": TOKEN,
        project / ".podium/podium.db": TOKEN,
        project / ".git/config": TOKEN,
        project / ".git/hooks/sample": "",
        project / ".env": TOKEN,
        base / f"{TOKEN}.open": TOKEN,
        Path("/dev/shm") / TOKEN: TOKEN,
    }
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    held.callback((Path("/dev/shm") / TOKEN).unlink)
    abstract, named, tcp = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX), socket.socket()
    abstract.bind("\0" + TOKEN)
    named.bind(str(home / "s"))
    tcp.bind(("127.0.0.1", 0))
    for listener in (abstract, named, tcp):
        listener.listen()
        held.callback(listener.close)
    sleeper = subprocess.Popen((sys.executable, "-Sc", "input()", TOKEN), stdin=subprocess.PIPE)
    held.callback(sleeper.wait)
    held.callback(sleeper.kill)
    key = secrets.randbelow(1 << 30) + 1
    segment = libc.shmget(key, 4096, 0o1666)
    held.callback(libc.shmctl, segment, 0, None)
    libc.syscall(248, b"user", TOKEN.encode(), b"secret", 6, -3)
    return {
        "cwd": str(project),
        "secret": str(home / "secret"),
        "home": str(home),
        "other": str(base / "other"),
        "project": str(project),
        "database": str(project / ".podium/podium.db"),
        "git": str(project / ".git"),
        "shm": TOKEN,
        "shmkey": key,
        "token": TOKEN,
        "socket": str(home / "s"),
        "port": tcp.getsockname()[1],
        "sleeper": sleeper.pid,
        "driver": os.getpid(),
    }


def outside(asked: dict[str, Any], base: Path) -> dict[str, str]:
    leaked = os.open(base / f"{TOKEN}.open", os.O_RDONLY)
    argv = (sys.executable, "-I", str(RUNNER))
    done = subprocess.run(
        argv, input=json.dumps(asked).encode(), stdout=subprocess.PIPE, pass_fds=[leaked], check=True
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def within(sandbox: Sandbox, asked: dict[str, Any], base: Path) -> dict[str, str]:
    workspace, home, project = base / "workspace", base / "attempt-home", base / "project"
    for folder in (workspace, home):
        folder.mkdir()
        give_ownership(folder, sandbox.owner)
    leaked = os.open(base / f"{TOKEN}.open", os.O_RDONLY)
    os.set_inheritable(leaked, True)
    launch = Launch(
        argv=(sys.executable, "-I", str(RUNNER)),
        cwd=project,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home)},
        marker=f"podium-escape-{secrets.token_hex(4)}",
        stdin=json.dumps(asked).encode(),
        timeout_s=240,
    )
    mounts: tuple[Mount, ...] = (Mount(workspace, project, writable=True), Mount(RUNNER, RUNNER))
    if sandbox.level == "container":
        mounts = (*mounts, *python_mounts())
    done = anyio.run(sandbox.run, launch, SandboxPolicy(writable=(home,), mounts=mounts))
    if done.exit_code:
        sys.exit(f"the probes could not be run: {done.not_started or done.stderr.text()}")
    found: dict[str, str] = json.loads(done.stdout.text())
    return found


def take_a_terminal() -> None:
    """So that there is one to be taken over."""
    _, terminal = os.openpty()
    with suppress(OSError):
        os.setsid()
    with suppress(OSError):
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


def main() -> None:
    take_a_terminal()
    asked = {"probes": {probe.name: probe.code for probe in PROBES}}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, ExitStack() as held:
        base = Path(name)
        asked["told"] = plant(base, held)
        found = {
            "within": within(sandbox_of_level(*sys.argv[1:]), asked, base),
            "outside": outside(asked, base),
        }
    found["uid"] = os.getuid()  # type: ignore[assignment]  # told with the rest
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
