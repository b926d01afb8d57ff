"""Gathers the evidence of a question from a run that is kept on a shelf, with the change that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from podium.app.query.diff import Span, read_changes
from podium.core.types import Address
from podium.errors import ConfigurationError, PodiumError
from podium.views.evidence.evidence import Evidence, evidence_of

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.app.query.shelf import FoldedRun, Shelf
    from podium.git.trees.diff import Change
    from podium.views.evidence.members import FanOut
    from podium.views.run.view import Pending


def evidence(shelf: Shelf, run: FoldedRun, pending: Pending) -> Evidence:
    leads: Mapping[str, str] = {}
    fan_out: FanOut | None = None
    if pending.kind in ("approval", "question"):
        from podium.views.evidence.consequences import leads_to
        from podium.views.evidence.fan_out import fan_out_of

        workflow = shelf.workflow(run.head)
        if workflow is not None:
            leads, fan_out = leads_to(workflow, pending), fan_out_of(workflow, pending.path)
    return evidence_of(run.view, pending, run.events, run.causes, leads, fan_out)


def pending_at(run: FoldedRun, path: str) -> Pending:
    """The open question with this address; raises if it is not open any more."""
    for pending in run.view.pending:
        if pending.path == Address(path):
            return pending
    raise ConfigurationError(
        f'"{path}" of run {run.head.run} does not wait for an answer',
        hint=f"see: podium show {run.head.run}",
        code="not_waiting",
    )


def span_of(shown: Evidence) -> Span | None:
    """None if the question is about no change."""
    if shown.base is None or shown.tree is None or shown.base == shown.tree:
        return None
    return Span(shown.base, shown.tree)


def span_since(shown: Evidence) -> Span | None:
    """From the tree of the last decision to the one that is asked about now."""
    last = shown.last_decision
    if last is None or last.tree is None or shown.tree is None:
        return None
    return Span(last.tree, shown.tree)


def changes_of(project: Project, span: Span | None) -> tuple[Change, ...]:
    """Nothing if git no longer has the trees."""
    try:
        return () if span is None else read_changes(project.paths, span)
    except PodiumError:
        return ()
