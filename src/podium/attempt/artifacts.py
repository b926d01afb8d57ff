"""Files that a contract promises: kept as artifacts by their content, or there in the captured tree."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from podium.attempt.host import Host
from podium.core.globs import glob_matches
from podium.core.types import Tree
from podium.files.inside import inside
from podium.git.repository import trees
from podium.git.trees.listing import files, read_listing
from podium.git.trees.objects import name_of
from podium.tasks.report import KeptArtifact

ARTIFACTS: Final = "artifacts"
"""The field of a result that lists what was kept: `file` and `hash`."""


def keep(host: Host, file: str, value: Any) -> KeptArtifact:
    """Stores a text or a value by the hash of its content; what is published later refers to it."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    content = host.mask.apply(text.encode("utf-8", "surrogateescape"))
    # Named before anything is written: a path that leaves the folder is a violation, not an artifact.
    inside(host.artifacts_dir, file)
    name = hashlib.sha256(content).hexdigest()
    blob = blob_path(host, name)
    if not blob.exists():
        write_bytes(blob, content)
    return {"file": file, "hash": name}


def blob_path(host: Host, name: str) -> Path:
    return host.state_dir / "blobs" / name


def publish(host: Host, path: str, result: Mapping[str, Any] | None) -> tuple[Path, ...]:
    """Puts what a step that has passed kept where people and later steps look for it."""
    published: list[Path] = []
    for artifact in (result or {}).get(ARTIFACTS, ()):
        place = inside(host.artifacts_dir, f"{folder_of(path)}/{artifact['file']}")
        blob = blob_path(host, artifact["hash"])
        write_bytes(place, blob.read_bytes(), by_way_of=blob.parent)
        published.append(place)
    return tuple(published)


def folder_of(path: str) -> str:
    """The folder of a step: visits share one, members and iterations have one of their own."""
    return re.sub(r"\[(\d+)\]", r"/\1", re.sub(r"~\d+|#\d+", "", path))


def write_bytes(place: Path, content: bytes, *, by_way_of: Path | None = None) -> None:
    """Whole or not at all, readable by this user alone; where others look around, by way of another folder."""
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=by_way_of or place.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    Path(temporary).replace(place)


def missing_files(host: Host, globs: Iterable[str], tree: Tree | None, folder: Path) -> str | None:
    """What of the promised files is absent or empty, in words; None if all is there.

    Looked for in the captured tree; outside of git, in the folder itself.
    """
    sizes = _in_folder(folder) if host.repository is None or tree is None else _in_tree(host, tree)
    faults: list[str] = []
    for glob in globs:
        found = [is_empty for path, is_empty in sizes.items() if glob_matches(glob, path)]
        if not found:
            faults.append(f'no file matches "{glob}"')
        elif all(found):
            faults.append(f'what matches "{glob}" is empty')
    return "; ".join(faults) or None


def _in_tree(host: Host, tree: Tree) -> Mapping[str, bool]:
    repository = host.repository
    assert repository is not None
    empty = name_of(repository.objects, "blob", b"")
    return {path: entry.name == empty for path, entry in files(read_listing(trees(repository), tree))}


def _in_folder(folder: Path) -> Mapping[str, bool]:
    return {
        path.relative_to(folder).as_posix(): path.stat().st_size == 0
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    }
