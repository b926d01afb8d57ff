"""Keeps what a run was started with: its definition as it was checked, and the files people wrote, by their hashes.

The text of a definition has the run's fingerprint as its hash, so that anybody can tell that it is the right one.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from podium.adapters.agents.registry import agent_types
from podium.files import atomic
from podium.files.project_paths import ProjectPaths
from podium.ports.store import RunHead
from podium.redaction.mask import Mask
from podium.workflow.gather import LoadOptions, gather_context
from podium.workflow.load import definition_text, fingerprint
from podium.workflow.source.files import SHIPPED

if TYPE_CHECKING:
    from podium.app.author.load import LoadedWorkflow
    from podium.app.project import Project
    from podium.workflow.context import WorkflowSource

BLOBS: Final = "blobs"
DEFINITION: Final = "definition.json"
PROJECT: Final = "files/project/"
USER: Final = "files/user/"
YOUNG_S: Final = 3600


def keep_definition(project: Project, definition: LoadedWorkflow, mask: Mask) -> dict[str, str]:
    """Store a definition; returns the hashes of what was stored, by name. A text with a secret is not stored."""
    contents = {
        **dict(_definitions(definition.context)),
        **dict(_files(project, definition.context, definition.paths)),
    }
    clean = {name: data for name, data in contents.items() if not mask.hides(data.decode("utf-8", "replace"))}
    return {name: _keep(project.paths.state_dir / BLOBS, data) for name, data in clean.items()}


def project_files(project: Project, file: Path, head: RunHead) -> frozenset[str]:
    """The files of the project that a definition consists of, as it is now and as the run had it."""
    # Gathered only: a file with mistakes also consists of files.
    options = LoadOptions(agent_types(), project=project.root, user_dir=project.user_dir)
    gathered = gather_context(options, project.root / file)
    now = (
        ()
        if gathered.context is None
        else (name for name, _ in _files(project, gathered.context, gathered.paths))
    )
    return frozenset(
        name.removeprefix(PROJECT) for name in (*stored_hashes(head), *now) if name.startswith(PROJECT)
    )


def read_stored_texts(state_dir: Path, head: RunHead) -> dict[str, bytes]:
    """What was kept for a run, as far as it is still there."""
    blobs = {name: state_dir / BLOBS / digest for name, digest in stored_hashes(head).items()}
    return {name: path.read_bytes() for name, path in blobs.items() if path.is_file()}


def stored_document(project: Project, head: RunHead) -> Mapping[str, Any] | None:
    """The merged document that a run was started with; None if it was not stored, or people have changed a file since."""
    contents = read_stored_texts(project.paths.state_dir, head)
    definition = contents.get(DEFINITION)
    if definition is None or any(_is_changed(project, *stored) for stored in contents.items()):
        return None
    document: Mapping[str, Any] = json.loads(definition)["document"]
    return document


def _is_changed(project: Project, name: str, content: bytes) -> bool:
    homes = {PROJECT: project.root, USER: project.user_dir}
    home, root = next(((home, root) for home, root in homes.items() if name.startswith(home)), ("", None))
    if root is None:
        return False
    path = root / name.removeprefix(home)
    return not path.is_file() or path.read_bytes() != content


def workflow_text(paths: ProjectPaths, head: RunHead) -> str:
    """The workflow file of a run as it was when the run was started; if it was not kept, as it is now."""
    name = json.loads(head.source)["file"]
    content = read_stored_texts(paths.state_dir, head).get(f"{PROJECT}{name}")
    if content is None:
        # A workflow that was built in code may have no file.
        content = (paths.root / name).read_bytes() if (paths.root / name).is_file() else b""
    return content.decode("utf-8", "replace")


def stored_hashes(head: RunHead) -> dict[str, str]:
    return dict(json.loads(head.source).get("kept", {}))


def discard_unused(state_dir: Path, heads: Iterable[RunHead]) -> None:
    """Delete what no run needs any more."""
    used = {digest for head in heads for digest in stored_hashes(head).values()}
    folder = state_dir / BLOBS
    for path in folder.iterdir() if folder.is_dir() else ():
        # What is new may belong to a run that is not in the log yet.
        if path.name not in used and path.stat().st_mtime < time.time() - YOUNG_S:
            path.unlink(missing_ok=True)


def _definitions(context: WorkflowSource, name: str = DEFINITION) -> Iterator[tuple[str, bytes]]:
    yield name, definition_text(context).encode("utf-8", "surrogatepass")
    for child in context.children.values():
        yield from _definitions(child, f"children/{fingerprint(child)}.json")


def _files(project: Project, context: WorkflowSource, paths: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    homes = {"project": project.root, "podium": SHIPPED}
    if project.user_dir is not None:
        homes["user"] = project.user_dir
    for path in sorted({*paths, *(project.root / name for name in context.texts)}):
        home = next((name for name, root in homes.items() if path.is_relative_to(root)), None)
        if home is not None and path.is_file():
            yield f"files/{home}/{path.relative_to(homes[home]).as_posix()}", path.read_bytes()


def _keep(folder: Path, data: bytes) -> str:
    digest = hashlib.sha256(data).hexdigest()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    atomic.write(folder / digest, data)
    return digest
