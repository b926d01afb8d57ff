"""Which component of a project imports which other one, where that makes circles, and what their needs do not say.

A component is a set of files. An import that is only for a type checker, or only inside a function, does not make one
component wait for another, so circles are made of edges of the kind `load` alone. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from podium.context.facts import ImportFact, ImportKind
from podium.context.resolve.graph import Edge, ImportGraph
from podium.core.globs import glob_matches
from podium.fast_dataclass import dataclass

Kind: TypeAlias = Literal["load", "lazy", "types", "package"]
KINDS: Final[tuple[Kind, ...]] = ("load", "lazy", "types", "package")
"""From the strongest to the weakest. `package`: the language shows files of a folder to each other without an import."""
_KIND_OF: Final[Mapping[ImportKind, Kind]] = {
    "load": "load",
    "export": "load",
    "lazy": "lazy",
    "types": "types",
    "package": "package",
}

_DOMAINS: Final = frozenset({"com", "org", "io", "net", "dev"})
"""With which the names of packages of Java begin."""


@dataclass(frozen=True, slots=True)
class Component:
    name: str
    files: tuple[str, ...]
    needs: tuple[str, ...] = ()
    """As the file says."""
    waits: tuple[str, ...] = ()
    """Those before which it cannot start anyway, because of a barrier."""


@dataclass(frozen=True, slots=True)
class ComponentEdge:
    """One component imports another: the imports, all of one kind."""

    source: str
    target: str
    kind: Kind
    imports: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Circle:
    """Components that load each other, and the edges with the fewest imports whose removal leaves no circle."""

    members: tuple[str, ...]
    cuts: tuple[ComponentEdge, ...]


@dataclass(frozen=True, slots=True)
class ForeignImport:
    """A module that no file of the project answers."""

    module: str
    component: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Dependencies:
    components: tuple[Component, ...]
    edges: tuple[ComponentEdge, ...]
    circles: tuple[Circle, ...]
    missing: tuple[ComponentEdge, ...]
    """Edges whose target need not be finished when their source starts, by `needs` and barriers."""
    shared: tuple[tuple[str, tuple[str, ...]], ...]
    """Files that several components may change."""
    foreign: tuple[ForeignImport, ...]


def by_folder(paths: Iterable[str], depth: int) -> tuple[Component, ...]:
    """A component for each folder of this depth. A file beside such folders is a component of its own.

    Thrown together, the files beside packages would make a component that everything imports and that imports everything.
    """
    every = sorted(paths)
    with_folders = {
        "/".join(path.split("/")[:level])
        for path in every
        for level in range(depth)
        if path.count("/") >= depth
    }
    folders: dict[str, list[str]] = {}
    for path in every:
        parts = path.split("/")
        folder = "/".join(parts[: min(depth, len(parts) - 1)])
        is_beside = len(parts) <= depth and folder in with_folders
        folders.setdefault(path if is_beside or not folder else folder, []).append(path)
    return tuple(Component(name, tuple(files)) for name, files in sorted(folders.items()))


def by_globs(
    paths: Sequence[str],
    globs: Mapping[str, Sequence[str]],
    needs: Mapping[str, Sequence[str]],
    waits: Mapping[str, Sequence[str]],
) -> tuple[Component, ...]:
    """A component for each name, with the files that its globs match."""
    return tuple(
        Component(
            name,
            tuple(path for path in paths if any(glob_matches(glob, path) for glob in own)),
            tuple(needs.get(name, ())),
            tuple(waits.get(name, ())),
        )
        for name, own in globs.items()
    )


def analyze(components: Sequence[Component], graph: ImportGraph) -> Dependencies:
    owners: dict[str, list[str]] = {}
    for component in components:
        for path in component.files:
            owners.setdefault(path, []).append(component.name)
    edges = tuple(_edges(components, graph, owners))
    circles = tuple(_circles([edge for edge in edges if edge.kind == "load"], components))
    return Dependencies(
        tuple(components),
        edges,
        circles,
        tuple(_missing(components, edges)),
        tuple((path, tuple(names)) for path, names in sorted(owners.items()) if len(names) > 1),
        tuple(_foreign(components, graph)),
    )


def _edges(
    components: Sequence[Component], graph: ImportGraph, owners: Mapping[str, Sequence[str]]
) -> Iterator[ComponentEdge]:
    """In the order of the components; of several kinds between two, each is an edge of its own."""
    imports: dict[tuple[str, str, Kind], list[Edge]] = {}
    for component in components:
        for path in component.files:
            for edge in graph.edges_from(path):
                targets = owners.get(edge.target, ())
                if component.name in targets or owners[path][0] != component.name:
                    # Both files are its own, or the file is shared and counts for its first component.
                    continue
                if targets:
                    imports.setdefault((component.name, targets[0], _KIND_OF[edge.kind]), []).append(edge)
    order = {component.name: number for number, component in enumerate(components)}
    keys = sorted(imports, key=lambda key: (order[key[0]], order[key[1]], KINDS.index(key[2])))
    return (ComponentEdge(*key, tuple(imports[key])) for key in keys)


def _circles(edges: Sequence[ComponentEdge], components: Sequence[Component]) -> Iterator[Circle]:
    order = {component.name: number for number, component in enumerate(components)}
    following: dict[str, list[str]] = {name: [] for name in order}
    for edge in edges:
        following[edge.source].append(edge.target)
    for members in strongly_connected(following):
        if len(members) > 1:
            inner = frozenset(members)
            own = [edge for edge in edges if edge.source in inner and edge.target in inner]
            yield Circle(tuple(sorted(members, key=order.__getitem__)), tuple(_cheapest_cuts(own)))


def _cheapest_cuts(edges: Sequence[ComponentEdge]) -> Iterator[ComponentEdge]:
    """Keeps edges from the one with the most imports on, as long as they close no circle; the others are cut.

    The smallest set of cuts is too expensive to find; this one leaves no edge out that could stay.
    """
    acyclic: dict[str, set[str]] = {}
    for edge in sorted(edges, key=lambda each: (-len(each.imports), each.source, each.target)):
        if edge.source in reachable(acyclic, edge.target):
            yield edge
        else:
            acyclic.setdefault(edge.source, set()).add(edge.target)


def reachable(following: Mapping[str, Iterable[str]], start: str) -> frozenset[str]:
    """Everything that `start` leads to, itself included."""
    seen = {start}
    todo = [start]
    while todo:
        for name in following.get(todo.pop(), ()):
            if name not in seen:
                seen.add(name)
                todo.append(name)
    return frozenset(seen)


def _missing(components: Sequence[Component], edges: Iterable[ComponentEdge]) -> Iterator[ComponentEdge]:
    finished_before = {each.name: (*each.needs, *each.waits) for each in components}
    for edge in edges:
        if edge.kind in ("load", "lazy") and edge.target not in reachable(finished_before, edge.source):
            yield edge


def _foreign(components: Sequence[Component], graph: ImportGraph) -> Iterator[ForeignImport]:
    """Each module once for each component, with the first place."""
    for component in components:
        seen: set[str] = set()
        for path in component.files:
            for imported in graph.foreign_imports(path):
                module = _package_of(imported)
                if module and module not in seen:
                    seen.add(module)
                    yield ForeignImport(module, component.name, path, imported.line)


def _package_of(imported: ImportFact) -> str:
    """The name by which a library is installed, roughly; "" for a relative import."""
    module = imported.module
    if module.startswith("."):
        return ""
    if "/" in module:
        parts = module.split("/")
        # A scope of npm, or the host of a Go module.
        return "/".join(parts[: 2 if module.startswith("@") else 3 if "." in parts[0] else 1])
    parts = module.replace("::", ".").split(".")
    return ".".join(parts[: 2 if parts[0] in _DOMAINS else 1])


def strongly_connected(following: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """Tarjan's components, without recursion."""
    numbers: dict[str, int] = {}
    lows: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    result: list[tuple[str, ...]] = []
    for root in following:
        if root in numbers:
            continue
        todo: list[tuple[str, Iterator[str]]] = [(root, iter(following.get(root, ())))]
        numbers[root] = lows[root] = len(numbers)
        stack.append(root)
        on_stack.add(root)
        while todo:
            name, others = todo[-1]
            other = next(others, None)
            if other is None:
                todo.pop()
                if todo:
                    lows[todo[-1][0]] = min(lows[todo[-1][0]], lows[name])
                if lows[name] == numbers[name]:
                    result.append(_popped(stack, on_stack, name))
            elif other not in numbers:
                numbers[other] = lows[other] = len(numbers)
                stack.append(other)
                on_stack.add(other)
                todo.append((other, iter(following.get(other, ()))))
            elif other in on_stack:
                lows[name] = min(lows[name], numbers[other])
    return result


def _popped(stack: list[str], on_stack: set[str], name: str) -> tuple[str, ...]:
    index = stack.index(name)
    members = tuple(stack[index:])
    del stack[index:]
    on_stack.difference_update(members)
    return members
