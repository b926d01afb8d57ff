"""Checks the log of a run: that no event is missing, altered or added, and that the store is not damaged."""

from __future__ import annotations

import os
from pathlib import Path

from podium.core.hash_chain import FIRST_HASH, Record
from podium.engine.log import against_outside, read_chain_head
from podium.files.project_paths import ProjectPaths
from podium.ports.runtime import LogCheck
from podium.ports.store import RunHead, Store
from podium.runtime.records import fault_of


def verify(store: Store, paths: ProjectPaths, head: RunHead) -> LogCheck:
    """The first fault, if there is one.

    The events are read last: while the run is driven there may be more of them than the file outside says, never less.
    """
    outside = read_chain_head(paths.run_dir(head.run))
    records = store.read(head.run)
    last = records[-1].hash if records else FIRST_HASH
    fault = fault_of(records) or _against_head(records, head) or store.damage() or _lost_run(store, paths)
    if fault is None and outside is not None:
        fault = against_outside(records, *outside)
    return LogCheck(head.run, len(records), last, fault, outside is not None)


def _lost_run(store: Store, paths: ProjectPaths) -> str | None:
    lost = runs_without_log(store, paths)
    if not lost:
        return None
    others = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
    return f"the log knows nothing of run {lost[0]}{others}, and its folder is there"


def runs_without_log(store: Store, paths: ProjectPaths) -> tuple[str, ...]:
    """A run is in the store before it has a folder, and its folder goes first; so a folder alone means a lost run."""
    folders = sorted(entry.name for entry in _entries(paths.runs_dir) if entry.is_dir(follow_symlinks=False))
    # Read last: a run that starts meanwhile is then among them.
    stored = {head.run for head in store.heads()}
    return tuple(name for name in folders if name not in stored)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        return []


def _against_head(records: tuple[Record, ...], head: RunHead) -> str | None:
    if len(records) < head.last_seq:
        return f"the log ends at event {len(records)}, and {head.last_seq} were stored"
    if head.last_seq and records[head.last_seq - 1].hash != head.last_hash:
        return f"event {head.last_seq} is not the one that was stored"
    return None
