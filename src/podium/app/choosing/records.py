"""What is known of each agent from its earlier visits: recent ones count more, and those before it got worse not at all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from podium.app.choosing.settings import Adaptive, Policy

# The values were chosen by `make regret`; decision 320 has the measurements.
DROP: Final[Mapping[Policy, float]] = {"rule": 4.5, "thompson": 4.0, "first": math.inf}
"""How many standard errors a drop must have. A false alarm costs `rule` more, which then leaves a good standard."""
LEAST_AFTER_DROP: Final[Mapping[Policy, int]] = {"rule": 10, "thompson": 8, "first": 10}
LUCK: Final = 0.75
"""By how many standard errors the success of an agent may be higher than it looks, when exploring is considered."""


class Sample(NamedTuple):
    """One visit of an agent."""

    agent: str
    stood: bool | None
    """None if the visit says nothing about the agent, such as one that a quota ended."""
    usd: int | None
    """None if the cost is not known."""


@dataclass(frozen=True, slots=True)
class Record:
    """What counts for one agent: its own visits, and the same with older ones counting less."""

    visits: int
    """How many visits it was given, whether or not they say anything about it."""
    older: int
    """Visits that do not count any more, because the agent succeeded clearly more often then."""
    samples: int
    hits: int
    weight: float
    weighted_hits: float
    usd: float | None

    @property
    def success(self) -> float:
        return (self.weighted_hits + 1) / (self.weight + 2)

    @property
    def high(self) -> float:
        """Its success if it had had bad luck so far."""
        return min(
            1.0, self.success + LUCK * math.sqrt(self.success * (1 - self.success) / (self.weight + 2))
        )


def records_of(samples: Sequence[Sample], agents: Sequence[str], settings: Adaptive) -> dict[str, Record]:
    """The record of each agent; `samples` are ordered from the oldest to the newest.

    A visit counts less for each later one of the same agent. If it did for each later visit of anybody, what is known about an
    agent that is rarely asked would fade, and it would never be preferred.
    """
    visits: dict[str, list[Sample]] = {agent: [] for agent in agents}
    for sample in samples:
        if sample.agent in visits:
            visits[sample.agent].append(sample)
    return {agent: _record(own, settings) for agent, own in visits.items()}


def _record(visits: Sequence[Sample], settings: Adaptive) -> Record:
    judged = [visit for visit in visits if visit.stood is not None]
    least = LEAST_AFTER_DROP[settings.policy]
    if settings.policy == "rule":
        # With fewer, the standard could not be compared, and would be kept although it got worse.
        least = max(least, settings.min_samples)
    outcomes = since_drop([bool(visit.stood) for visit in judged], least=least, bound=DROP[settings.policy])
    older = len(judged) - len(outcomes)
    decay, weight = 0.5 ** (1 / settings.half_life), 1.0
    total = hits = priced = usd = 0.0
    for visit in reversed(judged[older:]):
        total += weight
        hits += weight * bool(visit.stood)
        if visit.usd is not None:
            priced += weight
            usd += weight * visit.usd
        weight *= decay
    return Record(
        len(visits), older, len(outcomes), sum(outcomes), total, hits, usd / priced if priced else None
    )


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
