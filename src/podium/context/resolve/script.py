"""Imports of TypeScript and JavaScript: relative, by `paths` and `baseUrl` of a tsconfig, and by packages of a workspace."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from posixpath import dirname, join, normpath
from typing import Any, Final

from podium.context.facts import ImportFact
from podium.fast_dataclass import dataclass

ENDINGS: Final = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mts", ".mjs", ".cts", ".cjs", ".json")
WRITTEN_AS: Final = {
    ".js": (".ts", ".tsx", ".jsx"),
    ".jsx": (".tsx",),
    ".mjs": (".mts",),
    ".cjs": (".cts",),
}
"""TypeScript is imported by the name of the file that it becomes."""
MAX_EXTENDS: Final = 5
_STRINGS_AND_COMMENTS: Final = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA: Final = re.compile(r",(\s*[}\]])")


@dataclass(frozen=True, slots=True)
class PathSettings:
    folder: str
    """What `paths` are relative to."""
    base: str | None
    """`baseUrl`, from which names without a dot are searched."""
    paths: Mapping[str, tuple[str, ...]]


class ScriptResolver:
    def __init__(self, paths: Iterable[str], configs: Mapping[str, bytes]) -> None:
        self._paths = frozenset(paths)
        parsed = {
            path: _parse(content) for path, content in sorted(configs.items()) if path.endswith(".json")
        }
        self._documents = parsed
        self._settings = {
            dirname(path): self._read_settings(path, MAX_EXTENDS)
            for path in parsed
            if path.rpartition("/")[2] in ("tsconfig.json", "jsconfig.json")
        }
        self._packages = {
            str(document["name"]): (dirname(path), document)
            for path, document in parsed.items()
            if path.rpartition("/")[2] == "package.json" and isinstance(document.get("name"), str)
        }

    def resolve(self, path: str, imported: ImportFact) -> Iterator[str]:
        module = imported.module.partition("?")[0]
        if module.startswith("."):
            target = self._file(normpath(join(dirname(path), module)))
        elif module.startswith("/"):
            target = None
        else:
            target = self._by_settings(path, module) or self._by_package(module)
        if target is not None:
            yield target

    def implicit(self, path: str) -> Iterable[str]:
        return ()

    def _file(self, name: str) -> str | None:
        if name.startswith(".."):
            return None
        name = "" if name == "." else name
        if name in self._paths:
            return name
        stem, dot, ending = name.rpartition(".")
        for other in WRITTEN_AS.get(f".{ending}", ()) if dot else ():
            if stem + other in self._paths:
                return stem + other
        for ending in ENDINGS:
            if name + ending in self._paths:
                return name + ending
        for ending in ENDINGS:
            index = join(name, f"index{ending}")
            if index in self._paths:
                return index
        return None

    def _by_settings(self, path: str, module: str) -> str | None:
        folder = dirname(path)
        while folder not in self._settings:
            if not folder:
                return None
            folder = dirname(folder)
        settings = self._settings[folder]
        for pattern, places in sorted(settings.paths.items(), key=lambda item: (-len(item[0]), item[0])):
            head, star, tail = pattern.partition("*")
            if star and module.startswith(head) and module.endswith(tail) and len(module) >= len(head + tail):
                middle = module[len(head) : len(module) - len(tail)]
            elif not star and module == pattern:
                middle = ""
            else:
                continue
            for place in places:
                target = self._file(normpath(join(settings.folder, place.replace("*", middle, 1))))
                if target is not None:
                    return target
        return None if settings.base is None else self._file(normpath(join(settings.base, module)))

    def _by_package(self, module: str) -> str | None:
        parts = module.split("/")
        name = "/".join(parts[:2]) if module.startswith("@") else parts[0]
        if name not in self._packages:
            return None
        folder, document = self._packages[name]
        rest = module[len(name) + 1 :]
        if rest:
            return self._file(normpath(join(folder, rest))) or self._file(normpath(join(folder, "src", rest)))
        entries = [document.get(key) for key in ("source", "types", "module", "main")]
        candidates = [entry for entry in entries if isinstance(entry, str)]
        for candidate in (*candidates, "src/index", "index", "lib/index"):
            if target := self._file(normpath(join(folder, candidate))):
                return target
        return None

    def _read_settings(self, path: str, left: int) -> PathSettings:
        document = self._documents.get(path, {})
        folder = dirname(path)
        parent = PathSettings(folder, None, {})
        extends = document.get("extends")
        if isinstance(extends, str) and extends.startswith(".") and left:
            other = normpath(join(folder, extends))
            other = other if other in self._documents else f"{other}.json"
            if other in self._documents:
                parent = self._read_settings(other, left - 1)
        options = document.get("compilerOptions")
        options = options if isinstance(options, dict) else {}
        base, paths = options.get("baseUrl"), options.get("paths")
        own_base = normpath(join(folder, base)) if isinstance(base, str) else parent.base
        if not isinstance(paths, dict):
            return PathSettings(parent.folder, own_base, parent.paths)
        usable = {
            str(pattern): tuple(place for place in places if isinstance(place, str))
            for pattern, places in paths.items()
            if isinstance(places, list)
        }
        return PathSettings(folder if own_base is None else own_base, own_base, usable)


def _parse(content: bytes) -> dict[str, Any]:
    """JSON with comments and trailing commas; {} for what is something else."""
    text = content.decode("utf-8-sig", "replace")
    plain = _STRINGS_AND_COMMENTS.sub(lambda match: match[0] if match[0][0] == '"' else " ", text)
    for attempt in (plain, _without_trailing_commas(plain)):
        try:
            document = json.loads(attempt)
        except (ValueError, RecursionError):
            continue
        return document if isinstance(document, dict) else {}
    return {}


def _without_trailing_commas(text: str) -> str:
    """A comma inside a string is followed by its quote before any bracket that could end a list."""
    pieces = re.split(r'("(?:\\.|[^"\\])*")', text)
    marked = "".join(piece if index % 2 == 0 else f"\0{index}\0" for index, piece in enumerate(pieces))
    marked = _TRAILING_COMMA.sub(r"\1", marked)
    return re.sub(r"\0(\d+)\0", lambda match: pieces[int(match[1])], marked)
