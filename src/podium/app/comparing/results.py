"""The report of an experiment: what each arm did, what may be claimed, and where a better arm did harm.

Rule: a case whose graders gave two answers for one tree is left out of the claims, and a block counts only if every arm
has a result in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any, Final, NamedTuple

from podium.app.comparing.statistics import LEAST_CASES, Claim, Difference, claims_of, difference_of, power_of
from podium.app.comparing.suite import Suite
from podium.app.comparing.trials import TrialResult
from podium.views.format import dollars, duration, plural
from podium.views.metrics.uncertainty import wilson

GAPS: Final = (0.2, 0.4)
MARKS: Final = {True: "●", False: "○"}


class ArmResult(NamedTuple):
    name: str
    trials: int
    passed: int
    all_passed: int
    """Cases of which every trial passed."""
    usd: float
    unknown_calls: int
    seconds: float | None
    """The median of a trial."""
    retries: int
    questions: int
    false_accepted: int
    """Trials whose run passed and whose result did not pass the graders."""


class Comparison(NamedTuple):
    arm: str
    difference: Difference
    claim: Claim
    harmed: tuple[str, ...]
    """Cases that the first arm passed more often."""


class Outcome(NamedTuple):
    arms: tuple[ArmResult, ...]
    comparisons: tuple[Comparison, ...]
    """Of each other arm with the first one."""
    grid: dict[str, dict[str, tuple[bool, ...]]]
    """By case and arm, whether each trial passed."""
    unsteady: tuple[str, ...]


def outcome_of(suite: Suite, results: Sequence[TrialResult], seed: int) -> Outcome:
    arms = [arm.name for arm in suite.arms]
    grid: dict[str, dict[str, tuple[bool, ...]]] = {
        case.name: {
            arm: tuple(r.passed for r in results if (r.case, r.arm) == (case.name, arm)) for arm in arms
        }
        for case in suite.cases
    }
    unsteady = tuple(
        case.name for case in suite.cases if any(r.case == case.name and not r.steady for r in results)
    )
    blocks = _whole_blocks(results, arms)
    cases = sorted({case for case, _ in blocks} - set(unsteady))
    shares = {
        (case, arm): [
            r.passed for r in results if r.arm == arm and r.case == case and (case, r.number) in blocks
        ]
        for case in cases
        for arm in arms
    }
    differences = []
    for arm in arms[1:]:
        each = [_share(shares[case, arm]) - _share(shares[case, arms[0]]) for case in cases]
        differences.append(difference_of(each, seed=seed))
    claims = claims_of(differences, suite.margin)
    harmed = [
        tuple(case for case in cases if _share(shares[case, arm]) < _share(shares[case, arms[0]]))
        for arm in arms[1:]
    ]
    comparisons = tuple(map(Comparison, arms[1:], differences, claims, harmed))
    return Outcome(tuple(_arm(arm, results, grid) for arm in arms), comparisons, grid, unsteady)


def _whole_blocks(results: Sequence[TrialResult], arms: Sequence[str]) -> set[tuple[str, int]]:
    done = {(r.case, r.number, r.arm) for r in results}
    pairs = {(case, number) for case, number, _ in done}
    return {(case, number) for case, number in pairs if all((case, number, arm) in done for arm in arms)}


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values)


def _arm(
    name: str, results: Sequence[TrialResult], grid: dict[str, dict[str, tuple[bool, ...]]]
) -> ArmResult:
    own = [r for r in results if r.arm == name]
    return ArmResult(
        name,
        len(own),
        sum(r.passed for r in own),
        sum(bool(row[name]) and all(row[name]) for row in grid.values()),
        sum(r.usd for r in own),
        sum(r.unknown_calls for r in own),
        median(r.seconds for r in own) if own else None,
        sum(r.retries for r in own),
        sum(r.questions for r in own),
        sum(r.status == "passed" and not r.passed for r in own),
    )


def before_lines(suite: Suite, worst_usd: float, seed: int, done: int) -> list[str]:
    """What is known before the first call: the number of trials, the worst cost, and what could be seen at all."""
    cases, arms = len(suite.cases), len(suite.arms)
    total = cases * arms * suite.trials
    lines = [
        f"{suite.name}: {cases} cases x {arms} arms x {plural(suite.trials, 'trial')} = {total} runs, seed {seed}",
        f"worst case ${min(worst_usd, suite.usd):.2f}; it stops before ${suite.usd:.2f} could be exceeded",
    ]
    if done:
        lines.append(f"{done} of them have a result already")
    if cases < LEAST_CASES:
        lines.append(f"with fewer than {LEAST_CASES} cases nothing is claimed")
    else:
        powers = [power_of(cases, suite.trials, gap) for gap in GAPS]
        seen = ", ".join(f"one of {power.gap:.0%} in {power.share:.0%}" for power in powers)
        lines.append(f"a true difference would be claimed: {seen} of experiments")
    return lines


def report_lines(suite: Suite, outcome: Outcome, *, planned: int, seed: int, stopped: str) -> list[str]:
    done = sum(arm.trials for arm in outcome.arms)
    lines = [f"# {suite.name}", "", f"{done} of {planned} runs, {len(suite.cases)} cases, seed {seed}."]
    lines += [f"Stopped: {stopped}."] if stopped else []
    harms = [each for each in outcome.comparisons if each.harmed]
    first = outcome.arms[0].name
    lines += [
        f"Cases that {first} passes more often than {each.arm}: {', '.join(each.harmed)}." for each in harms
    ]
    lines += [
        "",
        "| arm | passed | all trials | cost | per passed | time | retries | questions | false acceptance |",
    ]
    lines += ["|" + "---|" * 9, *(_arm_line(arm, len(suite.cases)) for arm in outcome.arms), ""]
    lines += [_claim_line(each, first, suite.margin) for each in outcome.comparisons]
    lines += [
        "",
        f"| case | {' | '.join(arm.name for arm in outcome.arms)} |",
        "|---" * (len(outcome.arms) + 1) + "|",
    ]
    for case, row in outcome.grid.items():
        cells = ("".join(MARKS[passed] for passed in row[arm.name]) or "-" for arm in outcome.arms)
        lines.append(f"| {case}{' (unsteady)' if case in outcome.unsteady else ''} | {' | '.join(cells)} |")
    unknown = sum(arm.unknown_calls for arm in outcome.arms)
    lines += ["", f"{plural(unknown, 'call')} without a price are not in the costs."] if unknown else []
    if outcome.unsteady:
        lines += [
            "",
            "Unsteady: two gradings of one tree gave two answers; these cases are left out of the claims.",
        ]
    return [*lines, "", "This holds on these cases, with the models of the day."]


def _arm_line(arm: ArmResult, cases: int) -> str:
    low, high = wilson(arm.passed, arm.trials)
    passed = f"{arm.passed} of {arm.trials} ({100 * low:.0f}-{100 * high:.0f} %)" if arm.trials else "-"
    per = dollars(arm.usd / arm.passed * 1e6) if arm.passed else f"none for {dollars(arm.usd * 1e6)}"
    took = "-" if arm.seconds is None else duration(arm.seconds * 1000)
    cells = (
        arm.name,
        passed,
        f"{arm.all_passed} of {cases} cases",
        dollars(arm.usd * 1e6),
        per,
        took,
        arm.retries,
        arm.questions,
        arm.false_accepted,
    )
    return f"| {' | '.join(map(str, cells))} |"


def _claim_line(each: Comparison, first: str, margin: float) -> str:
    measured = each.difference
    figure = f"{100 * measured.mean:+.0f} points ({100 * measured.low:+.0f} to {100 * measured.high:+.0f}), p = {measured.p:.3f}"
    words = {
        "better": f"{each.arm} is better than {first}",
        "worse": f"{each.arm} is worse than {first}",
        "no worse": f"{each.arm} is not worse than {first} by more than {100 * margin:.0f} points",
        "cannot tell": f"cannot tell whether {each.arm} differs from {first}",
        "too few cases": f"no claim about {each.arm} and {first}: fewer than {LEAST_CASES} cases",
    }[each.claim]
    return f"- {words}: {figure}, {measured.cases} cases."


def report_data(suite: Suite, outcome: Outcome, seed: int, stopped: str) -> dict[str, Any]:
    return {
        "suite": suite.name,
        "seed": seed,
        "stopped": stopped,
        "arms": [arm._asdict() for arm in outcome.arms],
        "comparisons": [
            {"arm": each.arm, "claim": each.claim, "harmed": list(each.harmed), **each.difference._asdict()}
            for each in outcome.comparisons
        ],
        "cases": {case: {arm: list(row) for arm, row in arms.items()} for case, arms in outcome.grid.items()},
        "unsteady": list(outcome.unsteady),
    }
