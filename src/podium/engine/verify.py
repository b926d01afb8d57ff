"""Checks the log of a run: that no event is missing, altered or added, and that the store is not damaged."""

from __future__ import annotations

import os
from pathlib import Path

from podium.core.events import RunStarted
from podium.core.hash_chain import FIRST_HASH, Record, RunId
from podium.core.payloads import Series
from podium.engine.log import against_outside, read_chain_head
from podium.files.project_paths import ProjectPaths
from podium.ports.runtime import LogCheck
from podium.ports.store import RunHead, Store
from podium.runtime.records import event_of, fault_of


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
    before, missing = _earlier_runs(store, records)
    fault = fault or next((fault for run in before if (fault := _link_fault(store, run))), None)
    follows = tuple(run.previous for run in before)
    return LogCheck(head.run, len(records), last, fault, outside is not None, follows, missing)


def _earlier_runs(store: Store, records: tuple[Record, ...]) -> tuple[tuple[Series, ...], str]:
    """The links to the earlier runs of the series, the newest first, and the first of these runs that was deleted."""
    links: list[Series] = []
    while records and fault_of(records) is None:
        started = event_of(records[0])
        link = started.run.series if isinstance(started, RunStarted) else None
        if link is None:
            return tuple(links), ""
        records = store.read(RunId(link.previous))
        if not records:
            return tuple(links), link.previous
        links.append(link)
    return tuple(links), ""


def _link_fault(store: Store, link: Series) -> str | None:
    records = store.read(RunId(link.previous))
    fault = fault_of(records)
    if fault is not None:
        return f"run {link.previous}, before it in the series: {fault}"
    if records[-1].hash != link.previous_hash:
        return f"run {link.previous}, before it in the series, does not end with the event that the next run names"
    return None


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
