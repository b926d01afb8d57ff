"""Lists and deletes the refs that Podium keeps in the user's repository.

Deleting a ref does not delete work that is also on a branch; git later removes unreachable objects by its own rules.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from urllib.parse import unquote

from podium.fast_dataclass import dataclass
from podium.git.command import Git, run
from podium.git.memory import MEMORIES
from podium.git.repository import REFS, Repository, personal, refs


@dataclass(frozen=True, slots=True)
class Ref:
    name: str
    commit: str


@dataclass(frozen=True, slots=True)
class RunRefs:
    run: str
    refs: tuple[Ref, ...]
    newest_s: int
    """The time of its newest commit."""
    landed: bool
    """Whether work of this run has landed on a branch; if not, these refs are the only copy."""


def list_runs(repository: Repository) -> tuple[RunRefs, ...]:
    """The runs with refs, oldest first."""
    fmt = "%(refname)%00%(objectname)%00%(committerdate:unix)"
    by_run: dict[str, list[tuple[Ref, int]]] = {}
    for line in (
        run(refs(repository), "for-each-ref", f"--format={fmt}", f"{REFS}/").out.decode().splitlines()
    ):
        name, commit, at = line.split("\0")
        if name.startswith(f"{MEMORIES}/"):
            continue  # It belongs to no run.
        by_run.setdefault(name.split("/")[2], []).append((Ref(name, commit), int(at or 0)))
    runs = (
        RunRefs(
            unquote(key),
            tuple(ref for ref, _ in refs_of_run),
            max(at for _, at in refs_of_run),
            any(ref.name.split("/")[3] == "landed" for ref, _ in refs_of_run),
        )
        for key, refs_of_run in by_run.items()
    )
    return tuple(sorted(runs, key=lambda each: (each.newest_s, each.run)))


def preview(runs: Iterable[RunRefs], *, before_s: int, keep: Collection[str] = ()) -> tuple[RunRefs, ...]:
    """The runs that a deletion would remove: older than a time and not in `keep`."""
    return tuple(each for each in runs if each.newest_s < before_s and each.run not in keep)


def delete(repository: Repository, runs: Iterable[RunRefs]) -> int:
    """Delete exactly these refs, all or none; a ref that has moved since it was listed prevents it."""
    to_delete = [ref for each in runs for ref in each.refs]
    if to_delete:
        stdin = "".join(f"delete {ref.name} {ref.commit}\n" for ref in to_delete).encode()
        run(refs(repository), "update-ref", "--stdin", stdin=stdin)
    return len(to_delete)


def finished_branches(repository: Repository, prefix: str, own: RunRefs | None) -> tuple[Ref, ...]:
    """The branches below a prefix with nothing of their own: no commit was made there, or it is elsewhere.

    Elsewhere is another branch, or, if the run `own` has landed, a tree of that run.
    """
    git = refs(repository)
    out = run(git, "for-each-ref", "--format=%(refname)%00%(objectname)", f"refs/heads/{prefix}/").out
    branches = [Ref(*line.split("\0")) for line in out.decode().splitlines()]
    trees_of_run = {_tree(git, ref.commit) for ref in own.refs} if branches and own and own.landed else set()
    return tuple(
        ref for ref in branches if _is_elsewhere(git, ref, prefix) or _tree(git, ref.commit) in trees_of_run
    )


def _is_elsewhere(git: Git, ref: Ref, prefix: str) -> bool:
    first = run(git, "reflog", "show", "--format=%H", ref.name).out.decode().split()[-1:]
    others = ("--not", f"--exclude={prefix}/*", "--branches", *first)
    return not run(git, "rev-list", "--max-count=1", ref.commit, *others, "--").out.strip()


def _tree(git: Git, commit: str) -> str:
    return run(git, "rev-parse", f"{commit}^{{tree}}").out.decode().strip()


def delete_branches(repository: Repository, branches: Iterable[Ref]) -> None:
    """Delete these branches, and forget worktrees whose folders are gone."""
    run(personal(repository), "worktree", "prune")
    for ref in branches:
        run(personal(repository), "branch", "-D", "--quiet", ref.name.removeprefix("refs/heads/"))
