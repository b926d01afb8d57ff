"""Merge the changes of a finished run into a branch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from podium.attempt.landing.land import land_head
from podium.attempt.workspace import workspace
from podium.core.addresses import ROOT
from podium.core.events import AttemptEnded, AttemptStarted
from podium.core.evolve.evolve import fold
from podium.core.hash_chain import RunId
from podium.core.payloads import Amounts, Rebase, rebase_in
from podium.core.queries.branch_trees import tree_of
from podium.core.state import Scope, State
from podium.core.types import Address, Tree
from podium.errors import ConfigurationError, PodiumError
from podium.fast_dataclass import dataclass
from podium.git.repository import read_head
from podium.runtime.records import events_of
from podium.tasks.build import landing_task
from podium.views.run.builder import run_view
from podium.views.text.landing import merge_command, send_back_command

if TYPE_CHECKING:
    from podium.app.project import Project

APPLY = Address("!apply")


@dataclass(frozen=True, slots=True)
class Applied:
    branch: str
    commit: str
    text: str
    notes: str


class NotApplied(PodiumError):
    """The work does not fit onto the branch as it is now; nothing was moved."""

    code = "not_applied"

    def __init__(self, message: str, run: RunId, rebase: Rebase | None) -> None:
        self.rebase = rebase
        hint = f"the work stays: podium diff {run}"
        if rebase is not None and rebase.step:
            hint = send_back_command(run, rebase)
        elif rebase is not None and rebase.paths:
            hint = merge_command(rebase)
        super().__init__(message, hint=hint)


def apply(project: Project, run: RunId, *, branch: str | None = None, message: str | None = None) -> Applied:
    """Moves a branch, by default the one that is checked out, to the work of a run that has passed.

    As a `git: {land}` step would: if the branch has moved, every command that had passed runs again on the result.
    """
    prepared = project.prepare(project.run(run))
    host = prepared.host
    if host.repository is None:
        raise ConfigurationError(
            "not a git repository, so the run cannot be applied to a branch",
            hint="the work is in your files already",
        )
    events = events_of(project.runtime.events(run))
    state = fold(prepared.workflow, events)
    tree = _verified_tree(state, run)
    if run_view(events).in_place:
        raise ConfigurationError(
            f"run {run} worked in place: its changes are in your files already",
            hint=f"podium diff {run} shows them; commit what you want to keep",
        )
    onto = branch or read_head(host.repository).branch
    if onto is None:
        raise ConfigurationError("no branch is checked out", hint=f"podium apply {run} --branch NAME")
    assert state.started is not None
    assert state.ended is not None
    host = replace(host, context=replace(host.context, base_commit=state.started.run.base or None))
    started = AttemptStarted(state.ended.at, APPLY, 1, Amounts(), base=tree, start=tree)

    async def main() -> AttemptEnded:
        try:
            return await land_head(landing_task(started, state, onto), host, onto, message)
        finally:
            with anyio.CancelScope(shield=True):
                await workspace.clear(host)

    with project.runtime.reserve(run):
        end = anyio.run(main)
    result = end.result or {}
    if end.kind != "ok":
        raise NotApplied(str(result.get("message", end.reason)), run, rebase_in(result))
    done = result["output"]
    return Applied(done["branch"], done["commit"], str(result["text"]), str(result.get("notes", "")))


def _verified_tree(state: State, run: RunId) -> Tree:
    """The tree of a run that has passed; no other reaches a branch of the user."""
    if state.ended is None:
        raise ConfigurationError(f"run {run} is not over", hint=f"podium resume {run}")
    if state.ended.status != "passed":
        raise ConfigurationError(
            f"run {run} ended {state.ended.status}; only work that has passed is applied",
            hint=f"look at it: podium diff {run}",
        )
    root = state.instances[ROOT]
    tree = tree_of(state, root) if isinstance(root, Scope) else None
    if tree is None or (state.started is not None and tree == state.started.tree):
        raise ConfigurationError(f"run {run} has changed nothing")
    return tree
