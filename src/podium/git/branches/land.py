"""Lands a run's work on a branch of the user's: prepared first, then moved by compare-and-swap, never by force.

Between the two the caller runs what must pass on the prepared tree. Nothing is moved twice for one landing: the
commit on top carries the landing's id as a trailer, and a ref of ours remembers it even if the user rewrites history.
What the user has taken off a branch again is told, and not brought back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, assert_never

from podium.core.types import Tree
from podium.errors import ConfigurationError
from podium.git.branches.user_worktree import bring_along, catch_up, in_the_way, with_branch
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
from podium.git.trees.merge import Clashed, join

How: TypeAlias = Literal["squash", "merge", "commits"]

TRAILER: Final = "Podium-Landing"


@dataclass(frozen=True, slots=True)
class Piece:
    """One step's work, for `commits`."""

    tree: Tree
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """What is to land. Its id belongs to one step of one run and never to another try of something else."""

    run: str
    id: str
    branch: str
    base: str | None
    """The commit from which the run began; None for an empty repository."""
    start: Tree
    """The tree from which the run began: that of the base, or more with uncommitted files."""
    tree: Tree
    how: How
    message: str
    signature: Signature
    pieces: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    landing: Landing
    tip: str | None
    """Where the branch must still be; None: it must still not exist."""
    commit: str
    tree: Tree
    moved: bool
    """Whether the branch has other content than at the base: then everything must pass again on the tree."""
    same_patch: bool
    """Whether the change itself is still the one that was reviewed."""


@dataclass(frozen=True, slots=True)
class Landed:
    commit: str
    again: bool = False
    """It had landed before; nothing was moved."""
    left_behind: str | None = None
    """The branch has moved, but the checked-out files could not follow: git's reason."""
    taken_off: bool = False
    """It had, and the branch no longer has it: the user's own doing, which is not undone."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """The branch already has all of it."""


@dataclass(frozen=True, slots=True)
class InTheWay:
    """The branch is checked out and these paths carry the user's own work; nothing was moved."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Moved:
    """The branch is no longer where it was when this was prepared: prepare again."""

    tip: str | None


def prepare(repository: Repository, landing: Landing) -> Prepared | Landed | Nothing | Clashed:
    """Rebases the work onto the branch's present tip, without moving anything."""
    check_branch(repository, landing.branch)
    tip = commit_of(refs(repository), f"refs/heads/{landing.branch}")
    done = _find_landed(repository, landing, tip)
    if done is not None:
        return done
    base = tip if tip is not None else landing.base
    onto = tree_of(repository, base)
    joined = join(repository, fork=landing.start, onto=onto, tree=landing.tree)
    if isinstance(joined, Clashed):
        return joined
    if joined.tree == onto:
        return Nothing()
    commit = _write(repository, landing, base, joined.tree)
    if isinstance(commit, Clashed):
        return commit
    moved = onto != landing.start
    same = not moved or patch_id(repository, landing.start, landing.tree) == patch_id(
        repository, onto, joined.tree
    )
    return Prepared(landing, tip, commit, joined.tree, moved, same)


def land(repository: Repository, prepared: Prepared) -> Landed | InTheWay | Moved:
    """Moves the branch if it is where it was, then the checked-out files. Safe to call again after a crash."""
    landing = prepared.landing
    tip = commit_of(refs(repository), f"refs/heads/{landing.branch}")
    before = _find_landed(repository, landing, tip)
    if before is not None and before.taken_off:
        return before
    again = before is not None
    if tip != prepared.tip and not again:
        return Moved(tip)
    old = tree_of(repository, prepared.tip)
    work_tree = with_branch(repository, landing.branch)
    if work_tree is not None and not again:
        blocked = in_the_way(repository, work_tree, old, prepared.tree)
        if blocked:
            return InTheWay(blocked)
    if not again and not _swap(repository, prepared):
        return Moved(commit_of(refs(repository), f"refs/heads/{landing.branch}"))
    # The second time the files may still have to follow; only if nobody has moved the branch on since.
    if work_tree is None or (again and tip != prepared.commit):
        return Landed(prepared.commit, again)
    bring = catch_up if again else bring_along
    return Landed(prepared.commit, again, bring(repository, work_tree, old, prepared.tree))


def follow(repository: Repository, landing: Landing, commit: str | None = None) -> str | None:
    """Brings files along that were left behind, by a crash or a lock, if nobody has moved the branch on since.

    Without a commit of its own it is for whichever landing stands on the tip.
    """
    tip = commit_of(refs(repository), f"refs/heads/{landing.branch}")
    if tip is None or commit not in (None, tip):
        return None
    came_from = _ref(landing, "landed-from") if commit else _came_from(repository, tip)
    work_tree = with_branch(repository, landing.branch)
    if work_tree is None or came_from is None:
        return None
    old, new = tree_of(repository, commit_of(refs(repository), came_from)), tree_of(repository, tip)
    return catch_up(repository, work_tree, old, new)


def _came_from(repository: Repository, tip: str) -> str | None:
    """The ref that tells where the branch came from with the landing that is on its tip."""
    out = run(refs(repository), "for-each-ref", "--format=%(refname)", f"--points-at={tip}", f"{REFS}/").out
    names = (line.split("/") for line in out.decode().splitlines())
    found = next((name for name in names if name[3] == "landed"), None)
    return None if found is None else "/".join((*found[:3], "landed-from", *found[4:]))


def check_branch(repository: Repository, branch: str) -> None:
    git = refs(repository)
    if run(git, "check-ref-format", f"refs/heads/{branch}", codes=(0, 1)).code or branch.startswith("-"):
        hint = None if branch else "run.branch is empty where no branch is checked out: git switch BRANCH"
        raise ConfigurationError(f'"{branch}" is no name for a branch', hint=hint)


def _find_landed(repository: Repository, landing: Landing, tip: str | None) -> Landed | None:
    kept = commit_of(refs(repository), _ref(landing))
    if tip is not None:
        if kept is not None and _is_part_of(repository, kept, tip):
            return Landed(kept, again=True)
        found = _by_trailer(repository, landing, tip)
        if found is not None:
            return Landed(found, again=True)
    return None if kept is None else Landed(kept, again=True, taken_off=True)


def _is_part_of(repository: Repository, commit: str, tip: str) -> bool:
    return run(refs(repository), "merge-base", "--is-ancestor", commit, tip, codes=(0, 1)).code == 0


def _by_trailer(repository: Repository, landing: Landing, tip: str) -> str | None:
    """Where the user has rewritten it; or killed between the two renames of the transaction, before our ref was there."""
    since = () if landing.base is None else (f"^{landing.base}",)
    wanted = f"{TRAILER}: {landing.id}"
    fmt = "--format=%H%n%B%x00"
    out = run(
        refs(repository), "rev-list", "--no-commit-header", "-F", f"--grep={wanted}", fmt, tip, *since, "--"
    ).out
    for record in out.decode("utf-8", "replace").split("\0"):
        name, *lines = record.strip().split("\n")
        if wanted in lines:
            return name
    return None


def _ref(landing: Landing, kind: str = "landed") -> str:
    """Of this landing on this branch: a person may bring the same work to several."""
    return f"{REFS}/{component(landing.run)}/{kind}/{component(f'{landing.id}@{landing.branch}')}"


def _write(repository: Repository, landing: Landing, base: str | None, tree: Tree) -> str | Clashed:
    parents = () if base is None else (base,)
    message = _signed(landing.message, landing.id)
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
            return _write_pieces(repository, landing, base, tree)
        case _:
            assert_never(landing.how)


def _signed(message: str, landing_id: str) -> str:
    return f"{_without_trailer(message)}\n\n{TRAILER}: {landing_id}"


def _without_trailer(message: str) -> str:
    """A message may come from an agent, which must not make another landing look done."""
    lines = (line for line in message.splitlines() if not line.strip().startswith(TRAILER))
    return "\n".join(lines).strip() or "Work of a run"


def _write_pieces(repository: Repository, landing: Landing, base: str | None, tree: Tree) -> str | Clashed:
    """One commit per step that changed something, each rebased by itself; the last one is the joined tree."""
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
        message = _signed(piece.message, landing.id) if last else _without_trailer(piece.message)
        parents = () if tip is None else (tip,)
        tip = write_commit(repository, result, parents=parents, message=message, signature=landing.signature)
        onto = result
    assert tip is not None
    return tip


def _swap(repository: Repository, prepared: Prepared) -> bool:
    """The branch first, then our ref: whoever sees the ref knows that the branch was moved."""
    landing = prepared.landing
    nothing = "0" * len(prepared.commit)
    if prepared.tip is not None:
        # Where the files came from, should we be killed before they follow.
        keep(repository, _ref(landing, "landed-from"), prepared.tip)
    lines = (
        f"update refs/heads/{landing.branch} {prepared.commit} {prepared.tip or nothing}",
        f"create {_ref(landing)} {prepared.commit}",
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
