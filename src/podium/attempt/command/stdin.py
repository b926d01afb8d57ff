"""The standard input of a command, or the literal prompt of an agent: files of its tree, or a value."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

from podium.core.expressions.nodes import Names, Node
from podium.core.expressions.templates import Value, fill
from podium.core.expressions.values import is_list
from podium.errors import ConfigurationError
from podium.files.inside import open_inside
from podium.process.output import OutputLimits
from podium.tasks.command_work import to_plain

MAX_BYTES: Final = 64 << 20
ARTIFACTS: Final = ".podium/artifacts"
OUTPUTS: Final = "outputs"
RECORD: Final = OutputLimits().record
CUT_CHARACTER: Final = 3
"""The most bytes of a character that a record lacks at its end."""
ReadFile: TypeAlias = Callable[[str], bytes]
"""Reads a file of the tree by its path. Raises OSError."""
TRUNCATED: Final = re.compile(
    r"\n\[truncated: the first (\d+) of \d+ bytes(?:; all of it: outputs/([^/\n;]+))?[^\n]*\]"
)
"""The mark after a recorded output that is longer than its record."""


def stdin_of(value: Value, names: Names, read: ReadFile, run_dir: Path, artifacts: Path) -> bytes:
    """A text is a path and a list is several paths, concatenated; a value that is exactly one `${{ }}` is the content.

    `artifacts` is the folder of published artifacts: it is copied into a workspace, but not into the project itself.
    """
    filled: Any = fill(value, names)
    if isinstance(value, Node):
        text = filled if isinstance(filled, str) else json.dumps(to_plain(filled), ensure_ascii=False)
        return _whole(text, run_dir)
    paths = filled if is_list(filled) else (filled,)
    return b"".join(_content(read, str(path), artifacts) for path in paths)


def files_in(folder: Path) -> ReadFile:
    """Reads the files of a folder."""

    def read(path: str) -> bytes:
        with open_inside(folder, path, "rb") as file:
            return file.read(MAX_BYTES + 1)

    return read


def _whole(text: str, run_dir: Path) -> bytes:
    """The content of a text, which may be the record of a longer output: then all of that output."""
    marks = [
        mark for mark in TRUNCATED.finditer(text) if _size(text[: mark.start()]) >= RECORD - CUT_CHARACTER
    ]
    if not marks:
        return text.encode("utf-8", "surrogateescape")
    beginning, file = text[: marks[0].start()], marks[0][2]
    if marks[0].end() == len(text) and file and _size(beginning) <= RECORD:
        content = _content(files_in(run_dir / OUTPUTS), file, run_dir)
        # An agent may write such a mark itself; it gets no file whose beginning it does not know.
        if content.decode("utf-8", "replace").startswith(beginning):
            return content
    raise ConfigurationError(
        "stdin: an expression has only the beginning of the long output of an earlier step",
        hint=f"give that step output: {{file: NAME}}, and write stdin: {ARTIFACTS}/STEP/NAME",
    )


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _content(read: ReadFile, path: str, artifacts: Path) -> bytes:
    published = posixpath.normpath(path).removeprefix(f"{ARTIFACTS}/")
    is_published = published != posixpath.normpath(path)
    try:
        content = files_in(artifacts)(published) if is_published else read(path)
    except OSError as error:
        raise ConfigurationError(f'stdin: "{path}" cannot be read: {error.strerror or error}') from error
    if len(content) > MAX_BYTES:
        raise ConfigurationError(f'stdin: "{path}" is larger than {MAX_BYTES >> 20} MB')
    return content
