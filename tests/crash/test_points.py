"""Every append and every effect of the stories is a place to crash, right before it and right after it.

PODIUM_POINTS says how many of each story, 0 all of them; PODIUM_PAIRS how many of them crash a second time on resume.
"""

from __future__ import annotations

import os
import random
import re
import traceback
from pathlib import Path

import pytest

from tests.crash.conftest import COUNTS, WholeOf
from tests.crash.enduring import Endurance, Undisturbed, assert_as_undisturbed, copied
from tests.crash.nursery import Nursery
from tests.crash.stories import STORIES

POINTS = int(os.environ.get("PODIUM_POINTS", "9"))
PAIRS = int(os.environ.get("PODIUM_PAIRS", "1"))
PARTS = 1 if 0 < POINTS <= 10 else 10
READING = re.compile(
    r"(before|after) (end git|start git (rev-parse|cat-file|ls-tree|rev-list|diff-tree|status|symbolic-ref|config))"
)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.req("R145", "R146", "R149", "R152", "X1", "X11", "X15", "R240")
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", STORIES)
def test_a_story_that_crashes_at_a_named_point_ends_as_if_undisturbed(
    name: str,
    part: int,
    warm: Nursery,
    whole_of: WholeOf,
    tmp_path: Path,
) -> None:
    whole = whole_of(name)
    chosen = selected(whole.points)
    chance = random.Random(name)
    twice = chance.sample(range(len(chosen)), min(PAIRS, len(chosen)))
    COUNTS["points there are"] += len(whole.points) if part == 0 else 0
    faults = []
    for number in range(part, len(chosen), PARTS):
        ends: tuple[str | int, ...] = (chosen[number],)
        if number in twice:
            ends = (chosen[number], chance.randrange(1, 60))
        try:
            endure(warm, name, whole, tmp_path / str(number), ends, everything=number % 2 == 1)
        except Exception:  # noqa: BLE001 (the other points are tried as well)
            faults.append(f"{name} at {ends}: {traceback.format_exc()}")
    COUNTS["faults"] += len(faults)
    assert not faults, "\n\n".join(faults)


def selected(points: tuple[str, ...]) -> list[str]:
    """Every append and the first of every other effect, then what is left, as many as are wanted, in their order."""
    effects = [point for point in points if not READING.match(point)]
    first = [point for point in effects if " append " in point or point.endswith(" (1)")]
    rest = [point for point in effects if point not in set(first)]
    if POINTS == 0:
        return first + rest
    if len(first) >= POINTS:
        return [first[index * len(first) // POINTS] for index in range(POINTS)]
    return first + rest[: POINTS - len(first)]


def endure(
    warm: Nursery,
    name: str,
    whole: Undisturbed,
    folder: Path,
    ends: tuple[str | int, ...],
    *,
    everything: bool,
) -> None:
    with copied(whole.template, folder) as project:
        run = Endurance(warm, name, project)
        run.go(*ends, everything=everything)
        COUNTS["runs"] += 1
        COUNTS["points tried"] += run.crashes > 0
        COUNTS["second crashes, on resume"] += run.crashes > 1
        assert_as_undisturbed(run, whole)
