"""Check the log of a run: that nothing is missing, altered or added, and that the store it lies in is whole."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from podium.core.hash_chain import FIRST_HASH, Record, RunId
from podium.engine.log import CHAIN_HEAD, against_outside, read_chain_head
from podium.files.project_paths import ProjectPaths
from podium.ports.store import RunHead, Store
from podium.runtime.records import fault_of


@dataclass(frozen=True, slots=True)
class Verified:
    """What a look at the chain of a run's events has shown."""

    run: RunId
    events: int
    last_hash: str
    fault: str | None
    compared: bool
    """Whether a head of the chain outside the database was there to compare with."""


def verify(store: Store, project: Path, head: RunHead) -> Verified:
    """Whether nothing is missing, altered or added.

    The events are read last, so that a run which goes on meanwhile has more of them than is known outside, never less.
    """
    outside = read_chain_head(ProjectPaths(project).run_dir(head.run))
    records = store.read(head.run)
    last = records[-1].hash if records else FIRST_HASH
    fault = fault_of(records) or _against_head(records, head) or store.damage() or _lost_run(store, project)
    if fault is None and outside is not None:
        fault = against_outside(records, *outside)
    return Verified(head.run, len(records), last, fault, outside is not None)


def _lost_run(store: Store, project: Path) -> str | None:
    """A run is in the log before it has a folder, and leaves it after; so a folder without a run has lost it."""
    known = {head.run for head in store.heads()}
    folders = ProjectPaths(project).runs_dir.glob(f"*/{CHAIN_HEAD}")
    lost = sorted(folder.parent.name for folder in folders if folder.parent.name not in known)
    return f"the log knows nothing of run {lost[0]}, and its folder is there" if lost else None


def _against_head(records: tuple[Record, ...], head: RunHead) -> str | None:
    if len(records) < head.last_seq:
        return f"the log ends at event {len(records)}, and {head.last_seq} were stored"
    if head.last_seq and records[head.last_seq - 1].hash != head.last_hash:
        return f"event {head.last_seq} is not the one that was stored"
    return None
