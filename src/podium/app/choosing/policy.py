"""Chooses among agents by how their earlier visits went: pure functions of the samples, the settings and a seed.

Rule 1: the standard, which a person wrote first, is left only for an agent that scores clearly higher. Rule 2: no agent is
preferred whose success is clearly below the standard's by more than `max_deviation`; it may be explored, or bad luck would
exclude it for good. Rule 3: an unknown cost counts as the dearest. Rule 4: if an agent succeeds clearly less often than it used
to, its earlier visits stop counting.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from podium.app.choosing.records import Record, Sample, records_of
from podium.app.choosing.settings import Adaptive
from podium.views.format import dollars, plural
from podium.views.metrics.uncertainty import wilson

DRAWS: Final = 200
"""How often a choice by Thompson sampling is repeated to tell its chance."""

# The following values were chosen by `make regret`; decision 320 has the measurements.
EVIDENCE: Final = 2.0
"""Thompson sampling counts each visit so many times: it explores less than with 1, which pays within some hundred visits."""
PRIOR: Final = 4.0
"""Before its first visits, an agent is expected to succeed like all candidates together, as if from so many visits."""
LEAN: Final = 0.01
"""By how much another agent's draw must exceed the standard's."""


class Decision(NamedTuple):
    agent: str
    why: str
    chance: float


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
    records = records_of(samples, agents, settings)
    return decide_by(records, agents, settings, seed, explores=explores, draws=draws)


def decide_by(
    records: Mapping[str, Record],
    agents: Sequence[str],
    settings: Adaptive,
    seed: str,
    *,
    explores: bool = True,
    draws: int = DRAWS,
) -> Decision:
    standard = agents[0]
    if settings.policy == "first" or len(agents) == 1:
        return Decision(standard, "the only candidate" if len(agents) == 1 else "policy: first", 1.0)
    if not any(record.samples for record in records.values()) and not explores:
        return Decision(standard, "no history", 1.0)
    # Not for a secret: equal seeds have to give equal choices.
    luck = random.Random(int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "big"))  # noqa: S311
    if settings.policy == "thompson":
        return _thompson(records, agents, settings, luck, draws)
    return _rule(records, agents, settings, luck, explores=explores)


def _rule(
    records: Mapping[str, Record],
    agents: Sequence[str],
    settings: Adaptive,
    luck: random.Random,
    *,
    explores: bool,
) -> Decision:
    best = _best(records, agents, settings)
    # An agent that is out of quota is asked without giving a sample; it must not be explored for ever.
    few = any(record.visits < settings.min_samples for record in records.values())
    share = settings.explore_first if few else settings.explore_later
    tried = _rarest(records, agents) if few else _promising(records, agents, best, settings)
    if not explores or tried is None:
        return Decision(best, _reason(records, agents, best, settings), 1.0)
    is_best = tried == best
    if luck.random() < share:
        times = plural(records[tried].visits, "time")
        why = f"exploring, {share:.0%} of visits: asked {times} so far"
        return Decision(tried, why, share + (1 - share) * is_best)
    return Decision(best, _reason(records, agents, best, settings), 1 - share + share * is_best)


def _rarest(records: Mapping[str, Record], agents: Sequence[str]) -> str:
    return min((*agents[1:], agents[0]), key=lambda agent: records[agent].visits)


def _promising(
    records: Mapping[str, Record], agents: Sequence[str], best: str, settings: Adaptive
) -> str | None:
    """The agent that would score highest if it had had bad luck; None if even then it would not be preferred."""
    scores, saved = scores_of(records, settings), _savings(records)
    high = {
        agent: settings.success * record.high + settings.cost * saved[agent]
        for agent, record in records.items()
    }
    tried = max((agent for agent in (*agents[1:], agents[0]) if agent != best), key=lambda agent: high[agent])
    needed = scores[best] + (0.0 if tried == agents[0] else settings.edge)
    return tried if high[tried] >= needed else None


def scores_of(records: Mapping[str, Record], settings: Adaptive) -> dict[str, float]:
    saved = _savings(records)
    return {
        agent: settings.success * record.success + settings.cost * saved[agent]
        for agent, record in records.items()
    }


def _savings(records: Mapping[str, Record]) -> dict[str, float]:
    """What share of the dearest candidate's cost each one saves."""
    dearest = max((record.usd for record in records.values() if record.usd is not None), default=0.0)
    return {
        agent: 0.0 if record.usd is None or not dearest else 1 - record.usd / dearest
        for agent, record in records.items()
    }


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
    saved = _savings(records)
    weight, hits = (
        sum(values) for values in zip(*((r.weight, r.weighted_hits) for r in records.values()), strict=True)
    )
    expected = (hits + 1) / (weight + 2)

    def draw() -> str:
        def score(agent: str) -> float:
            record = records[agent]
            missed = record.weight - record.weighted_hits
            success = luck.betavariate(
                EVIDENCE * record.weighted_hits + PRIOR * expected, EVIDENCE * missed + PRIOR * (1 - expected)
            )
            lean = LEAN if agent == agents[0] else 0.0
            return settings.success * success + settings.cost * saved[agent] + lean

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
    since = f" since it got worse ({plural(record.older, 'earlier visit')} left out)" if record.older else ""
    return f"{agent} stood {record.hits} of {record.samples}{since}, {cost}"
