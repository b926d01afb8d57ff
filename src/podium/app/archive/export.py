"""Write a run into a folder that anybody can verify: its definition, events, verdicts, trees and evidence.

Rule: everything in the folder was masked when it was stored; nothing is read from the machine or its user.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from podium.app.query.diff import Span, read_diff
from podium.app.run.definition import read_stored_texts
from podium.core.codec import encode
from podium.core.events import Event
from podium.core.hash_chain import Record
from podium.core.types import Tree
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.files.project_paths import ProjectPaths
from podium.git.repository import find
from podium.git.trees.bundle import complete_trees, write_bundle
from podium.ports.store import RunHead
from podium.runtime.records import events_of
from podium.views.run.builder import run_view
from podium.views.run.verdicts import verdicts_of

if TYPE_CHECKING:
    from podium.app.project import Project

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
EVENTS: Final = "events.jsonl"
VERDICTS: Final = "verdicts.json"
BUNDLE: Final = "trees.bundle"
DIFF: Final = "change.diff"
DEFINITION: Final = "definition"
RECORDS: Final = "records"
EXPORTED_FOLDERS: Final = ("agent_logs", "artifacts", "evidence", "feedback", "outputs", "versions")
VIEWS: Final = ("run.json", "run_manifest.yaml", "run_summary.md", "audit.log")
README: Final = """\
# Run {run}

What happened in this run of Podium, with everything needed to check it.

- `podium verify .` checks all of it, without a network: every file by its hash, the chain of the events, the
  definition by its fingerprint, and that every tree an event or a verdict names is here.
- `events.jsonl` is the truth: each line has the hash of itself and of all before it.
- `verdicts.json`: what gates, reviewers and people have said, and of which tree.
- `definition/`: the workflow as it was judged (`definition.json`) and the files it was made of.
- `trees.bundle`: every state of the project that the events name. `git clone --mirror trees.bundle trees.git` reads it;
  `git --git-dir trees.git show refs/podium/trees/TREE:PATH` shows a file. `change.diff` is what the run changed.
- `records/`: prompts, answers, output of gates and their reports, artifacts, and a summary.

The hash of `manifest.json` covers the whole folder: compare it with the one that you were sent.
"""


@dataclass(frozen=True, slots=True)
class Exported:
    run: str
    folder: Path
    files: int
    trees: tuple[Tree, ...]
    lost: tuple[Tree, ...]
    """Trees that events name and git no longer has."""
    manifest: str
    """Its hash, which covers everything in the folder."""


def export(
    project: Project, head: RunHead, folder: Path, on_part: Callable[[str], None] = lambda _: None
) -> Exported:
    check_place(folder)
    on_part("events")
    fault = project.runtime.verify(head.run).fault
    if fault is not None:
        raise ConfigurationError(f"cannot export run {head.run}: its log fails verification: {fault}")
    records = project.runtime.events(head.run)
    events = events_of(records)
    _make(folder)
    _put(folder, "README.md", README.format(run=head.run).encode())
    _put(folder, EVENTS, b"".join(event_line(record) for record in records))
    _put(folder, VERDICTS, as_json(verdicts_of(events)))
    for name, data in read_stored_texts(project.paths.state_dir, head).items():
        _put(folder, f"{DEFINITION}/{name}", data)
    on_part("records")
    _copy_records(project.paths.run_dir(head.run), folder / RECORDS)
    on_part("trees")
    trees, lost = _put_trees(project.paths, events, folder)
    on_part("manifest")
    files = {name: hash_of(folder / name) for name in file_names(folder)}
    manifest = {
        "podium_export": FORMAT,
        "run": head.run,
        "workflow": head.workflow,
        "fingerprint": head.fingerprint,
        "events": len(events),
        "last_hash": head.last_hash,
        "trees": trees,
        "lost_trees": lost,
        "files": files,
    }
    _put(folder, MANIFEST, as_json(manifest))
    return Exported(head.run, folder, len(files) + 1, trees, lost, hash_of(folder / MANIFEST))


def check_place(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError(f"{folder} is not a folder", hint="name another one")
    if folder.exists() and any(folder.iterdir()):
        raise ConfigurationError(f"{folder} is there and not empty", hint="name another folder")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        fact = "" if os.access(folder, os.W_OK) else "it may not be written"
    except OSError as error:
        fact = error.strerror or str(error)
    if fact:
        raise ConfigurationError(
            f"{folder} cannot be made into an export: {fact}", hint="name another folder"
        )


def event_line(record: Record) -> bytes:
    return json.dumps(record._asdict(), ensure_ascii=False).encode() + b"\n"


def as_json(value: Any) -> bytes:
    return json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_names(folder: Path) -> tuple[str, ...]:
    """Everything but folders, in order."""
    files = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return tuple(sorted(path.relative_to(folder).as_posix() for path in files))


def trees_of(events: Iterable[Event]) -> tuple[Tree, ...]:
    """All that events name, in order of their first mention."""
    return tuple(dict.fromkeys(tree for event in events for tree in _named(encode(event))))


def _named(value: Any) -> Iterator[Tree]:
    # The fields of events that contain trees; the base of `run` is a commit.
    for key in ("tree", "base", "start", "onto", "fork"):
        if isinstance(value.get(key), str):
            yield Tree(value[key])
    if value["type"] == "JoinAsked":
        yield from (Tree(tree) for _, tree in value["members"])
    if isinstance(value.get("verdict"), dict) and value["verdict"].get("tree"):
        yield Tree(value["verdict"]["tree"])


def _put(folder: Path, name: str, data: bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _copy_records(source: Path, target: Path) -> None:
    """Regular files only: links that an agent has left are not followed."""
    names = [name for kind in EXPORTED_FOLDERS if (source / kind).is_dir() for name in _below(source, kind)]
    for name in (*names, *VIEWS):
        path = source / name
        if path.is_file() and not path.is_symlink():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target / name)


def _below(source: Path, kind: str) -> list[str]:
    return [f"{kind}/{name}" for name in file_names(source / kind)]


def _put_trees(
    paths: ProjectPaths, events: Sequence[Event], folder: Path
) -> tuple[tuple[Tree, ...], tuple[Tree, ...]]:
    """The trees that were exported, and those that git no longer has."""
    named = trees_of(events)
    repository = find(paths.root, paths.trees) if named else None
    if repository is None:
        return (), named
    present = complete_trees(repository, named)
    if present:
        write_bundle(repository, present, folder / BUNDLE)
    view = run_view(events)
    if view.base in present and view.tree in present:
        assert view.base is not None
        assert view.tree is not None
        text, _ = read_diff(paths, Span(view.base, view.tree))
        _put(folder, DIFF, text.encode("utf-8", "surrogateescape"))
    return present, tuple(tree for tree in named if tree not in present)
