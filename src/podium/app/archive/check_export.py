"""Check a folder that `export` has written, with nothing but the folder: no project, no network, no trust in its writer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from podium.app.archive.export import (
    BUNDLE,
    DEFINITION,
    EVENTS,
    FORMAT,
    MANIFEST,
    VERDICTS,
    as_json,
    file_names,
    hash_of,
    trees_of,
)
from podium.core.events import Event, RunStarted
from podium.core.hash_chain import Record, RunId
from podium.core.payloads import Series
from podium.core.types import Tree
from podium.errors import PathViolation
from podium.fast_dataclass import dataclass
from podium.files import bounded_json
from podium.files.inside import read_file
from podium.git.trees.bundle import missing_trees
from podium.runtime.records import event_of, fault_of
from podium.views.run.verdicts import verdicts_of

MAX_MANIFEST: Final = 8 << 20
MAX_FILE: Final = 256 << 20
"""Bytes of the events of one run; ten thousand rounds have a fifth of that."""


@dataclass(frozen=True, slots=True)
class Checked:
    run: str
    files: int
    events: int
    trees: int
    last_hash: str
    manifest: str
    fault: str | None
    notes: tuple[str, ...] = ()
    """What cannot be checked, and is not a fault."""


def is_export(folder: Path) -> bool:
    """Whether a folder has any file of an export, or the exports of a series."""
    return any((folder / name).is_file() for name in (MANIFEST, EVENTS, VERDICTS, BUNDLE)) or bool(
        _runs_below(folder)
    )


def _runs_below(folder: Path) -> tuple[Path, ...]:
    if not folder.is_dir() or (folder / MANIFEST).is_file():
        return ()
    return tuple(sorted(path for path in folder.iterdir() if (path / MANIFEST).is_file()))


def check_any(folder: Path) -> tuple[Checked, ...]:
    """One export, or all runs of a series, each with its link to the run before it."""
    below = _runs_below(folder)
    if not below:
        return (check_export(folder),)
    checked = tuple(map(check_export, below))
    hashes = {each.run: each.last_hash for each in checked if each.fault is None}
    return tuple(
        replace(each, fault=_link_fault(path, hashes)) if each.fault is None else each
        for path, each in zip(below, checked, strict=True)
    )


def _link_fault(folder: Path, hashes: Mapping[str, str]) -> str | None:
    link = _link(folder)
    if link is None or hashes.get(link.previous, link.previous_hash) == link.previous_hash:
        return None
    return f"{EVENTS} follows another run {link.previous} than the one that was exported with it"


def _link(folder: Path) -> Series | None:
    started = next((event for event in _events(folder) if isinstance(event, RunStarted)), None)
    return None if started is None else started.run.series


def check_export(folder: Path) -> Checked:
    """The first fault, if there is one."""
    if not (folder / MANIFEST).is_file():
        return Checked("", 0, 0, 0, "", "", f"{MANIFEST} is missing")
    digest = hash_of(folder / MANIFEST)
    try:
        manifest = bounded_json.loads(read_file(folder / MANIFEST, MAX_MANIFEST))
        if manifest["podium_export"] != FORMAT:
            words = f"{MANIFEST} has format {manifest['podium_export']}; this Podium knows {FORMAT}"
            return Checked("", 0, 0, 0, "", digest, words)
        looks = (_look_at_files, _look_at_events, _look_at_definition, _look_at_trees, _look_at_verdicts)
        fault = _first(looks, folder, manifest)
        size = (len(manifest["files"]) + 1, int(manifest["events"]), len(manifest["trees"]))
        notes = (*(() if fault else _link_note(folder)), *_notes(folder, manifest))
        return Checked(str(manifest["run"]), *size, str(manifest["last_hash"]), digest, fault, notes)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OSError, PathViolation) as error:
        return Checked("", 0, 0, 0, "", digest, f"{MANIFEST} cannot be read: {type(error).__name__} {error}")


def _first(
    looks: tuple[Callable[[Path, dict[str, Any]], str | None], ...], folder: Path, manifest: dict[str, Any]
) -> str | None:
    return next((fault for look in looks if (fault := look(folder, manifest)) is not None), None)


def _look_at_files(folder: Path, manifest: dict[str, Any]) -> str | None:
    expected, present = manifest["files"], file_names(folder)
    for name in present:
        if name == MANIFEST:
            continue
        if name not in expected:
            return f"{name} is not in {MANIFEST}"
        if (folder / name).is_symlink():
            return f"{name} is a link"
        if hash_of(folder / name) != expected[name]:
            return f"{name} has been altered"
    missing = sorted(expected.keys() - set(present))
    return f"{missing[0]} is missing" if missing else None


def _look_at_events(folder: Path, manifest: dict[str, Any]) -> str | None:
    try:
        records = _records(folder)
    except (OSError, ValueError, TypeError) as error:
        return f"{EVENTS} cannot be read: {error}"
    fault = fault_of(records)
    if fault is not None:
        return f"{EVENTS}: {fault}"
    if any(record.run != manifest["run"] for record in records):
        return f"{EVENTS} has events of another run"
    if len(records) != manifest["events"] or (records and records[-1].hash != manifest["last_hash"]):
        return f"{EVENTS} does not end where {MANIFEST} says"
    return None


def _look_at_definition(folder: Path, manifest: dict[str, Any]) -> str | None:
    started = next((event for event in _events(folder) if isinstance(event, RunStarted)), None)
    if started is not None and started.fingerprint != manifest["fingerprint"]:
        return f"the run was started with definition {started.fingerprint}, which {MANIFEST} does not name"
    for path, expected in _definitions(folder, manifest["fingerprint"]):
        if path.is_file() and hash_of(path) != expected:
            return f"{path.relative_to(folder)} is not the definition {expected}"
    return None


def _definitions(folder: Path, fingerprint: str) -> Iterator[tuple[Path, str]]:
    yield folder / DEFINITION / "definition.json", fingerprint
    for path in sorted((folder / DEFINITION / "children").glob("*.json")):
        yield path, path.stem


def _look_at_trees(folder: Path, manifest: dict[str, Any]) -> str | None:
    named = trees_of(_events(folder))
    unknown = [tree for tree in named if tree not in (*manifest["trees"], *manifest["lost_trees"])]
    if unknown:
        return f"an event names tree {unknown[0]}, of which {MANIFEST} says nothing"
    trees = [Tree(tree) for tree in manifest["trees"]]
    if trees and not (folder / BUNDLE).is_file():
        return f"{BUNDLE} is missing"
    lacking = missing_trees(folder / BUNDLE, trees) if trees else ()
    return f"tree {lacking[0]} is not in {BUNDLE}" if lacking else None


def _look_at_verdicts(folder: Path, manifest: dict[str, Any]) -> str | None:
    verdicts = verdicts_of(_events(folder))
    if read_file(folder / VERDICTS, MAX_FILE) != as_json(verdicts):
        return f"{VERDICTS} does not say what the events say"
    listed = {*manifest["trees"], *manifest["lost_trees"], None}
    unbound = [verdict for verdict in verdicts if verdict["tree"] not in listed]
    if unbound:
        return (
            f"the verdict of event {unbound[0]['seq']} is about tree {unbound[0]['tree']}, which is not here"
        )
    return None


def _link_note(folder: Path) -> Iterator[str]:
    link = _link(folder)
    if link is not None and not (folder.parent / link.previous / MANIFEST).is_file():
        yield f"it continues run {link.previous}, which is not here; the last event there has the hash {link.previous_hash}"


def _notes(folder: Path, manifest: dict[str, Any]) -> Iterator[str]:
    lost = len(manifest["lost_trees"])
    if lost:
        yield f"{lost} trees were lost before the export, so their content cannot be checked"
    if not (folder / DEFINITION / "definition.json").is_file():
        yield "the definition was not kept, so it cannot be checked"


def _records(folder: Path) -> tuple[Record, ...]:
    lines = read_file(folder / EVENTS, MAX_FILE).decode("utf-8").split("\n")
    rows = (bounded_json.loads(line) for line in lines if line)
    return tuple(Record(**{**row, "run": RunId(row["run"])}) for row in rows)


def _events(folder: Path) -> tuple[Event, ...]:
    return tuple(event_of(record) for record in _records(folder))
