"""The part of `run_summary.md` that compares a run with earlier ones, as they were known when it started (R216)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from podium.core.payloads import EarlierRuns, Spread
from podium.views.files.summary_outputs import audits_of
from podium.views.format import dollars, duration
from podium.views.run.view import RunView, elapsed

BARS: Final = "▁▂▃▄▅▆▇█"
SIMILAR: Final = 0.005
"""A difference of costs below this share is none."""


def history_lines(view: RunView) -> list[str]:
    """The lines of the section; none without earlier runs, and while the run is open."""
    earlier = None if view.facts is None else view.facts.earlier
    if earlier is None or view.ended is None:
        return []
    score = last_score(view)
    return [*_iteration(earlier, score), *_agents(view, earlier, score), *_usage(view, earlier)]


def last_score(view: RunView) -> float | None:
    """The mean score of the last review or audit that gave one, over all members of a panel."""
    scored = [audit for audit in audits_of(view) if audit.score is not None]
    if not scored:
        return None
    parent = scored[-1].step.rpartition("/")[0]
    together = [audit.score for audit in scored if audit.step.rpartition("/")[0] == parent]
    values = together if parent else [scored[-1].score]
    return sum(value for value in values if value is not None) / len(values)


def _iteration(earlier: EarlierRuns, score: float | None) -> Iterator[str]:
    if not earlier.iteration:
        return
    line = f"Iteration {earlier.iteration}."
    if score is not None:
        line = f"Iteration {earlier.iteration}, score {score:.1f}."
    if earlier.best is not None:
        line += f" The best before was {earlier.best:.1f} (`{earlier.best_run}`)"
        line += "." if score is None else f": {score - earlier.best:+.1f}."
    yield line
    scores = (*earlier.scores, *(() if score is None else (score,)))
    if len(scores) > 1:
        yield f"Scores: {', '.join(f'{value:.1f}' for value in scores)} {_bars(scores)}"


def _bars(values: tuple[float, ...]) -> str:
    low, high = min(values), max(values)
    step = (high - low) / (len(BARS) - 1)
    return "".join(BARS[round((value - low) / step)] if step else BARS[len(BARS) // 2] for value in values)


def _agents(view: RunView, earlier: EarlierRuns, score: float | None) -> Iterator[str]:
    """The mean of each author of this run; its score is compared only if it had one author."""
    judges = {audit.step for audit in audits_of(view)}
    authors = {
        str(step.result["agent"])
        for step in view.steps
        if step.result.get("agent") and step.verdict is None and step.path not in judges
    }
    for each in earlier.agents:
        if each.agent in authors:
            line = f"Work of {each.agent} scored {each.mean:.1f} on average in its last {each.runs} runs"
            if score is not None and len(authors) == 1:
                line += f", this time {score:.1f} ({score - each.mean:+.1f})"
            yield f"{line}."


def _usage(view: RunView, earlier: EarlierRuns) -> Iterator[str]:
    if earlier.usd is not None:
        if view.unknown_calls:
            text = f"at least {dollars(view.usd)}, as {view.unknown_calls} of its calls have no price"
            yield f"Cost: {text}; usually {_range(earlier.usd, 'usd')}."
        else:
            yield f"Cost: {dollars(view.usd)}, {_compared(view.usd, earlier.usd, 'usd')}."
    if earlier.time is not None:
        took = elapsed(view, view.at)
        yield f"Time: {duration(took)}, {_compared(took, earlier.time, 'time')}."


def _compared(value: float, usual: Spread, unit: Literal["usd", "time"]) -> str:
    share = value / usual.median - 1 if usual.median else 0.0
    if abs(share) < SIMILAR:
        text = "the median"
    else:
        text = f"{abs(share):.0%} {'above' if share > 0 else 'below'} the median"
    place = "within" if usual.low <= value <= usual.high else "outside"
    return f"{text} of the last {usual.runs} runs, {place} the usual {_range(usual, unit)}"


def _range(usual: Spread, unit: Literal["usd", "time"]) -> str:
    show = dollars if unit == "usd" else duration
    return f"{show(round(usual.low))} to {show(round(usual.high))}"
