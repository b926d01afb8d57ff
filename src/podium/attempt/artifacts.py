"""The files that an output contract declares: stored as artifacts by content, or present in the captured tree."""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from podium.attempt.host import Host
from podium.core.expressions.nodes import Names
from podium.core.expressions.templates import Value, fill
from podium.core.expressions.values import Meter, as_text
from podium.core.globs import glob_matches
from podium.core.model import Output, Step
from podium.core.queries.file_versions import version_name
from podium.core.types import Tree
from podium.errors import ConfigurationError, PathViolation, disk_fault
from podium.files import atomic
from podium.files.inside import inside, open_inside
from podium.files.project_paths import STATE_DIR
from podium.git.repository import trees
from podium.git.trees.listing import files, read_listing
from podium.git.trees.objects import name_of
from podium.tasks.report import KeptArtifact

ARTIFACTS: Final = "artifacts"
"""The result field that lists the stored artifacts: `file` and `hash`."""


def keep_output(host: Host, step: Step, names: Names, value: Any) -> KeptArtifact:
    """Stores the answer of a step whose contract declares a file.

    A file of the project is written at once by a step that works in the project itself, else when the run has ended.
    """
    output = step.output
    assert output.file is not None
    file = _path(output.file, names)
    artifact = keep(host, file, value)
    if output.folder is not None:
        place = posixpath.normpath(f"{_path(output.folder, names)}/{file}")
        if _place_in_project(host, place).is_dir():
            raise ConfigurationError(f'output: "{place}" is a folder', hint="name another file")
        is_at_once = step.settings.workspace.mode == "inplace"
        artifact = {**artifact, "save": place} if is_at_once else {**artifact, "project": place}
    return artifact


def keep(host: Host, file: str, value: Any) -> KeptArtifact:
    """Stores a text or a value under the hash of its content, to be published when the step passes."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    content = host.mask.apply(text.encode("utf-8", "surrogateescape"))
    # Raises for a path outside the folder before anything is written.
    inside(host.artifacts_dir, file)
    name = hashlib.sha256(content).hexdigest()
    blob = blob_path(host, name)
    if not blob.exists():
        write_bytes(blob, content)
    return {"file": file, "hash": name}


def written_output(output: Output) -> tuple[Value, ...]:
    """The values of an output contract that may contain expressions."""
    # What is not written is left out: these values are part of the key by which earlier versions stored results.
    return (output.file, *output.files, *(() if output.folder is None else (output.folder,)))


def _path(value: Value, names: Names) -> str:
    return as_text(fill(value, names), Meter())


def blob_path(host: Host, name: str) -> Path:
    return host.state_dir / "blobs" / name


def publish(
    host: Host, path: str, result: Mapping[str, Any] | None, *, republish: bool = False
) -> tuple[Path, ...]:
    """Publishes the artifacts of a passed step for people and later steps.

    `republish`: they may have been published before; what was saved in the project may have been changed since and is kept.
    """
    published: list[Path] = []
    for artifact in (result or {}).get(ARTIFACTS, ()):
        place = inside(host.artifacts_dir, f"{folder_of(path)}/{artifact['file']}")
        blob = blob_path(host, artifact["hash"])
        content = blob.read_bytes()
        write_bytes(place, content, by_way_of=blob.parent)
        published.append(place)
        if "save" in artifact and not (republish and inside(host.project, artifact["save"]).exists()):
            with open_inside(host.project, artifact["save"], "wb") as file:
                file.write(content)
        if "project" in artifact:
            version = version_name(artifact["project"], visit_of(path))
            write_bytes(inside(host.versions_dir, version), content, by_way_of=blob.parent)
    return tuple(published)


def write_to_project(host: Host, results: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """Writes artifacts to the places in the project that their steps name; returns what could not be written.

    `results` has the last result of each step by its address.
    """
    faults: list[str] = []
    for path, result in results.items():
        for artifact in result.get(ARTIFACTS, ()):
            if "project" not in artifact:
                continue
            content = blob_path(host, artifact["hash"]).read_bytes()
            try:
                place = _place_in_project(host, artifact["project"])
                place.parent.mkdir(parents=True, exist_ok=True)
                if not place.is_file() or place.read_bytes() != content:
                    atomic.write(place, content, fsync=False, mode=0o644)
            except (OSError, PathViolation) as error:
                if disk_fault(error) is not None:
                    raise
                copy = f"{host.artifacts_dir}/{folder_of(path)}/{artifact['file']}"
                faults.append(f"{artifact['project']} could not be written: {error}; the text is in {copy}")
    return tuple(faults)


def _place_in_project(host: Host, path: str) -> Path:
    if STATE_DIR in Path(path).parts:
        raise PathViolation(
            f'the output "{path}" is inside {STATE_DIR}', hint="choose another folder of the project"
        )
    return inside(host.project, path)


def visit_of(path: str) -> int:
    """The visit of the outermost step in an address that was entered again; 1 if there is none."""
    numbers = re.findall(r"~(\d+)", path)
    return int(numbers[0]) if numbers else 1


def folder_of(path: str) -> str:
    """The artifact folder of a step: shared by its visits, separate for each member and iteration."""
    return re.sub(r"\[(\d+)\]", r"/\1", re.sub(r"~\d+|#\d+", "", path))


def write_bytes(place: Path, content: bytes, *, by_way_of: Path | None = None) -> None:
    """Writes a file atomically, readable by this user only; `by_way_of` is the folder of the temporary file."""
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=by_way_of or place.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    Path(temporary).replace(place)


def missing_files(host: Host, globs: Iterable[str], tree: Tree | None, folder: Path) -> str | None:
    """A message about declared files that are missing or empty; None if there are none.

    Searches the captured tree or, outside of git, the folder.
    """
    patterns = tuple(globs)
    if not patterns:
        return None
    sizes = _in_folder(folder) if host.repository is None or tree is None else _in_tree(host, tree)
    faults: list[str] = []
    for glob in patterns:
        are_empty = [is_empty for path, is_empty in sizes.items() if glob_matches(glob, path)]
        if not are_empty:
            faults.append(f'no file matches "{glob}"')
        elif all(are_empty):
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
