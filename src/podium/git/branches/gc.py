"""Lists what Podium keeps in the user's repository and deletes what is asked, after showing it.

Deleting a ref deletes no work that stands elsewhere; git itself removes unreachable objects later, by its own rules.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from urllib.parse import unquote

from podium.git.command import run
from podium.git.repository import REFS, Repository, refs


@dataclass(frozen=True, slots=True)
class Ref:
    name: str
    commit: str


@dataclass(frozen=True, slots=True)
class RunRefs:
    run: str
    refs: tuple[Ref, ...]
    newest_s: int
    """When the newest of its commits was made."""
    landed: bool
    """Whether work of this run has reached a branch; if not, these refs are all that is left of it."""


def list_runs(repository: Repository) -> tuple[RunRefs, ...]:
    """Oldest first."""
    fmt = "%(refname)%00%(objectname)%00%(committerdate:unix)"
    found: dict[str, list[tuple[Ref, int]]] = {}
    for line in (
        run(refs(repository), "for-each-ref", f"--format={fmt}", f"{REFS}/").out.decode().splitlines()
    ):
        name, commit, at = line.split("\0")
        found.setdefault(name.split("/")[2], []).append((Ref(name, commit), int(at or 0)))
    runs = (
        RunRefs(
            unquote(key),
            tuple(ref for ref, _ in kept),
            max(at for _, at in kept),
            any(ref.name.split("/")[3] == "landed" for ref, _ in kept),
        )
        for key, kept in found.items()
    )
    return tuple(sorted(runs, key=lambda each: (each.newest_s, each.run)))


def preview(runs: Iterable[RunRefs], *, before_s: int, keep: Collection[str] = ()) -> tuple[RunRefs, ...]:
    """Which runs a deletion would take: older than a moment and not among those to keep, such as unfinished ones."""
    return tuple(each for each in runs if each.newest_s < before_s and each.run not in keep)


def delete(repository: Repository, runs: Iterable[RunRefs]) -> int:
    """Deletes exactly what was shown, all or nothing: a ref that has moved since stops it."""
    doomed = [ref for each in runs for ref in each.refs]
    if doomed:
        stdin = "".join(f"delete {ref.name} {ref.commit}\n" for ref in doomed).encode()
        run(refs(repository), "update-ref", "--stdin", stdin=stdin)
    return len(doomed)
