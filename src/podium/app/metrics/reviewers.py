"""What reviewers are worth: how often they approve, and whether gates and people agree with them.

Rule: a verdict counts as right or wrong only if something else judged the same tree. All other verdicts are unlabelled, and counted.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from podium.app.metrics.query import Source
from podium.app.metrics.views import Tables, name_column
from podium.git.branches.committed_files import reverted_landings
from podium.git.repository import find
from podium.ports.history import HistoryBusy, Label, LocalHistory
from podium.views.metrics.tables import Cell, Column, MetricTable, number_cell, share_cell
from podium.views.metrics.uncertainty import Share, share_of

if TYPE_CHECKING:
    from podium.app.project import Project

REVERT: Final = "revert"
REVERTED_WITHIN_S: Final = 14 * 86_400
"""A later revert rather says that something else has changed."""
MOST_TREES: Final = 1_000
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
    notes = (
        "bad and good: what a person or a command gate said of the same tree after the verdict, and what was reverted within 14 days",
    )
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


def label_reverts(project: Project, history: LocalHistory) -> None:
    """Replace what is known about reverts by what the branch that is checked out says now."""
    repository = find(project.root, project.paths.trees)
    if repository is None:
        return
    trees = dict(history.query("landed trees", {"project": history.own.id, "most": MOST_TREES}))
    labels: dict[str, Label] = {}
    for revert in reverted_landings(repository):
        tree = trees.get(revert.landing.partition("/")[0])
        if tree is not None and revert.after_s <= REVERTED_WITHIN_S:
            labels[tree] = Label(tree, good=False, seen=revert.at_s * 1000, detail=revert.commit)
    # Another process that writes now has asked git as well.
    with suppress(HistoryBusy):
        history.put_labels(REVERT, tuple(labels.values()))
