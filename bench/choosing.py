"""What each policy of `agent: auto` loses on synthetic histories, against always asking the agent that is best.

Regret is in points of the score: 0.7 for success and 0.3 for savings. `make regret` prints the table of the docs.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from statistics import mean
from typing import Final, NamedTuple

from podium.app.choosing.policy import decide_by
from podium.app.choosing.records import Sample, records_of
from podium.app.choosing.settings import Adaptive

VISITS: Final = 400
SEEDS: Final = 200
FROZEN: Final = 10
"""So many visits see the same figures, as within one interval."""


class Arm(NamedTuple):
    success: float
    usd: float


Scenario = Callable[[int], tuple[Arm, ...]]
SCENARIOS: Final[dict[str, Scenario]] = {
    "standard is best": lambda _: (Arm(0.85, 0.3), Arm(0.75, 0.3), Arm(0.65, 0.3)),
    "another is better": lambda _: (Arm(0.60, 0.3), Arm(0.836, 0.3), Arm(0.60, 0.3)),
    "another is cheap, nearly as good": lambda _: (Arm(0.85, 1.0), Arm(0.80, 0.183), Arm(0.70, 0.9)),
    "the standard gets worse at half": lambda n: (
        Arm(0.85 if n < VISITS / 2 else 0.436, 0.3),
        Arm(0.80, 0.3),
        Arm(0.60, 0.3),
    ),
}
POLICIES: Final = {
    "first": Adaptive(policy="first"),
    "rule": Adaptive(),
    "thompson": Adaptive(policy="thompson"),
}
NAMES: Final = ("a", "b", "c")


class Result(NamedTuple):
    regret: float
    high: float
    """The 95th percentile."""
    off: float
    """The share of visits that were not sent to the standard."""


def play(scenario: Scenario, settings: Adaptive, seed: int) -> tuple[float, float]:
    """The regret of one history, and the share of visits away from the standard."""
    world = random.Random(seed)
    samples: list[Sample] = []
    seen = records_of((), NAMES, settings)
    regret, off = 0.0, 0
    for number in range(VISITS):
        if number % FROZEN == 0:
            seen = records_of(samples, NAMES, settings)
        arms = scenario(number)
        dearest = max(arm.usd for arm in arms)
        scores = [0.7 * arm.success + 0.3 * (1 - arm.usd / dearest) for arm in arms]
        place = NAMES.index(decide_by(seen, NAMES, settings, f"{seed}/{number}", draws=1).agent)
        regret += max(scores) - scores[place]
        off += place != 0
        arm = arms[place]
        samples.append(Sample(NAMES[place], world.random() < arm.success, round(arm.usd * 1_000_000)))
    return regret, off / VISITS


def measure(scenario: str, policy: str, seeds: int = SEEDS) -> Result:
    runs = [play(SCENARIOS[scenario], POLICIES[policy], seed) for seed in range(seeds)]
    regrets = sorted(regret for regret, _ in runs)
    return Result(mean(regrets), regrets[int(0.95 * len(regrets))], mean(off for _, off in runs))


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS
    print(
        f"{VISITS} visits, {len(NAMES)} agents, {seeds} histories: mean regret (95th percentile), share away"
    )
    for scenario in SCENARIOS:
        print(scenario)
        for policy in POLICIES:
            result = measure(scenario, policy, seeds)
            print(f"  {policy:<9}{result.regret:>6.1f} ({result.high:.1f})  {result.off:.0%}")


if __name__ == "__main__":
    main()
