"""What the figures suggest to change: each suggestion with its evidence, and the command to follow.

Rule: a suggestion is made only if the whole interval of its figure is beyond the bound, never for a figure alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from podium.app.metrics.query import Source, sums_of
from podium.app.metrics.views import Tables, name_column
from podium.views.metrics.tables import Cell, Column, MetricTable, number_cell, share_cell
from podium.views.metrics.uncertainty import Share, mean_of, share_of

MOST: Final = 5
SAMPLES: Final = 10
"""How many visits, or runs where attempts are counted: attempts of one run resemble each other."""


class Suggestion(NamedTuple):
    rule: str
    about: str
    """The step, gate, agent or person."""
    evidence: str
    samples: int
    proposal: str
    command: str


def advice(source: Source, _: Cell) -> Tables:
    """The suggestions with the most samples first."""
    rows_first = sorted(_suggestions(source), key=lambda each: (-each.samples, each.rule, each.about))[:MOST]
    columns = (
        name_column("rule", "rule"),
        name_column("about", "about"),
        name_column("evidence", "evidence"),
        Column("samples", "n", number_cell),
        name_column("try", "proposal")._replace(cell=str),
        name_column("look", "command")._replace(cell=str),
    )
    rows: tuple[dict[str, Any], ...] = tuple(each._asdict() for each in rows_first)
    note = () if rows else ("nothing to suggest: no figure is clearly beyond its bound",)
    return (MetricTable("advice", "Suggestions", columns, rows, note),)


def _suggestions(source: Source) -> Iterator[Suggestion]:
    yield from _retries(source)
    yield from _first_gates(source)
    yield from _idle_gates(source)
    yield from _windows(source)
    yield from _no_changes(source)
    yield from _unpriced(source)
    yield from _quick_answers(source)


def _retries(source: Source) -> Iterator[Suggestion]:
    for step, *row, run in source.rows("retries"):
        mean = mean_of(sums_of(row))
        if mean.samples >= SAMPLES and mean.low is not None and mean.low > 2 and mean.value is not None:
            yield Suggestion(
                "retries",
                step,
                f"{mean.value:.1f} retries per visit, at least {mean.low:.1f}",
                mean.samples,
                "name the failing gate's command in the prompt, or raise context.budget",
                f"podium logs {run} --failed",
            )


def _first_gates(source: Source) -> Iterator[Suggestion]:
    for step, gate, total, failed, run in source.rows("first gates"):
        share = share_of(failed, total)
        if _clearly(share, least=0.5, bound=0.3):
            yield Suggestion(
                "first_gate",
                f"{step}, gate {gate}",
                f"fails on {share_cell(share)} of first attempts",
                total,
                "tell the agent beforehand what the gate checks, or split the step",
                f"podium logs {run} --failed",
            )


def _idle_gates(source: Source) -> Iterator[Suggestion]:
    for gate, total, failed, run in source.rows("gates"):
        if total >= 50 and not failed:
            yield Suggestion(
                "idle_gate",
                f"gate {gate}",
                f"never failed in {total}",
                total,
                "write must_fail_before, or check that it tests anything",
                f"podium show {run}",
            )


def _windows(source: Source) -> Iterator[Suggestion]:
    for role, agent, total, _, _, _, at_80, _, runs in source.rows("context"):
        share = share_of(at_80, total)
        if runs >= SAMPLES and _clearly(share, least=0.2, bound=0.1):
            yield Suggestion(
                "window",
                f"{role} with {agent}",
                f"{share_cell(share)} of attempts use 80 % of the window",
                total,
                "split the step, lower context.budget, or use continuity: fresh",
                "podium metrics context",
            )


def _no_changes(source: Source) -> Iterator[Suggestion]:
    totals = {(role, agent): (count, runs) for role, agent, count, runs in source.rows("attempts")}
    for role, agent, category, count, run in source.rows("errors"):
        total, runs = totals[role, agent]
        share = share_of(count, total)
        if category == "no_change" and runs >= SAMPLES and _clearly(share, least=0.1, bound=0.05):
            yield Suggestion(
                "nothing_done",
                f"{role} with {agent}",
                f"{share_cell(share)} of attempts change nothing",
                total,
                "say in the prompt which files to change",
                f"podium logs {run} --failed",
            )


def _unpriced(source: Source) -> Iterator[Suggestion]:
    for agent, *row in source.rows("costs by agent"):
        calls, unknown = row[6], row[8]
        share = share_of(unknown, calls)
        if agent != "-" and _clearly(share, least=0.1, bound=0.05):
            yield Suggestion(
                "unpriced",
                agent,
                f"{share_cell(share)} of calls have no price",
                calls,
                f"write agents.{agent}.price",
                "podium metrics costs",
            )


def _quick_answers(source: Source) -> Iterator[Suggestion]:
    for who, total, quick, run in source.rows("quick answers"):
        share = share_of(quick, total)
        if total >= SAMPLES and _clearly(share, least=0.8, bound=0.5):
            yield Suggestion(
                "quick_yes",
                who,
                f"{share_cell(share)} of approvals within 10 s",
                total,
                "ask less often, or show: [diff]",
                f"podium show {run}",
            )


def _clearly(share: Share, *, least: float, bound: float) -> bool:
    return share.share is not None and share.low is not None and share.share >= least and share.low > bound
