"""What the last owner of a run left in its growing files, so that the next one need not make all lines again to compare.

`written.json` in the run folder has the size and digest of each growing file, of `run.json` and of `state.json`, the number
and chain hash of the event up to which they were written, and the place of the folder, which `state.json` mentions. Rule: it
is believed only if every growing file is exactly as it says and the log has that very event; whatever differs, the files are
compared with the events as if it were missing. A snapshot that differs is made again. Like the files, it is a view of the
log: nothing else relies on it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from podium import __version__
from podium.files import atomic
from podium.redaction.mask import Mask
from podium.views.files.snapshot import RUN, STATE

if TYPE_CHECKING:
    from hashlib import _Hash

MARKER: Final = "written.json"
CHUNK: Final = 1 << 16
MOST_BYTES: Final = 1 << 16
"""More than a marker has."""


class WrittenFile(NamedTuple):
    size: int
    digest: _Hash
    """Of the whole content; it is updated with what is appended."""


class UnchangedFiles(NamedTuple):
    seq: int
    """How many events the files have the lines of."""
    growing: dict[str, WrittenFile]
    run_text: bytes
    """The content of `run.json`; empty if it is not as its last owner left it."""
    state_text: bytes
    """The same of `state.json`; also empty if the folder was elsewhere."""


def digest_of(data: bytes) -> _Hash:
    return hashlib.sha256(data, usedforsecurity=False)


def write_marker(
    folder: Path,
    growing: Mapping[str, WrittenFile],
    snapshots: Mapping[str, bytes],
    hashes: Sequence[str],
    count: int,
) -> None:
    """Note that the files have the lines of the first `count` events; `hashes` are those of the chain."""
    marker = {
        "podium": __version__,
        "seq": count,
        "hash": hashes[count - 1],
        "files": {name: _sum_of(file) for name, file in growing.items()},
        "run": _sum_of(_file_of(snapshots[RUN])),
        "state": _sum_of(_file_of(snapshots[STATE])),
        "folder": str(folder.absolute()),
    }
    # Not forced to the disk: one that is behind the files, or ahead of them, does not match them.
    atomic.write(folder / MARKER, json.dumps(marker).encode(), fsync=False)


def unchanged_files(
    folder: Path, names: Sequence[str], hashes: Sequence[str], mask: Mask
) -> UnchangedFiles | None:
    """What the last owner wrote; None if a growing file is not as it left it.

    A file with a text that is a secret by now does not count as unchanged, so that it is written again without.
    """
    marker = _read_marker(folder)
    if marker is None or marker.get("podium") != __version__:
        return None
    count, sums = marker.get("seq"), marker.get("files")
    if type(count) is not int or not 0 < count <= len(hashes) or marker.get("hash") != hashes[count - 1]:
        return None
    if not isinstance(sums, dict) or sums.keys() != set(names):
        return None
    files = {}
    for name in names:
        file = _unchanged_file(folder / name, sums[name], mask)
        if file is None:
            return None
        files[name] = file
    run_text = _unchanged(folder / RUN, marker.get("run"), mask)
    is_here = marker.get("folder") == str(folder.absolute())
    state_text = _unchanged(folder / STATE, marker.get("state"), mask) if is_here else None
    return UnchangedFiles(count, files, run_text or b"", state_text or b"")


def _unchanged(path: Path, expected: Any, mask: Mask) -> bytes | None:
    data = content_of(path)
    if data is None or _sum_of(_file_of(data)) != expected or mask.apply(data) != data:
        return None
    return data


def _unchanged_file(path: Path, expected: Any, mask: Mask) -> WrittenFile | None:
    """The same without keeping the content, which is long; only secrets have to be looked for in all of it."""
    if mask.is_empty:
        file = _digest_of_file(path)
        return file if file is not None and _sum_of(file) == expected else None
    data = _unchanged(path, expected, mask)
    return None if data is None else _file_of(data)


def _digest_of_file(path: Path) -> WrittenFile | None:
    handle = _open(path)
    if handle is None:
        return None
    digest, size = digest_of(b""), 0
    with os.fdopen(handle, "rb", buffering=0) as file:
        while data := file.read(CHUNK):
            digest.update(data)
            size += len(data)
    return WrittenFile(size, digest)


def _file_of(data: bytes) -> WrittenFile:
    return WrittenFile(len(data), digest_of(data))


def _sum_of(file: WrittenFile) -> list[int | str]:
    return [file.size, file.digest.hexdigest()]


def _read_marker(folder: Path) -> dict[str, Any] | None:
    data = content_of(folder / MARKER, most=MOST_BYTES)
    try:
        marker = None if data is None else json.loads(data)
    except (ValueError, RecursionError):
        return None
    return marker if isinstance(marker, dict) else None


def content_of(path: Path, *, most: int = -1) -> bytes | None:
    """The content of a file, or its beginning; None if there is none, or only a link."""
    handle = _open(path)
    if handle is None:
        return None
    with os.fdopen(handle, "rb") as file:
        return file.read(most)


def _open(path: Path) -> int | None:
    if path.is_symlink():
        return None
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
