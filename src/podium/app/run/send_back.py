"""Sends work whose landing failed because the branch had moved back to its author, merged onto the branch."""

from __future__ import annotations

from dataclasses import replace

from podium.attempt.landing.land import earlier, tree_landed
from podium.attempt.landing.messages import sides_text
from podium.attempt.landing.rebase import author_of, keep_rebase
from podium.core.addresses import ROOT
from podium.core.events import AttemptStarted
from podium.core.hash_chain import RunId
from podium.core.model import Git
from podium.core.payloads import Amounts, Rebase, RunFacts, rebase_in
from podium.core.queries.branch_trees import tree_of as tree_of_scope
from podium.core.queries.graph import fresh_children
from podium.core.queries.rebases import authors_of
from podium.core.state import Instance, Leaf, Scope, State
from podium.core.types import CONTINUING_OUTCOMES, Address, Millis, Tree
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.git.repository import Repository, commit_of, refs, tree_of
from podium.git.trees.diff import patch_id
from podium.git.trees.merge import Clashed, join
from podium.git.trees.names import escape_path
from podium.tasks.landings import land_work_of
from podium.views.format import first_of

SHOWN_PATHS = 20


@dataclass(frozen=True, slots=True)
class SendBack:
    """The step that continues the work on top of the branch, and what it is told."""

    rebase: Rebase
    text: str

    def added_to(self, facts: RunFacts) -> RunFacts:
        return replace(facts, rebase=self.rebase, open_guidance=(*facts.open_guidance, self.text))

    def summary(self) -> str:
        """One line for the person who starts it."""
        rebase = self.rebase
        place = f"{rebase.branch} at {rebase.commit[:12]}"
        if not rebase.paths:
            return f"{place}; {rebase.step} continues the work there"
        return f"{place}; {rebase.step} resolves the conflict in {_names(rebase.paths)}"


def find_send_back(
    state: State, repository: Repository, *, onto: str | None = None, step: str | None = None
) -> SendBack | None:
    """What a new run has to do to land the work; None if the landing can just be tried again.

    With `onto`, the work is moved onto that branch whether or not it clashes. `step` is the step that continues it, or
    the landing that is repeated.
    """
    landing = failed_landing(state)
    if onto is None:
        is_named = landing is not None and step in (None, landing.place.path, landing.place.step.name)
        return _onto_same_branch(state, repository, landing) if landing is not None and is_named else None
    merged = _merge(state, repository, landing, onto)
    author = _author(state, repository, () if merged is None else merged.paths, step)
    if merged is None or not author:
        why = (
            "no step of it can continue there"
            if merged
            else f'branch "{onto}" does not exist, or the run has no work to move'
        )
        raise ConfigurationError(f"cannot move the work of the run onto a branch: {why}")
    return _send_back(merged, author)


def _onto_same_branch(state: State, repository: Repository, landing: Leaf) -> SendBack | None:
    """As the landing was to do; None if it can be tried again, or if no step can continue the work."""
    assert landing.ending is not None
    refused = rebase_in(landing.ending.result)
    assert refused is not None
    merged = _merge(state, repository, landing, refused.branch)
    if merged is None or (merged.is_same_change and merged.commit != refused.commit):
        return None
    author = _author(state, repository, merged.paths, None)
    return _send_back(merged, author) if author else None


def _send_back(merged: _Merged, author: str) -> SendBack:
    rebase = Rebase(merged.branch, merged.commit, merged.onto, merged.tree, merged.paths, author)
    return SendBack(rebase, _instructions(rebase))


def failed_landing(state: State) -> Leaf | None:
    """The landing at the top of the workflow that failed because its branch had moved."""
    root = state.instances.get(ROOT)
    if not isinstance(root, Scope):
        return None
    landings = (child for child in fresh_children(state, root) if _is_refused_landing(child))
    return next((leaf for leaf in landings if isinstance(leaf, Leaf)), None)


def keep_sent_back(repository: Repository, run: RunId, rebase: Rebase, at_s: int) -> None:
    keep_rebase(repository, run, Address(rebase.step), rebase, at_s)


@dataclass(frozen=True, slots=True)
class _Merged:
    branch: str
    commit: str
    onto: Tree
    tree: Tree
    paths: tuple[str, ...] = ()
    is_same_change: bool = False
    """Whether the change is still the one that was judged, so that it may land."""


def _merge(state: State, repository: Repository, landing: Leaf | None, branch: str) -> _Merged | None:
    """The work on top of the branch; None if there is none, or if it must not be checked out."""
    tip = commit_of(refs(repository), f"refs/heads/{branch}")
    tree = landing.place.start if landing is not None else _result(state)
    if tree is None or tip is None:
        return None
    path = Address("!apply") if landing is None else landing.place.path
    work = land_work_of(state, AttemptStarted(Millis(0), path, 1, Amounts(), base=tree, start=tree))
    start = tree_landed(
        repository, earlier(work, branch, "land"), work.run_start or tree_of(repository, None)
    )
    onto = tree_of(repository, tip)
    joined = join(repository, fork=start, onto=onto, tree=tree)
    if isinstance(joined, Clashed):
        paths = tuple(dict.fromkeys(clash.path for clash in joined.clashes))
        return None if joined.tree is None else _Merged(branch, tip, onto, joined.tree, paths)
    is_same = patch_id(repository, start, tree) == patch_id(repository, onto, joined.tree)
    return _Merged(branch, tip, onto, joined.tree, is_same_change=is_same)


def _result(state: State) -> Tree | None:
    root = state.instances[ROOT]
    return tree_of_scope(state, root) if isinstance(root, Scope) else None


def _author(state: State, repository: Repository, paths: tuple[str, ...], step: str | None) -> str:
    authors = authors_of(state)
    names = [author.step for author in authors]
    if step is not None and step not in names:
        raise ConfigurationError(
            f'"{step}" cannot continue the work: it is not an agent\'s step with changes',
            hint=f"steps that can: {', '.join(names) or 'none'}",
        )
    return step or author_of(repository, authors, paths)


def _is_refused_landing(child: Instance) -> bool:
    ending = child.ending
    if not isinstance(child.place.step.verb, Git) or ending is None:
        return False
    return ending.outcome not in CONTINUING_OUTCOMES and rebase_in(ending.result) is not None


def _instructions(rebase: Rebase) -> str:
    moved = f'The branch "{rebase.branch}" has moved since this work began.'
    if not rebase.paths:
        return (
            f"{moved} Your files are the work merged with it, without conflicts. Check that the work still does what "
            "it should on top of the branch, and change what does not fit."
        )
    return f"{moved} Resolve the conflicts in {_names(rebase.paths)}. {sides_text(rebase.branch)}."


def _names(paths: tuple[str, ...]) -> str:
    return first_of([escape_path(path) for path in paths], SHOWN_PATHS)
