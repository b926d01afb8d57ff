"""Imports of Java: a class by its package, a member by its class, and what lies in the same package."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from podium.context.facts import FileFacts, ImportFact


class JavaResolver:
    def __init__(self, facts: Mapping[str, FileFacts]) -> None:
        self._facts = facts
        self._classes: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)
        for path, fact in sorted(facts.items()):
            if fact.language == "java":
                names = {
                    one.name for one in fact.definitions if "." not in one.name and one.kind != "function"
                }
                for name in sorted({path.rpartition("/")[2].removesuffix(".java"), *names}):
                    self._classes[fact.package].setdefault(name, []).append(path)

    def resolve(self, path: str, imported: ImportFact) -> Iterator[str]:
        for name in imported.names:
            if name == "*":
                yield from self._all_used(path, imported.module)
            else:
                yield from self._class(path, imported.module, name)

    def implicit(self, path: str) -> Iterator[str]:
        facts = self._facts[path]
        yield from self._all_used(path, facts.package)

    def _all_used(self, path: str, package: str) -> Iterator[str]:
        classes = self._classes.get(package, {})
        for name in self._facts[path].uses:
            if name in classes:
                yield _nearest(classes[name], path)

    def _class(self, path: str, package: str, name: str) -> Iterator[str]:
        """The file of a class; a class inside another one is in the file of the outer one."""
        while True:
            classes = self._classes.get(package, {})
            if name in classes:
                yield _nearest(classes[name], path)
                return
            package, dot, name = package.rpartition(".")
            if not dot:
                return


def _nearest(paths: list[str], importer: str) -> str:
    """Modules of a build may have classes of the same name, for example one for tests."""
    home = importer.split("/")

    def shared(path: str) -> int:
        count = 0
        for first, second in zip(path.split("/"), home, strict=False):
            if first != second:
                break
            count += 1
        return count

    return min(paths, key=lambda path: (-shared(path), path))
