"""What tests that bound a time share. How fast Podium is, `bench/` measures; a machine that is slow, busy or stalled
fails no test.

Rules: work is bounded by the processor time it takes, at least ten times above what it needs, or better by how it
grows. Only what people were promised in real time is held against the clock, and it has several chances.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
TRACED = 20
"""How many times longer code may take while its coverage is traced."""


@contextmanager
def work_within(seconds: float) -> Iterator[None]:
    """Fails if what stands inside takes this process more work than that, as an algorithm that blows up does."""
    began = time.process_time()
    yield
    took = time.process_time() - began
    assert took < seconds * slowdown(), f"took {took:.2f} s of the processor"


def work_of(call: Callable[[], object], *, rounds: int = 3) -> float:
    """The seconds of the processor that it takes at best."""
    return min(_work_of(call) for _ in range(rounds))


def _work_of(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def slowdown() -> int:
    return TRACED if sys.gettrace() is not None else 1


def given_time(attempt: Callable[[float], T], *, ready: Callable[[T], bool], first_s: float = 1.0) -> T:
    """What came of a child whose time ran out; if it was not ready by then, it is tried with more time."""
    for seconds in (first_s, 6 * first_s):
        done = attempt(seconds)
        if ready(done):
            return done
    return attempt(36 * first_s)


def best_of(chances: int, measure: Callable[[int], float], *, under: float) -> list[float]:
    """What was measured until it was under the bound, at chance 1, 2, ...; fails if no chance was enough."""
    found: list[float] = []
    for chance in range(1, chances + 1):
        found.append(measure(chance))
        if found[-1] < under:
            return found
    raise AssertionError(f"not under {under:g} in {chances} chances: {[round(each, 3) for each in found]}")
