"""A run that is killed at random moments, again and again, ends as if nothing had happened (issue 3, point 2).

PODIUM_KILLS says how many moments, PODIUM_SEED which ones.
"""

from __future__ import annotations

import os
import random
import traceback
from itertools import count
from pathlib import Path

import pytest

from tests.crash.conftest import COUNTS, WholeOf
from tests.crash.enduring import Endurance, assert_as_undisturbed, copied
from tests.crash.nursery import Nursery
from tests.crash.stories import ALL

KILLS = int(os.environ.get("PODIUM_KILLS", "12"))
SEED = int(os.environ.get("PODIUM_SEED", "1"))
PER_RUN = 6
MOST_RUNS = 4 * KILLS
MOST_FAULTS = 3


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.req("R145", "R146", "R149", "X11", "X15")
def test_runs_killed_at_random_moments_end_as_if_undisturbed(
    warm: Nursery, whole_of: WholeOf, tmp_path: Path
) -> None:
    kills, faults = 0, list[str]()
    for number in count():
        if kills >= KILLS:
            break
        assert len(faults) < MOST_FAULTS, "\n\n".join(faults)
        assert number < MOST_RUNS, "they end before they are killed"
        # The large one first, also where there are few kills.
        name = list(ALL)[-1 - number % len(ALL)]
        whole = whole_of(name)
        with copied(whole.template, tmp_path / str(number)) as project:
            story = Endurance(warm, name, project)
            try:
                story.harass(min(PER_RUN, KILLS - kills), whole.seconds, random.Random(f"{SEED}/{number}"))
                assert_as_undisturbed(story, whole)
            except Exception:  # noqa: BLE001 (the others are tried as well)
                which = f"PODIUM_SEED={SEED}, run {number}, {name}, {story.crashes} kills"
                faults.append(f"{which}: {traceback.format_exc()}")
                COUNTS["faults"] += 1
        kills += story.crashes
        COUNTS["runs"] += 1
        COUNTS["kills at random moments"] += story.crashes
        COUNTS["of these on resume"] += max(0, story.crashes - 1)
    assert not faults, "\n\n".join(faults)
