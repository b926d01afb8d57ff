"""Keeps the work of a landing that did not land, merged onto the branch, for the step that continues it there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from podium.attempt.landing.messages import clash_on_branch, sides_text, uncommitted_clashes
from podium.attempt.workspace.workspace import PODIUM
from podium.core.payloads import Author, Rebase
from podium.core.types import Address, Tree
from podium.git.branches.land import BranchClash, Landing, Prepared
from podium.git.repository import REFS, Repository, Signature, component, keep, tree_of, write_commit
from podium.git.trees.diff import changed_paths
from podium.git.trees.merge import files_with_markers
from podium.tasks.task import LandWork


def rebase_of(
    repository: Repository, work: LandWork, landing: Landing, merge: BranchClash | Prepared
) -> Rebase | None:
    """The work merged onto the branch; None if no step could continue from that."""
    if merge.tip is None or merge.tree is None:
        return None
    if isinstance(merge, Prepared):
        paths = files_with_markers(repository, merge.tree, work.conflicted)
    elif uncommitted_clashes(work, repository, merge.clashes):
        # Only a commit of these files helps, not other work.
        return None
    else:
        paths = tuple(dict.fromkeys(clash.path for clash in merge.clashes))
    return Rebase(
        branch=landing.branch,
        commit=merge.tip,
        onto=tree_of(repository, merge.tip),
        tree=merge.tree,
        paths=paths,
        step=author_of(repository, work.authors, paths),
        work=_work_commit(repository, landing),
    )


def author_of(repository: Repository, authors: Sequence[Author], paths: Sequence[str]) -> str:
    """The last step that changed one of these files, else the last one that changed any; empty if there is none."""
    for author in reversed(authors):
        before = author.base or tree_of(repository, None)
        if set(paths) & set(changed_paths(repository, before, author.tree)):
            return author.step
    return authors[-1].step if authors else ""


def keep_rebase(repository: Repository, run: str, path: Address, rebase: Rebase, at_s: int) -> None:
    """Keep the merged tree and the work on a ref: no attempt refers to them, so git could delete them."""
    commit = write_commit(
        repository,
        rebase.tree,
        parents=tuple(filter(None, (rebase.commit, rebase.work))),
        message=f"{path} merged onto {rebase.branch}\n\nrun {run}",
        signature=Signature(PODIUM, PODIUM, at_s),
    )
    keep(repository, f"{REFS}/{component(run)}/{component(path + '!rebase')}/{rebase.tree[:16]}", commit)


def _work_commit(repository: Repository, landing: Landing) -> str:
    """The work as one commit on the one that the run started from."""
    return write_commit(
        repository,
        landing.tree,
        parents=() if landing.base is None else (landing.base,),
        message=landing.message,
        signature=landing.signature,
    )


def clash_message(repository: Repository, work: LandWork, branch: str, clash: BranchClash) -> str:
    message = clash_on_branch(work, repository, clash.clashes)
    return message if clash.tree is None else f"{message}\n\n{sides_text(branch)}"


def left_markers(repository: Repository, work: LandWork, tree: Tree) -> str | None:
    """Why work with unresolved conflicts does not land."""
    paths = files_with_markers(repository, tree, work.conflicted) if work.conflicted else ()
    return f"conflict markers are left in {', '.join(paths)}" if paths else None


def as_record(rebase: Rebase) -> dict[str, object]:
    return {**asdict(rebase), "paths": list(rebase.paths)}
