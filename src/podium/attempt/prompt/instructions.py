"""The instruction files of a project, such as AGENTS.md, for agents with `instructions: project`.

They are read from the base commit of the run: a file in a workspace may have been written by an earlier agent, which must
not instruct the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from podium.attempt.host import Host
from podium.attempt.prompt.tree_files import TreeFiles, files_of
from podium.errors import ConfigurationError
from podium.git.repository import tree_of

MAX_BYTES: Final = 128 * 1024
MAX_DEPTH: Final = 5
_NAMED: Final = re.compile(r"(?<![\w`@])@((?:\./|\.\./)*[\w][\w./-]*)")
"""A file that an instruction file includes: `@docs/style.md`."""


def project_instructions(host: Host, names: tuple[str, ...], folder: str) -> str:
    """The text for the system prompt: from the top of the project to the step's folder, with the files that they name.

    `names` are the files to look for in each folder; the first that exists counts.
    """
    if host.repository is None:
        raise ConfigurationError(
            "instructions: project needs a git repository, whose base commit has the files"
        )
    files = files_of(host, tree_of(host.repository, host.base_commit))
    paths = list(
        dict.fromkeys(
            path for first in _first_files(files, names, folder) for path in _with_named(files, first)
        )
    )
    texts = [f"# Instructions of the project, from {path}\n\n{_text(files, path).strip()}" for path in paths]
    whole = "\n\n".join(texts)
    if len(whole.encode("utf-8", "replace")) > MAX_BYTES:
        raise ConfigurationError(
            f"instructions: project would add more than {MAX_BYTES // 1024} KiB: {', '.join(paths)}",
            hint="shorten these files, or remove the @ before files that agents need not read",
        )
    return whole


def _first_files(files: TreeFiles, names: tuple[str, ...], folder: str) -> Iterator[str]:
    place = PurePosixPath(folder)
    for parent in (*reversed(place.parents), place) if folder != "." else (place,):
        paths = (str(parent / name) for name in names)
        yield from [path for path in paths if path in files.blobs][:1]


def _with_named(files: TreeFiles, path: str, depth: int = 0) -> Iterator[str]:
    yield path
    if depth == MAX_DEPTH:
        return
    for name in _NAMED.findall(_text(files, path)):
        named = _normal(PurePosixPath(path).parent / name.rstrip("."))
        if named != path and named in files.blobs:
            yield from _with_named(files, named, depth + 1)


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part != "..":
            parts.append(part)
        elif parts:
            parts.pop()
    return "/".join(parts)


def _text(files: TreeFiles, path: str) -> str:
    ((_, content),) = files.read([path])
    return content.decode("utf-8", "replace")
