"""A bit of the database turns over: `verify` says so, or nobody can tell the difference (issue 6, point 4).

PODIUM_FLIPS says how many bits, PODIUM_SEED which ones.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from podium.adapters.stores.sqlite import SqliteStore
from podium.core.hash_chain import RunId
from podium.core.messages import Approve, Signal
from podium.core.types import Address
from podium.engine.verify import verify
from podium.errors import PodiumError
from podium.files.project_paths import STATE_DIR, ProjectPaths
from podium.ports.store import StoreError
from podium.runtime.commands import encode_command
from tests.engine.kit import Project

pytestmark = pytest.mark.slow

FLIPS = int(os.environ.get("PODIUM_FLIPS", "100"))
SEED = int(os.environ.get("PODIUM_SEED", "1"))
STEPS = """\
  first:
    run: [sh, -c, "echo one"]
  ask:
    human: Go on?
  last:
    run: [sh, -c, "echo two"]
"""
FILES = ("podium.db", "podium.db-wal")


def test_every_bit_that_turns_over_is_reported_or_changes_no_read(project: Project, tmp_path: Path) -> None:
    """R149, X14. Half of them in the database as it rests, half as a killed process leaves it, with its log of writes."""
    runs = made(project)
    folder = project.root / STATE_DIR
    killed = keep(folder, tmp_path / "killed")
    project.facade.close()
    rested = keep(folder, tmp_path / "rested")
    chance = random.Random(SEED)
    expected = {state: reads(state, runs) for state in (killed, rested)}
    counts = {"reported": 0, "unchanged": 0}
    for number in range(FLIPS):
        state = (killed, rested)[number % 2]
        place = turned_over(state, chance)
        seen = seen_in(place, runs)
        assert seen in ("reported", expected[state]), (
            f"PODIUM_SEED={SEED}, flip {number}: {place.name} {seen}"
        )
        counts["reported" if seen == "reported" else "unchanged"] += 1
        shutil.rmtree(place)
    sys.stdout.write(f"\n{FLIPS} bits turned over: {counts}\n")
    assert counts["reported"] > FLIPS // 10


def made(project: Project) -> tuple[RunId, ...]:
    """Three runs: one that ended, one that waits, one that waits with letters nobody has read."""
    file = project.flow(STEPS)
    runs = tuple(project.run(file)[0] for _ in range(3))
    project.say(runs[0], Approve(Address("ask"), "approve", "ann"))
    for number in range(20):
        project.store.post(
            runs[2], f"letter {number}", encode_command(Signal(f"signal {number}", "x" * 40, "ann"))
        )
    return runs


def keep(folder: Path, target: Path) -> Path:
    """What is on the disk at this moment."""
    place = target / STATE_DIR
    place.mkdir(parents=True)
    for name in FILES:
        if (folder / name).exists():
            shutil.copyfile(folder / name, place / name)
    for head in folder.glob("runs/*/chain_head"):
        (place / "runs" / head.parent.name).mkdir(parents=True)
        shutil.copyfile(head, place / "runs" / head.parent.name / "chain_head")
    return target


def turned_over(state: Path, chance: random.Random) -> Path:
    place = state.with_name("flipped")
    shutil.copytree(state, place)
    names = [name for name in FILES if (state / STATE_DIR / name).exists()]
    path = place / STATE_DIR / chance.choice(names)
    content = bytearray(path.read_bytes())
    # Room that was never used has nothing to lose: nine of ten bits are turned over before it.
    end = len(content.rstrip(b"\0")) if chance.random() < 0.9 else len(content)
    bit = chance.randrange(end * 8)
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)
    return place.rename(place.with_name(f"{path.name}.{bit}"))


def seen_in(place: Path, runs: tuple[RunId, ...]) -> Any:
    """What every read gives, or that somebody has said a word."""
    try:
        store = SqliteStore(place / STATE_DIR / "podium.db")
    except PodiumError:
        return "reported"
    try:
        heads = [store.head(run) for run in runs]
        faults = [
            head is None or verify(store, ProjectPaths(place), head).fault is not None for head in heads
        ]
        return "reported" if any(faults) else all_of(store, runs)
    except PodiumError:
        return "reported"
    finally:
        store.close()


def reads(state: Path, runs: tuple[RunId, ...]) -> Any:
    copy = shutil.copytree(state, state.with_name("copy"))
    seen = seen_in(copy, runs)
    shutil.rmtree(copy)
    assert seen != "reported"
    return seen


def all_of(store: SqliteStore, runs: tuple[RunId, ...]) -> Any:
    names = ("start", *(f"letter {number}" for number in range(20)))
    return store.heads(), [
        (store.head(run), store.read(run), store.commands(run), [store.reply(run, name) for name in names])
        for run in runs
    ]


def test_a_run_whose_last_events_are_gone_is_not_carried_on(project: Project) -> None:
    """R149: else what they tell of would be done a second time. `chain_head` knows of them outside the database."""
    run, _ = project.run(project.flow(STEPS))
    db = apsw.Connection(str(project.root / STATE_DIR / "podium.db"))
    db.execute("delete from event where id = (select max(id) from event)")
    before = project.store.read(run)

    with pytest.raises(
        StoreError, match=r"cannot be trusted: the log ends at event \d+, and chain_head knows"
    ):
        project.resume(run)

    assert project.store.read(run) == before
