"""Ends a `podium` process at a named point: right before or right after an append or an effect.

Installed by the nursery in a process it has just forked, around functions that are loaded already; production code knows
nothing of it. Every point that is passed is written down, so that one undisturbed run tells all points there are.
"""

from __future__ import annotations

import inspect
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any, Final

Name = Callable[[tuple[Any, ...], dict[str, Any]], str]


def _plain(args: tuple[Any, ...], _: dict[str, Any]) -> str:
    return ""


def _launched(args: tuple[Any, ...], _: dict[str, Any]) -> str:
    """Of git which command, of others which program."""
    words = list(args[1].argv)
    program = Path(words[0]).name
    if program != "git":
        return program
    settings = words.count("-c")
    return f"git {words[1 + 2 * settings]}"


def _ended(args: tuple[Any, ...], _: dict[str, Any]) -> str:
    return Path(str(args[0]._popen.args[0])).name


def _events(args: tuple[Any, ...], _: dict[str, Any]) -> str:
    return str(args[2][-1][0])


def _attempt(args: tuple[Any, ...], _: dict[str, Any]) -> str:
    started = args[0].started
    return attempt_name(args[1].run, started.path, started.attempt)


def attempt_name(run: str, path: str, attempt: int) -> str:
    """Names of runs are different each time; the number in a series is the same."""
    number = run.split("-")[3:]
    return f"{path}#{attempt}" + "".join(f"@{part}" for part in number)


def _effect(args: tuple[Any, ...], _: dict[str, Any]) -> str:
    return type(args[1]).__name__


def _file(args: tuple[Any, ...], _: dict[str, Any]) -> str:
    return Path(str(args[0])).name if args[0].suffix else "blob"


PLACES: Final[dict[str, tuple[str, str, Name]]] = {
    "create the run": ("podium.adapters.stores.sqlite", "SqliteStore.create", _plain),
    "claim the run": ("podium.adapters.stores.sqlite", "SqliteStore.claim", _plain),
    "append": ("podium.adapters.stores.sqlite", "SqliteStore.append", _events),
    "answer a letter": ("podium.adapters.stores.sqlite", "SqliteStore.answer", _plain),
    "post a letter": ("podium.adapters.stores.sqlite", "SqliteStore.post", _plain),
    "write the chain's head": ("podium.engine.log", "Log._append", _plain),
    "clean up": ("podium.engine.run_owner", "clean_up", _plain),
    "perform": ("podium.engine.loop", "RunLoop._perform", _effect),
    "attempt": ("podium.attempt.perform", "attempt", _attempt),
    "start": ("podium.process.child", "Child.__init__", _launched),
    "end": ("podium.process.child", "Child.__exit__", _ended),
    "clone": ("podium.git.workdir.clone", "clone", _plain),
    "checkout": ("podium.git.workdir.checkout", "checkout", _plain),
    "capture": ("podium.git.workdir.capture", "capture", _plain),
    "release the captured": ("podium.git.trees.objects", "release", _plain),
    "write a commit": ("podium.git.repository", "write_commit", _plain),
    "keep a ref": ("podium.git.repository", "keep", _plain),
    "join": ("podium.git.trees.merge", "join", _plain),
    "join the members": ("podium.attempt.landing.join", "join", _plain),
    "prepare the landing": ("podium.git.branches.land", "prepare", _plain),
    "land": ("podium.git.branches.land", "land", _plain),
    "swap the branch": ("podium.git.branches.land", "_swap", _plain),
    "move a branch back": ("podium.git.branches.take_back", "_move_back", _plain),
    "update the files": ("podium.git.branches.user_worktree", "update_files", _plain),
    "keep an artifact": ("podium.attempt.artifacts", "keep", _plain),
    "publish": ("podium.attempt.artifacts", "publish", _plain),
    "write an artifact": ("podium.attempt.artifacts", "write_bytes", _file),
    "put a question": ("podium.engine.inbox_files", "_write", _plain),
    "replace": ("podium.files.atomic", "write", _file),
    "write the records": ("podium.engine.run_folder", "RunFolder.write", _plain),
    "throw a workspace away": ("podium.attempt.workspace.folder_pool", "discard_workspace", _plain),
}


def passed(journal: Path) -> list[str]:
    """All points so far, in their order."""
    return journal.read_text("utf-8").splitlines() if journal.exists() else []


class Trap:
    """Counts and writes down the points that are passed; at the chosen one the process is no more."""

    def __init__(self, journal: Path, at: str | int | None, orders: dict[str, Callable[[], None]]) -> None:
        self._journal = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._at = at
        self._orders = orders
        self._lock = threading.Lock()
        # Counted on from the processes before: a story may take several, and the point may be in any of them.
        self._seen = Counter(point.rpartition(" ")[0] for point in passed(journal))

    def reach(self, when: str, what: str) -> None:
        with self._lock:
            name = f"{when} {what}".rstrip()
            self._seen[name] += 1
            point = f"{name} ({self._seen[name]})"
            os.write(self._journal, f"{point}\n".encode())
            if self._at in (point, self._seen.total()):
                os.kill(os.getpid(), signal.SIGKILL)
            order = self._orders.pop(name, None)
        if order is not None:
            order()


def install(trap: Trap) -> None:
    for what, (module, qualified, name) in PLACES.items():
        owner: Any = import_module(module)
        *classes, last = qualified.split(".")
        for each in classes:
            owner = getattr(owner, each)
        real = getattr(owner, last)
        replacement = _around(real, what, name, trap)
        setattr(owner, last, replacement)
        if not classes:
            _replace_everywhere(real, replacement)


def _replace_everywhere(real: Any, replacement: Any) -> None:
    """Also where it was imported by name."""
    for module in [module for name, module in sys.modules.items() if name.startswith("podium.")]:
        for name in [name for name, value in vars(module).items() if value is real]:
            setattr(module, name, replacement)


def _around(real: Any, what: str, name: Name, trap: Trap) -> Any:
    def named(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        return f"{what} {name(args, kwargs)}".rstrip()

    if inspect.iscoroutinefunction(real):

        @wraps(real)
        async def later(*args: Any, **kwargs: Any) -> Any:
            here = named(args, kwargs)
            trap.reach("before", here)
            result = await real(*args, **kwargs)
            trap.reach("after", here)
            return result

        return later

    @wraps(real)
    def now(*args: Any, **kwargs: Any) -> Any:
        here = named(args, kwargs)
        trap.reach("before", here)
        result = real(*args, **kwargs)
        trap.reach("after", here)
        return result

    return now
