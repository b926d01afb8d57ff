"""Lands a run's work on a branch of the user: first prepares a commit, then moves the branch by compare-and-swap.

Between the two, the caller runs the gates on the prepared tree. A landing moves the branch at most once: its commit has
the landing's id as a trailer, and a ref of ours records it even if the user rewrites history. If the user has removed
the commit from the branch, the landing reports that and does not add it again.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, assert_never

from podium.core.types import Tree
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.git.branches.user_worktree import paths_in_the_way, update_files, update_left_behind, worktree_of
from podium.git.command import run
from podium.git.repository import (
    REFS,
    Repository,
    Signature,
    commit_of,
    component,
    keep,
    refs,
    tree_of,
    write_commit,
)
from podium.git.trees.diff import patch_id
from podium.git.trees.merge import Clash, Clashed, join

How: TypeAlias = Literal["squash", "merge", "commits"]

TRAILER: Final = "Podium-Landing"


@dataclass(frozen=True, slots=True)
class Piece:
    """The work of one step, for `commits`."""

    tree: Tree
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """The work to land. Its id identifies one step of one run."""

    run: str
    id: str
    branch: str
    base: str | None
    """The commit that the run started from; None for an empty repository."""
    start: Tree
    """The tree that the run started from: that of the base, possibly with uncommitted files."""
    tree: Tree
    how: How
    message: str
    signature: Signature
    pieces: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    landing: Landing
    tip: str | None
    """The commit that the branch must still point to; None if it must not exist yet."""
    commit: str
    tree: Tree
    moved: bool
    """Whether the branch's content differs from the run's start, so that all gates must pass again."""
    same_patch: bool
    """Whether the change is still the one that was reviewed."""


@dataclass(frozen=True, slots=True)
class BranchClash:
    """The work does not merge with the branch as it is now."""

    clashes: tuple[Clash, ...]
    tip: str | None
    tree: Tree | None
    """The merged tree, with conflict markers; None if it must not be checked out."""


@dataclass(frozen=True, slots=True)
class Landed:
    commit: str
    already_landed: bool = False
    """True if it had already landed, so the branch was not moved."""
    left_behind: str | None = None
    """Git's message if the branch was moved but the checked-out files could not be updated."""
    taken_off: bool = False
    """True if it had landed, but the user has removed it from the branch; this is not undone."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """The branch already contains all of the work."""


@dataclass(frozen=True, slots=True)
class InTheWay:
    """The branch is checked out and these paths contain the user's own work; nothing was changed."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Moved:
    """The branch has moved since the landing was prepared; prepare it again."""

    tip: str | None


def prepare(repository: Repository, landing: Landing) -> Prepared | Landed | Nothing | BranchClash:
    """Merge the work onto the branch's current tip and write the commit, without moving the branch."""
    check_branch(repository, landing.branch)
    tip = commit_of(refs(repository), f"refs/heads/{landing.branch}")
    earlier = _find_landed(repository, landing, tip)
    if earlier is not None:
        return earlier
    base = tip if tip is not None else landing.base
    onto = tree_of(repository, base)
    joined = join(repository, fork=landing.start, onto=onto, tree=landing.tree)
    if isinstance(joined, Clashed):
        return BranchClash(joined.clashes, tip, joined.tree)
    if joined.tree == onto:
        return Nothing()
    commit = _write(repository, landing, base, joined.tree)
    if isinstance(commit, Clashed):
        # The work merges as a whole, but not the commits of its steps one after another.
        return BranchClash(commit.clashes, tip, joined.tree)
    moved = onto != landing.start
    same = not moved or patch_id(repository, landing.start, landing.tree) == patch_id(
        repository, onto, joined.tree
    )
    return Prepared(landing, tip, commit, joined.tree, moved, same)


def land(repository: Repository, prepared: Prepared) -> Landed | InTheWay | Moved:
    """Move the branch if it has not moved since, then update the checked-out files; safe to repeat after a crash."""
    landing = prepared.landing
    tip = commit_of(refs(repository), f"refs/heads/{landing.branch}")
    earlier = _find_landed(repository, landing, tip)
    if earlier is not None and earlier.taken_off:
        return earlier
    has_landed = earlier is not None
    if tip != prepared.tip and not has_landed:
        return Moved(tip)
    old = tree_of(repository, prepared.tip)
    work_tree = worktree_of(repository, landing.branch)
    if work_tree is not None and not has_landed:
        blocked = paths_in_the_way(repository, work_tree, old, prepared.tree)
        if blocked:
            return InTheWay(blocked)
    if not has_landed and not _swap(repository, prepared):
        return Moved(commit_of(refs(repository), f"refs/heads/{landing.branch}"))
    # When repeated, the files may still need the update, but only if the branch has not moved further.
    if work_tree is None or (has_landed and tip != prepared.commit):
        return Landed(prepared.commit, has_landed)
    update = update_left_behind if has_landed else update_files
    return Landed(prepared.commit, has_landed, update(repository, work_tree, old, prepared.tree))


def follow(repository: Repository, landing: Landing, commit: str | None = None) -> str | None:
    """Update checked-out files that a crash or a lock left behind, unless the branch has moved further.

    Without `commit` it applies to whichever landing is at the tip of the branch.
    """
    tip = commit_of(refs(repository), f"refs/heads/{landing.branch}")
    if tip is None or commit not in (None, tip):
        return None
    came_from = landing_ref(landing, "landed-from") if commit else _previous_tip_ref(repository, tip)
    work_tree = worktree_of(repository, landing.branch)
    if work_tree is None or came_from is None:
        return None
    old, new = tree_of(repository, commit_of(refs(repository), came_from)), tree_of(repository, tip)
    return update_left_behind(repository, work_tree, old, new)


def _previous_tip_ref(repository: Repository, tip: str) -> str | None:
    """The ref of the commit that the branch pointed to before the landing at its tip."""
    out = run(refs(repository), "for-each-ref", "--format=%(refname)", f"--points-at={tip}", f"{REFS}/").out
    names = (line.split("/") for line in out.decode().splitlines())
    landed_ref = next((name for name in names if name[3] == "landed"), None)
    return None if landed_ref is None else "/".join((*landed_ref[:3], "landed-from", *landed_ref[4:]))


def check_branch(repository: Repository, branch: str) -> None:
    git = refs(repository)
    if run(git, "check-ref-format", f"refs/heads/{branch}", codes=(0, 1)).code or branch.startswith("-"):
        hint = (
            None if branch else "run.branch is empty because no branch is checked out; run: git switch BRANCH"
        )
        raise ConfigurationError(f'"{branch}" is not a valid branch name', hint=hint)


def _find_landed(repository: Repository, landing: Landing, tip: str | None) -> Landed | None:
    recorded = commit_of(refs(repository), landing_ref(landing))
    if tip is not None:
        if recorded is not None and _is_part_of(repository, recorded, tip):
            return Landed(recorded, already_landed=True)
        commit = _by_trailer(repository, landing, tip)
        if commit is not None:
            return Landed(commit, already_landed=True)
    return None if recorded is None else Landed(recorded, already_landed=True, taken_off=True)


def landed_commit(repository: Repository, landing: Landing) -> str | None:
    """The commit of this landing, if it is on its branch."""
    earlier = _find_landed(repository, landing, commit_of(refs(repository), f"refs/heads/{landing.branch}"))
    return None if earlier is None or earlier.taken_off else earlier.commit


def _is_part_of(repository: Repository, commit: str, tip: str) -> bool:
    return run(refs(repository), "merge-base", "--is-ancestor", commit, tip, codes=(0, 1)).code == 0


def _by_trailer(repository: Repository, landing: Landing, tip: str) -> str | None:
    """Find the commit by its trailer: the user may have rewritten it, or a crash came before our ref was written."""
    since = () if landing.base is None else (f"^{landing.base}",)
    trailer = f"{TRAILER}: {landing.id}"
    fmt = "--format=%H%n%B%x00"
    out = run(
        refs(repository), "rev-list", "--no-commit-header", "-F", f"--grep={trailer}", fmt, tip, *since, "--"
    ).out
    for record in out.decode("utf-8", "replace").split("\0"):
        name, *lines = record.strip().split("\n")
        if trailer in lines:
            return name
    return None


def landing_ref(landing: Landing, kind: str = "landed") -> str:
    """The ref of this landing on this branch; the same work may land on several branches."""
    return f"{REFS}/{component(landing.run)}/{kind}/{component(f'{landing.id}@{landing.branch}')}"


def _write(repository: Repository, landing: Landing, base: str | None, tree: Tree) -> str | Clashed:
    parents = () if base is None else (base,)
    message = _with_trailer(landing.message, landing.id)
    match landing.how:
        case "squash":
            return write_commit(
                repository, tree, parents=parents, message=message, signature=landing.signature
            )
        case "merge":
            own = () if landing.base is None else (landing.base,)
            side = write_commit(
                repository,
                landing.tree,
                parents=own,
                message=_without_trailer(landing.message),
                signature=landing.signature,
            )
            return write_commit(
                repository, tree, parents=(*parents, side), message=message, signature=landing.signature
            )
        case "commits":
            return _write_commits(repository, landing, base, tree)
        case _:
            assert_never(landing.how)


def _with_trailer(message: str, landing_id: str) -> str:
    return f"{_without_trailer(message)}\n\n{TRAILER}: {landing_id}"


def _without_trailer(message: str) -> str:
    """Remove our trailer from a message that an agent may have written, so that it cannot fake another landing."""
    lines = (line for line in message.splitlines() if not line.strip().startswith(TRAILER))
    return "\n".join(lines).strip() or "Work of a run"


def _write_commits(repository: Repository, landing: Landing, base: str | None, tree: Tree) -> str | Clashed:
    """Write one commit per step with changes, each merged separately; the last commit has the merged tree."""
    tip, onto, fork = base, tree_of(repository, base), landing.start
    pieces = [*landing.pieces, Piece(landing.tree, landing.message)]
    for place, piece in enumerate(pieces):
        last = place == len(pieces) - 1
        joined = join(repository, fork=fork, onto=onto, tree=piece.tree)
        if isinstance(joined, Clashed):
            return joined
        fork = piece.tree
        result = tree if last else joined.tree
        if result == onto and not last:
            continue
        message = _with_trailer(piece.message, landing.id) if last else _without_trailer(piece.message)
        parents = () if tip is None else (tip,)
        tip = write_commit(repository, result, parents=parents, message=message, signature=landing.signature)
        onto = result
    assert tip is not None
    return tip


def _swap(repository: Repository, prepared: Prepared) -> bool:
    """Move the branch, then create our ref, so that the ref implies that the branch was moved."""
    landing = prepared.landing
    nothing = "0" * len(prepared.commit)
    if prepared.tip is not None:
        # Record the previous tip, in case a crash comes before the files are updated.
        keep(repository, landing_ref(landing, "landed-from"), prepared.tip)
    lines = (
        f"update refs/heads/{landing.branch} {prepared.commit} {prepared.tip or nothing}",
        f"create {landing_ref(landing)} {prepared.commit}",
    )
    stdin = "".join(f"{line}\n" for line in ("start", *lines, "prepare", "commit")).encode()
    answer = run(
        refs(repository),
        "update-ref",
        "-m",
        f"podium: land {landing.id}",
        "--stdin",
        stdin=stdin,
        codes=(0, 128),
    )
    return answer.code == 0
