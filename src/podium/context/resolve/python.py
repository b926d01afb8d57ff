"""Imports of Python: absolute from any root of packages, relative, and through the `__init__` that passes a name on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from podium.context.facts import FileFacts, ImportFact

MAX_PASSES: Final = 3
"""How many `__init__` files may pass a name on."""
ROOTS: Final = ("src", "lib", "python")


class PythonResolver:
    def __init__(self, facts: Mapping[str, FileFacts], paths: Iterable[str]) -> None:
        self._facts = facts
        self._paths = frozenset(path for path in paths if path.endswith((".py", ".pyi")))
        self._modules: dict[str, list[str]] = {}
        for path in sorted(self._paths):
            for name in self._names(path):
                self._modules.setdefault(name, []).append(path)

    def resolve(self, path: str, imported: ImportFact) -> Iterator[str]:
        module = self._absolute(path, imported.module)
        if module is None:
            return
        base = self._file(module, path)
        if not imported.names:
            # `import a.b` also loads a/__init__, which matters only if a.b is not a file of its own.
            yield from () if base is None else (base,)
            return
        for name in imported.names:
            inner = self._file(f"{module}.{name}" if module else name, path) if name != "*" else None
            if inner is not None:
                yield inner
            elif base is not None:
                yield from self._passed_on(base, name, MAX_PASSES)

    def implicit(self, path: str) -> Iterable[str]:
        return ()

    def _passed_on(self, base: str, name: str, passes: int) -> Iterator[str]:
        """The file of a name, and the `__init__` files that it comes through."""
        yield base
        facts = self._facts.get(base)
        if facts is None or not passes or not base.endswith(("/__init__.py", "/__init__.pyi")):
            return
        if any(one.name == name for one in facts.definitions):
            return
        for imported in facts.imports:
            if name in imported.names or (imported.names == ("*",) and name != "*"):
                module = self._absolute(base, imported.module)
                below = None if module is None else self._file(module, base)
                inner = None if module is None else self._file(f"{module}.{name}", base)
                if inner is not None and name in imported.names:
                    yield inner
                elif (
                    below is not None
                    and below != base
                    and (name in imported.names or self._defines(below, name))
                ):
                    yield from self._passed_on(below, name, passes - 1)

    def _defines(self, path: str, name: str) -> bool:
        facts = self._facts.get(path)
        return facts is not None and (
            any(one.name == name for one in facts.definitions)
            or any(name in imported.names for imported in facts.imports)
        )

    def _absolute(self, path: str, module: str) -> str | None:
        """The dotted name from the root of the project; None if it leads out of it."""
        name = module.lstrip(".")
        dots = len(module) - len(name)
        if not dots:
            return module
        folders = path.split("/")[:-1]
        if dots - 1 > len(folders):
            return None
        folders = folders[: len(folders) - (dots - 1)]
        return ".".join((*folders, *([name] if name else [])))

    def _file(self, module: str, importer: str) -> str | None:
        """The file of a module; of several with that name, the one nearest to the importer."""
        candidates = self._modules.get(module)
        if not candidates:
            return None
        home = importer.split("/")
        return min(
            candidates, key=lambda path: (-_shared(path.split("/"), home), path.endswith(".pyi"), path)
        )

    def _names(self, path: str) -> Iterator[str]:
        """The dotted names by which a file may be imported."""
        parts = path.rpartition(".")[0].split("/")
        if parts[-1] == "__init__":
            parts = parts[:-1]
        if not parts:
            return
        starts = {0, self._package_start(path)}
        starts.update(index + 1 for index, part in enumerate(parts[:-1]) if part in ROOTS)
        for start in sorted(starts):
            if parts[start:]:
                yield ".".join(parts[start:])

    def _package_start(self, path: str) -> int:
        """The number of folders above the outermost package of a file."""
        folders = path.split("/")[:-1]
        start = len(folders)
        while start and f"{'/'.join(folders[:start])}/__init__.py" in self._paths:
            start -= 1
        return start


def _shared(one: list[str], other: list[str]) -> int:
    count = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        count += 1
    return count
