"""A script that starts a stray of the given kind, which writes its pid to FOLDER/stray, then stays or exits.

python stray.py KIND FOLDER (stay|exit)
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path


def main(kind: str, folder: str, then: str) -> None:
    ready, tell = os.pipe()
    if os.fork() == 0:
        os.close(ready)
        if kind == "nameless":
            nameless(folder, tell)
        KINDS[kind]()
        announce(Path(folder), tell, stop=kind == "stopped")
    os.close(tell)
    os.read(ready, 1)
    if then == "stay":
        signal.pause()


def announce(folder: Path, tell: int, *, stop: bool = False) -> None:
    draft = folder / "draft"
    draft.write_text(str(os.getpid()), "ascii")
    draft.replace(folder / "stray")
    os.write(tell, b".")
    if stop:
        os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        signal.pause()


def setsid() -> None:
    silence()
    os.setsid()


def daemon() -> None:
    silence()
    os.setsid()
    if os.fork():
        os._exit(0)


def deaf() -> None:
    silence()
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def pipe_holder() -> None:
    """Keeps the inherited stdout and stderr open."""


def own_group() -> None:
    silence()
    os.setpgid(0, 0)


def nameless(folder: str, tell: int) -> None:
    """A daemon that has cleared its environment, so that it has no marker."""
    daemon()
    os.set_inheritable(tell, True)
    os.execve(sys.executable, [sys.executable, "-I", "-S", __file__, "announce", folder, str(tell)], {})


def silence() -> None:
    """Close stdout and stderr, so that only one kind of stray holds the pipe."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)


KINDS: dict[str, Callable[[], None]] = {
    "background": silence,
    "setsid": setsid,
    "daemon": daemon,
    "deaf": deaf,
    "pipe_holder": pipe_holder,
    "own_group": own_group,
    "stopped": silence,
}

if __name__ == "__main__":
    if sys.argv[1] == "announce":
        announce(Path(sys.argv[2]), int(sys.argv[3]))
    main(*sys.argv[1:4])
