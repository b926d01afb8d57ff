"""Plays a page of the docs: writes the files it shows, runs the commands it shows, and knows what they print.

A block that begins with a comment that names a file is that file from there on. Commands run in the same folder, which also
holds a copy of `examples/`. A line `...` stands for any lines that the page leaves out.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.pages.markdown import Fenced, fenced

PROMPT: Final = "$ "
LEFT_OUT: Final = "..."
_NAMED: Final = re.compile(r"^(?:#|\{#) (?:broken )?([\w./-]+\.(?:yaml|md|json))(?: #\})?$")


def pages(root: Path) -> tuple[str, ...]:
    found = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    return tuple(path.relative_to(root).as_posix() for path in found)


def file_of(block: Fenced) -> str | None:
    """The file that a block says it is."""
    named = _NAMED.match(block.first)
    return named[1] if named else None


@dataclass(frozen=True, slots=True)
class Said:
    """One command of a console block: what the page shows under it, and what it prints."""

    command: str
    line: int
    shown: tuple[str, ...]
    printed: tuple[str, ...]

    @property
    def is_true(self) -> bool:
        return _matches(list(self.shown), list(self.printed))


def played(text: str, root: Path) -> Iterator[tuple[Fenced, tuple[Said, ...]]]:
    """Every console block of a page that runs podium, with what its commands print."""
    with stage(root) as folder:
        last = 0
        for block in fenced(text):
            put(block, folder)
            if not is_played(block):
                continue
            said = []
            for command, line, shown in _commands(block):
                printed, last = _run(command, last)
                said.append(Said(command, line, shown, printed))
            yield block, tuple(said)


@contextlib.contextmanager
def stage(root: Path) -> Iterator[Path]:
    """An empty project with the examples in it, and the working directory."""
    with tempfile.TemporaryDirectory(prefix="podium-docs-") as name:
        folder = Path(name)
        shutil.copytree(root / "examples", folder / "examples")
        with contextlib.chdir(folder):
            yield folder


def put(block: Fenced, folder: Path) -> None:
    """Write the file that a block is. A prompt loses the comment that names it; a workflow keeps its line."""
    name = file_of(block)
    if name is None:
        return
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = block.text if name.endswith(".yaml") else "".join(f"{line}\n" for line in block.lines[1:])
    path.write_text(text, "utf-8")


def is_played(block: Fenced) -> bool:
    return block.language == "console" and block.first.startswith(PROMPT + "podium")


def replayed(text: str, root: Path) -> str:
    """The page with what its commands print now; a part that it leaves out stays left out while it is true."""
    lines = text.splitlines()
    changes = [
        (one.line, len(one.shown), one.printed)
        for _, said in played(text, root)
        for one in said
        if not one.is_true
    ]
    for line, length, printed in reversed(changes):
        lines[line : line + length] = printed
    return "\n".join(lines) + "\n"


def _commands(block: Fenced) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """Each command with its line number in the page and the lines below it."""
    starts = [number for number, line in enumerate(block.lines) if line.startswith(PROMPT)]
    for start, end in zip(starts, [*starts[1:], len(block.lines)], strict=True):
        yield block.lines[start].removeprefix(PROMPT), block.line + start, block.lines[start + 1 : end]


def _run(command: str, last: int) -> tuple[tuple[str, ...], int]:
    if command == "echo $?":
        return (str(last),), 0
    words = shlex.split(command)
    if words[0] != "podium":
        raise ValueError(f"a page may only run podium, not {command!r}")
    printed, code = podium(words[1:])
    return tuple(printed.splitlines()), code


def podium(arguments: list[str]) -> tuple[str, int]:
    """What the command prints, both streams as they come, and its exit code."""
    from podium.frontends.cli.main import run_command

    output = io.StringIO()
    before, environment = sys.argv, dict(os.environ)
    sys.argv = ["podium", *arguments]
    os.environ.update(XDG_CONFIG_HOME=str(Path.cwd() / ".no-config"), COLUMNS="100")
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            run_command()
    except SystemExit as end:
        return output.getvalue(), end.code if isinstance(end.code, int) else 1
    finally:
        sys.argv = before
        os.environ.clear()
        os.environ.update(environment)


def _matches(shown: list[str], printed: list[str]) -> bool:
    if LEFT_OUT not in shown:
        return shown == printed
    gap = shown.index(LEFT_OUT)
    if shown[:gap] != printed[:gap]:
        return False
    rest = shown[gap + 1 :]
    return any(_matches(rest, printed[start:]) for start in range(gap, len(printed) + 1))
