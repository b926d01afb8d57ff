"""Chooses a share of the cases of each test file, so that a long suite fits into the time that CI has for it."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Sequence


def left_out(ids: Sequence[str], share: float, *, seed: str) -> frozenset[str]:
    """The ids that are not run. Every file keeps at least one case, and the same seed chooses the same ones."""
    if share >= 1:
        return frozenset()
    files: dict[str, list[str]] = defaultdict(list)
    for node_id in ids:
        files[node_id.partition("::")[0]].append(node_id)
    return frozenset(
        node_id for name, cases in files.items() for node_id in _rest(name, cases, share=share, seed=seed)
    )


def _rest(name: str, cases: list[str], *, share: float, seed: str) -> list[str]:
    shuffled = sorted(cases)
    random.Random(f"{seed} {name}").shuffle(shuffled)
    return shuffled[max(1, math.ceil(len(cases) * share)) :]
