"""Which files were changed together in earlier commits: the best predictor of what else a change touches."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from podium.fast_dataclass import dataclass

MAX_COMMITS: Final = 3_000
MAX_FILES: Final = 30
"""A commit with more files is a rename, a reformatting or a release."""
HALF_LIFE: Final = 1_500
"""After so many commits, one counts half."""


@dataclass(frozen=True, slots=True)
class History:
    """The files of each commit up to the base, the newest first; `note` says what is missing."""

    commits: Sequence[tuple[str, ...]] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class CoChange:
    score: float
    times: int


def changed_together(history: History, targets: Collection[str]) -> Mapping[str, CoChange]:
    """How strongly each file was changed together with the targets; small and recent commits count more."""
    scores: defaultdict[str, float] = defaultdict(float)
    times: defaultdict[str, int] = defaultdict(int)
    aims = frozenset(targets)
    for age, paths in enumerate(history.commits[:MAX_COMMITS]):
        if not 1 < len(paths) <= MAX_FILES:
            continue
        hits = sum(path in aims for path in paths)
        if not hits:
            continue
        weight = hits / math.log2(1 + len(paths)) * 0.5 ** (age / HALF_LIFE)
        for path in paths:
            if path not in aims:
                scores[path] += weight
                times[path] += 1
    return {path: CoChange(score, times[path]) for path, score in scores.items()}
