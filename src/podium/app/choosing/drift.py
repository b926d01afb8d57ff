"""Finds out from when on an agent succeeds clearly less often than before, so that its better days stop counting."""

from __future__ import annotations

import math
from collections.abc import Sequence


def since_drop(outcomes: Sequence[bool], *, least: int, bound: float) -> Sequence[bool]:
    """The outcomes after the clearest drop, or all of them; ordered from the oldest to the newest.

    Each place with at least `least` outcomes before and after it is tried. A drop is clear if the two shares are more than
    `bound` standard errors apart. The bound is far above the usual 2, since the largest of many differences is taken.
    """
    place, clearest = 0, bound
    total, hits_after = sum(outcomes), 0
    share = total / max(1, len(outcomes))
    spread = math.sqrt(share * (1 - share))
    for start in range(len(outcomes) - 1, least - 1, -1):
        hits_after += outcomes[start]
        after = len(outcomes) - start
        if after < least or not spread:
            continue
        drop = (total - hits_after) / start - hits_after / after
        distance = drop / (spread * math.sqrt(1 / start + 1 / after))
        if distance > clearest:
            place, clearest = start, distance
    return outcomes[place:]
