"""Imports of Go: a path below the module of a `go.mod` is a folder, of which only the files with the names used count."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from posixpath import dirname, join, normpath
from typing import Final

from podium.context.facts import FileFacts, ImportFact

_MODULE: Final = re.compile(r"^[ \t]*module\s+\"?([^\s\"]+)", re.MULTILINE)


class GoResolver:
    def __init__(self, facts: Mapping[str, FileFacts], configs: Mapping[str, bytes]) -> None:
        self._facts = facts
        self._modules: dict[str, str] = {}
        for path, content in sorted(configs.items()):
            if path.rpartition("/")[2] == "go.mod":
                line = _MODULE.search(content.decode("utf-8", "replace"))
                if line:
                    self._modules[line[1]] = dirname(path)
        self._folders: defaultdict[str, list[str]] = defaultdict(list)
        for path, fact in sorted(facts.items()):
            if fact.language == "go":
                self._folders[dirname(path)].append(path)
        self._definers: dict[str, Mapping[str, tuple[str, ...]]] = {}

    def resolve(self, path: str, imported: ImportFact) -> Iterator[str]:
        folder = self._folder(imported.module)
        if folder is None:
            return
        sources = [file for file in self._folders.get(folder, ()) if not file.endswith("_test.go")]
        if "*" in imported.names:
            yield from sources
            return
        definers = self._definitions(folder)
        needed = {file for name in imported.names for file in definers.get(name, ())}
        yield from (file for file in sources if file in needed)

    def implicit(self, path: str) -> Iterator[str]:
        """The other files of the package that define a name used here."""
        facts = self._facts[path]
        definers = self._definitions(dirname(path))
        used = {file for name in facts.uses for file in definers.get(name, ())}
        for file in sorted(used):
            is_seen = not file.endswith("_test.go") or path.endswith("_test.go")
            if is_seen and self._facts[file].package == facts.package:
                yield file

    def _folder(self, module: str) -> str | None:
        for name in sorted(self._modules, key=len, reverse=True):
            if module == name or module.startswith(f"{name}/"):
                rest = module[len(name) + 1 :]
                folder = normpath(join(self._modules[name], rest))
                return "" if folder == "." else folder
        return None

    def _definitions(self, folder: str) -> Mapping[str, tuple[str, ...]]:
        """The files that define each name at the top of a package. Methods are found by their types."""
        if folder not in self._definers:
            definers: defaultdict[str, dict[str, None]] = defaultdict(dict)
            for file in self._folders.get(folder, ()):
                for definition in self._facts[file].definitions:
                    definers[definition.name][file] = None
            self._definers[folder] = {name: tuple(files) for name, files in definers.items()}
        return self._definers[folder]
