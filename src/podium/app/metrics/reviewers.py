"""What reviewers are worth: how often they approve, and whether gates and people agree with them.

Rule: a verdict counts as right or wrong only if something else judged the same tree. All other verdicts are unlabelled, and counted.
"""

from __future__ import annotations

from typing import Any, Final

from podium.app.metrics.query import Source
from podium.app.metrics.views import Tables, name_column
from podium.views.metrics.tables import Cell, Column, MetricTable, number_cell, share_cell
from podium.views.metrics.uncertainty import Share, share_of

STAMP_VERDICTS: Final = 30
APPROVED: Final = 0.9


def reviewers(source: Source, _: Cell) -> Tables:
    """Each reviewer with its share of approvals, its agreement with the truth, and how many bad trees it caught."""
    rows: list[dict[str, Any]] = []
    for reviewer, agent, model, verdicts, approved, findings, good_ok, good, bad_caught, bad in source.rows(
        "reviewers"
    ):
        rows.append(
            {
                "reviewer": reviewer,
                "agent": agent,
                "model": model,
                "verdicts": verdicts,
                "approved": share_of(approved, verdicts),
                "findings": findings,
                "caught": share_of(bad_caught, bad),
                "let_pass": share_of(good_ok, good),
                "unlabelled": verdicts - good - bad,
                "note": _note(share_of(approved, verdicts), findings, share_of(bad_caught, bad)),
            }
        )
    columns = (
        name_column("reviewer", "reviewer"),
        name_column("agent", "agent"),
        Column("verdicts", "verdicts", number_cell),
        Column("approved", "approved", share_cell),
        Column("findings", "findings", number_cell),
        Column("caught", "bad caught", share_cell),
        Column("let_pass", "good approved", share_cell),
        Column("unlabelled", "unlabelled", number_cell),
        name_column("", "note"),
    )
    notes = ("bad and good: what a person or a command gate said of the same tree after the verdict",)
    return (MetricTable("reviewers", "", columns, tuple(rows), notes if rows else ()),)


def _note(approved: Share, findings: int, caught: Share) -> str:
    """Whether it approves almost everything without evidence that it would catch a fault."""
    if approved.share is None or approved.total < STAMP_VERDICTS:
        return ""
    if not findings:
        return f"rubber stamp? no finding in {approved.total} verdicts"
    if approved.share >= APPROVED and caught.high is not None and caught.high < 1 / 2:
        return "rubber stamp? approves nearly everything, bad trees too"
    return ""
