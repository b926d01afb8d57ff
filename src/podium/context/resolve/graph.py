"""The imports of a project as edges between its files."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol

from podium.context.facts import FileFacts, ImportFact, ImportKind
from podium.context.resolve.go import GoResolver
from podium.context.resolve.java import JavaResolver
from podium.context.resolve.python import PythonResolver
from podium.context.resolve.rust import RustResolver
from podium.context.resolve.script import ScriptResolver
from podium.fast_dataclass import dataclass

CONFIGS: Final = ("go.mod", "Cargo.toml", "package.json", "tsconfig.json", "jsconfig.json")
"""Names of files that say how imports are resolved."""
_NODE: Final = frozenset(
    "assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns domain events fs "
    "http http2 https inspector module net os path perf_hooks process punycode querystring readline repl stream "
    "string_decoder sys timers tls trace_events tty url util v8 vm wasi worker_threads zlib".split()
)
_RUST: Final = frozenset({"std", "core", "alloc", "proc_macro", "test"})
_RUST_PATHS: Final = frozenset({"crate", "self", "super"})
_JAVA: Final = ("java.", "javax.", "jdk.", "sun.")


@dataclass(frozen=True, slots=True)
class Edge:
    source: str
    target: str
    kind: ImportKind
    line: int
    module: str
    names: int = 1
    """How many names it takes."""


class Resolver(Protocol):
    def resolve(self, path: str, imported: ImportFact) -> Iterable[str]:
        """The files of the project that an import means; none for one of a library."""

    def implicit(self, path: str) -> Iterable[str]:
        """The files that the language makes visible without an import."""


def is_config(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name in CONFIGS or (name.startswith("tsconfig.") and name.endswith(".json"))


class ImportGraph:
    """Resolves imports on demand; edges of all files only for who imports what."""

    def __init__(
        self, facts: Mapping[str, FileFacts], paths: Iterable[str], configs: Mapping[str, bytes]
    ) -> None:
        self._facts = facts
        every = frozenset(paths)
        script = ScriptResolver(every, configs)
        self._resolvers: dict[str, Resolver] = {
            "python": PythonResolver(facts, every),
            "typescript": script,
            "javascript": script,
            "go": GoResolver(facts, configs),
            "rust": RustResolver(every, configs),
            "java": JavaResolver(facts),
        }

    def edges_from(self, path: str) -> Iterator[Edge]:
        """The edges of one file, without repetition; imports of libraries have none."""
        facts = self._facts.get(path)
        resolver = None if facts is None else self._resolvers.get(facts.language)
        if facts is None or resolver is None:
            return
        seen: set[tuple[str, ImportKind]] = set()
        for imported in facts.imports:
            for target in resolver.resolve(path, imported):
                if target != path and (target, imported.kind) not in seen:
                    seen.add((target, imported.kind))
                    yield Edge(
                        path,
                        target,
                        imported.kind,
                        imported.line,
                        imported.module,
                        max(1, len(imported.names)),
                    )
        for target in resolver.implicit(path):
            if target != path and (target, "package") not in seen:
                seen.add((target, "package"))
                yield Edge(path, target, "package", 1, facts.package)

    def foreign_imports(self, path: str) -> Iterator[ImportFact]:
        """The imports of a file that no file of the project answers, without those of the standard library."""
        facts = self._facts.get(path)
        resolver = None if facts is None else self._resolvers.get(facts.language)
        if facts is None or resolver is None:
            return
        for imported in facts.imports:
            if not is_standard(facts.language, imported.module) and not any(
                True for _ in resolver.resolve(path, imported)
            ):
                yield imported

    def edges(self) -> Iterator[Edge]:
        for path in sorted(self._facts):
            yield from self.edges_from(path)

    def imports_of(self, targets: Sequence[str]) -> tuple[str, ...]:
        """The files that the targets import, in the order of their statements."""
        every = (edge.target for target in targets for edge in self.edges_from(target))
        return tuple(path for path in dict.fromkeys(every) if path not in targets)

    def importers_of(self, targets: Sequence[str]) -> dict[str, int]:
        """The files that import a target, with the number of names they take."""
        aims = frozenset(targets)
        counts: dict[str, int] = {}
        for edge in self.edges():
            if edge.target in aims and edge.source not in aims:
                counts[edge.source] = counts.get(edge.source, 0) + edge.names
        return counts


def is_standard(language: str, module: str) -> bool:
    """Whether a module comes with the language, so that no package has to be installed for it."""
    first = module.split("/", maxsplit=1)[0]
    match language:
        case "python":
            return not module.startswith(".") and module.split(".", maxsplit=1)[0] in sys.stdlib_module_names
        case "typescript" | "javascript":
            return module.startswith("node:") or first in _NODE
        case "go":
            # The path of a package that is fetched begins with the name of a host.
            return "." not in first
        case "rust":
            return module.split("::", maxsplit=1)[0] in _RUST | _RUST_PATHS
        case "java":
            return module.startswith(_JAVA)
        case _:
            return False
