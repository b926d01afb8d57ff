"""Chooses among agents by how their earlier visits went: pure functions of the samples, the settings and a seed.

Rule 1: the standard, which a person wrote first, is left only for an agent that scores clearly higher. Rule 2: no agent is
preferred whose success is clearly below the standard's by more than `max_deviation`; it may be explored, or bad luck would
exclude it for good. Rule 3: an unknown cost counts as the dearest.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from podium.app.choosing.settings import Adaptive
from podium.views.format import dollars, plural
from podium.views.metrics.uncertainty import wilson

DRAWS: Final = 200
"""How often a choice by Thompson sampling is repeated to tell its chance."""


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
    samples: int
    hits: int
    weight: float
    weighted_hits: float
    usd: float | None

    @property
    def success(self) -> float:
        return (self.weighted_hits + 1) / (self.weight + 2)


class Decision(NamedTuple):
    agent: str
    why: str
    chance: float


def records_of(samples: Sequence[Sample], agents: Sequence[str], half_life: int) -> dict[str, Record]:
    """The record of each agent; `samples` are ordered from the oldest to the newest.

    A visit counts less for each later one of the same agent. If it did for each later visit of anybody, what is known about an
    agent that is rarely asked would fade, and it would never be preferred.
    """
    decay = 0.5 ** (1 / half_life)
    visits = Counter(sample.agent for sample in samples)
    counts: dict[str, list[float]] = {agent: [0, 0, 0.0, 0.0, 0.0, 0.0] for agent in agents}
    weights = dict.fromkeys(agents, 1.0)
    for sample in reversed(samples):
        count = counts.get(sample.agent)
        if count is not None and sample.stood is not None:
            weight = weights[sample.agent]
            weights[sample.agent] = weight * decay
            count[0] += 1
            count[1] += sample.stood
            count[2] += weight
            count[3] += weight * sample.stood
            if sample.usd is not None:
                count[4] += weight
                count[5] += weight * sample.usd
    return {
        agent: Record(visits[agent], int(n), int(k), w, wk, usd / wu if wu else None)
        for agent, (n, k, w, wk, wu, usd) in counts.items()
    }


def decide(
    samples: Sequence[Sample],
    agents: Sequence[str],
    settings: Adaptive,
    seed: str,
    *,
    explores: bool = True,
    draws: int = DRAWS,
) -> Decision:
    """Choose among these agents, of which the first is the standard; equal arguments give equal decisions."""
    standard = agents[0]
    if settings.policy == "first" or len(agents) == 1:
        return Decision(standard, "the only candidate" if len(agents) == 1 else "policy: first", 1.0)
    records = records_of(samples, agents, settings.half_life)
    if not any(record.samples for record in records.values()) and not explores:
        return Decision(standard, "no history", 1.0)
    # Not for a secret: equal seeds have to give equal choices.
    luck = random.Random(int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "big"))  # noqa: S311
    if settings.policy == "thompson":
        return _thompson(records, agents, settings, luck, draws)
    # An agent that is out of quota is asked without giving a sample; it must not be explored for ever.
    few = any(record.visits < settings.min_samples for record in records.values())
    share = (settings.explore_first if few else settings.explore_later) if explores else 0.0
    rarest = min((*agents[1:], standard), key=lambda agent: records[agent].visits)
    best = _best(records, agents, settings)
    if luck.random() < share:
        chance = share + (1 - share) * (rarest == best)
        why = f"exploring, {share:.0%} of visits: asked {plural(records[rarest].visits, 'time')} so far"
        return Decision(rarest, why, chance)
    chance = (1 - share) + share * (rarest == best)
    return Decision(best, _reason(records, agents, best, settings), chance)


def scores_of(records: Mapping[str, Record], settings: Adaptive) -> dict[str, float]:
    costs = [record.usd for record in records.values() if record.usd is not None]
    dearest = max(costs, default=0.0)
    return {
        agent: settings.success * record.success + settings.cost * _saving(record.usd, dearest)
        for agent, record in records.items()
    }


def _saving(usd: float | None, dearest: float) -> float:
    return 0.0 if usd is None or not dearest else 1 - usd / dearest


def _best(records: Mapping[str, Record], agents: Sequence[str], settings: Adaptive) -> str:
    standard = agents[0]
    scores = scores_of(records, settings)
    if records[standard].samples < settings.min_samples:
        return standard
    eligible = [
        agent
        for agent in agents[1:]
        if records[agent].samples >= settings.min_samples
        and scores[agent] - scores[standard] >= settings.edge
        and _succeeds(records[agent], records[standard], settings)
    ]
    return max(eligible, key=lambda agent: scores[agent], default=standard)


def _succeeds(record: Record, standard: Record, settings: Adaptive) -> bool:
    """Whether an agent's success may lie within `max_deviation` of the standard's.

    The bound of its interval decides, not the share itself: ten visits with bad luck would exclude a good agent.
    """
    _, high = wilson(record.hits, record.samples)
    return high >= standard.success * (1 - settings.max_deviation)


def _thompson(
    records: Mapping[str, Record],
    agents: Sequence[str],
    settings: Adaptive,
    luck: random.Random,
    draws: int,
) -> Decision:
    """Draw the success of each agent from what is known about it, and take the best draw."""
    standard = records[agents[0]]
    learned = standard.samples >= settings.min_samples
    allowed = [
        agent
        for agent in agents
        if agent == agents[0]
        or not learned
        or records[agent].samples < settings.min_samples
        or _succeeds(records[agent], standard, settings)
    ]
    costs = [record.usd for record in records.values() if record.usd is not None]
    dearest = max(costs, default=0.0)

    def draw() -> str:
        def score(agent: str) -> float:
            record = records[agent]
            success = luck.betavariate(record.weighted_hits + 1, record.weight - record.weighted_hits + 1)
            return settings.success * success + settings.cost * _saving(record.usd, dearest)

        return max(allowed, key=score)

    chosen = draw()
    chance = (1 + sum(draw() == chosen for _ in range(draws))) / (1 + draws)
    return Decision(chosen, f"thompson; {_figures(records, agents, chosen)}", round(chance, 4))


def _reason(records: Mapping[str, Record], agents: Sequence[str], best: str, settings: Adaptive) -> str:
    standard = agents[0]
    if not any(record.samples for record in records.values()):
        return "no history"
    if records[standard].samples < settings.min_samples and best == standard:
        return f"{records[standard].samples} of {settings.min_samples} samples that a comparison needs"
    if best == standard:
        rivals = [agent for agent in agents[1:] if records[agent].samples >= settings.min_samples]
        if not rivals:
            return f"no other candidate has {settings.min_samples} samples"
        scores = scores_of(records, settings)
        best_rival = max(rivals, key=lambda agent: scores[agent])
        return (
            f"{best_rival} is not clearly better: {scores[best_rival]:.2f} against {scores[standard]:.2f}, "
            f"edge {settings.edge:g}; {_figures(records, agents, best_rival)}"
        )
    scores = scores_of(records, settings)
    return (
        f"{scores[best]:.2f} against {standard}'s {scores[standard]:.2f}, edge {settings.edge:g}; "
        f"{_figures(records, agents, best)}"
    )


def _figures(records: Mapping[str, Record], agents: Sequence[str], shown: str) -> str:
    names = [shown, *([agents[0]] if shown != agents[0] else [])]
    return ", ".join(_figure(agent, records[agent]) for agent in names)


def _figure(agent: str, record: Record) -> str:
    cost = "cost unknown" if record.usd is None else dollars(record.usd)
    return f"{agent} stood {record.hits} of {record.samples}, {cost}"
