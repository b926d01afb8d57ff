"""The files that visits of a step wrote, by their names: `drafts/ann.md` is the newest, `drafts/ann_v2.md` that of visit 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from podium.core.addresses import child
from podium.core.queries.graph import body_of, fresh_children
from podium.core.state import Instance, Scope, State
from podium.core.types import Address


def version_name(path: str, visit: int) -> str:
    folder, slash, name = path.rpartition("/")
    stem, dot, extension = name.rpartition(".")
    versioned = f"{stem}_v{visit}{dot}{extension}" if stem else f"{name}_v{visit}"
    return f"{folder}{slash}{versioned}"


def files_of(state: State, visit: Instance) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The files that a visit and its members wrote, by the path that people know, with their records."""
    if isinstance(visit, Scope):
        for member in fresh_children(state, visit):
            yield from files_of(state, member)
    result = (visit.ending.result if visit.ending is not None else None) or {}
    for artifact in result.get("artifacts", ()):
        yield str(artifact.get("project", artifact["file"])), artifact


def visits_with_file(state: State, scope: Scope, name: str) -> tuple[Address, ...]:
    """The visits of the steps of a block that wrote a file with this name, the newest only unless it names a version."""
    body = body_of(scope.place.step.verb)  # type: ignore[arg-type]  # the verb of a Scope is a ScopeVerb
    plain: list[Address] = []
    versions: list[Address] = []
    for index, step in enumerate(() if body is None else body.steps):
        newest = state.latest.get((scope.place.path, index))
        for number in range(1, 1 if newest is None else newest.number + 1):
            visit = state.instances[child(scope.place.path, step.name, number)]
            paths = [path for path, _ in files_of(state, visit)]
            plain = [visit.place.path] if _is_named(name, paths) else plain
            if _is_named(name, [version_name(path, number) for path in paths]):
                versions.append(visit.place.path)
    return tuple(versions or plain)


def _is_named(name: str, paths: list[str]) -> bool:
    return any(name in (path, path.rpartition("/")[2]) for path in paths)
