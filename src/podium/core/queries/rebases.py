"""Landings that failed because their branch had moved, and the steps that continue the work on top of it."""

from __future__ import annotations

from podium.core.addresses import ROOT
from podium.core.model import Git, Step
from podium.core.payloads import Author, Rebase, rebase_in
from podium.core.queries.graph import fresh_children
from podium.core.state import Instance, Leaf, Scope, State
from podium.core.types import CONTINUING_OUTCOMES, Tree


def rebase_for(state: State, scope: Scope, step: Step, index: int, visit: int) -> Rebase | None:
    """The merged work that this entry starts from: a landing sent control back, or the run continues another there."""
    if scope.jump == index and scope.outgoing_feedback:
        return _refused_landing(state.instances.get(scope.outgoing_feedback[-1]))
    own = None if state.started is None else state.started.run.rebase
    if own is None or scope.place.path != ROOT or visit > 1:
        return None
    return own if own.step == step.name else None


def authors_of(state: State) -> tuple[Author, ...]:
    """The steps that can continue the work on top of a branch, in order; none if the workflow is a graph.

    Where the work was moved onto a branch already, only the step that started there: later ones build on what it did.
    """
    root = state.instances.get(ROOT)
    if not isinstance(root, Scope) or root.place.order != "seq":
        return ()
    authors = tuple(
        Author(child.place.step.name, child.base, child.ending.tree)
        for child in fresh_children(state, root)
        if child.place.step.has_worker and child.ending is not None and child.ending.tree is not None
    )
    first = (
        None if state.started is None or state.started.run.rebase is None else state.started.run.rebase.step
    )
    return tuple(author for author in authors if author.step == first) or authors


def tree_at_start(state: State) -> Tree | None:
    """The tree that the work of the run is compared with: that of its start, or of the branch it was moved onto."""
    if state.rebased is not None:
        return state.rebased.rebase.onto
    return None if state.started is None else state.started.tree


def _refused_landing(instance: Instance | None) -> Rebase | None:
    if not isinstance(instance, Leaf) or not isinstance(instance.place.step.verb, Git):
        return None
    ending = instance.ending
    if ending is None or ending.outcome in CONTINUING_OUTCOMES:
        return None
    return rebase_in(ending.result)
