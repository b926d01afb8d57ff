"""Imports of Rust: modules of a crate by their files, `crate`, `self` and `super`, and crates of the workspace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from posixpath import dirname, join, normpath
from typing import Any

from podium.context.facts import ImportFact
from podium.files import bounded_json


class RustResolver:
    def __init__(self, paths: Iterable[str], configs: Mapping[str, bytes]) -> None:
        self._paths = frozenset(path for path in paths if path.endswith(".rs"))
        self._crates: dict[str, str] = {}
        """The folder with the sources of each crate, by its name in code."""
        for path, content in sorted(configs.items()):
            if path.rpartition("/")[2] != "Cargo.toml":
                continue
            package, library = _tables(content)
            name = library.get("name") or package.get("name")
            if isinstance(name, str):
                root = library.get("path")
                source = dirname(root) if isinstance(root, str) else "src"
                folder = normpath(join(dirname(path), source))
                self._crates[name.replace("-", "_")] = folder

    def resolve(self, path: str, imported: ImportFact) -> Iterator[str]:
        if imported.module.startswith("mod "):
            yield from self._child(path, imported.module[4:])
            return
        parts = [
            *imported.module.split("::"),
            *(name for name in imported.names if name not in ("*", "self")),
        ]
        target = self._walk(path, [part.removeprefix("r#") for part in parts if part])
        if target is not None:
            yield target

    def implicit(self, path: str) -> Iterable[str]:
        return ()

    def _walk(self, path: str, parts: list[str]) -> str | None:
        """The file of the longest beginning of a path that is a module."""
        here = self._module_folder(path)
        match parts[0]:
            case "crate":
                folder, parts = self._crate_folder(path), parts[1:]
                file = self._root_file(folder)
            case "self":
                folder, parts = here, parts[1:]
                file = path
            case "super":
                folder, file = here, path
                while parts and parts[0] == "super":
                    folder, parts = dirname(folder), parts[1:]
                    file = self._file_of(folder) or file
            case name if name in self._crates and self._crates[name] != self._crate_folder(path):
                folder, parts = self._crates[name], parts[1:]
                file = self._root_file(folder)
            case name if self._module_file(here, name) is not None:
                folder, file = here, ""
            case name if self._module_file(self._crate_folder(path), name) is not None:
                folder, file = self._crate_folder(path), ""
            case _:
                return None
        for part in parts:
            below = self._module_file(folder, part)
            if below is None:
                break
            folder, file = join(folder, part) if folder else part, below
        return file if file and file != path else None

    def _child(self, path: str, name: str) -> Iterator[str]:
        target = self._module_file(self._module_folder(path), name)
        yield from () if target is None else (target,)

    def _module_folder(self, path: str) -> str:
        """The folder of the modules inside the module of a file."""
        folder, name = dirname(path), path.rpartition("/")[2].removesuffix(".rs")
        if name in ("mod", "lib", "main") or folder.rpartition("/")[2] in (
            "bin",
            "tests",
            "examples",
            "benches",
        ):
            return folder
        return join(folder, name) if folder else name

    def _module_file(self, folder: str, name: str) -> str | None:
        stem = join(folder, name) if folder else name
        for candidate in (f"{stem}.rs", f"{stem}/mod.rs"):
            if candidate in self._paths:
                return candidate
        return None

    def _file_of(self, folder: str) -> str | None:
        """The file of the module whose folder this is."""
        for candidate in (f"{folder}.rs", f"{folder}/mod.rs", *self._roots(folder)):
            if candidate in self._paths:
                return candidate
        return None

    def _root_file(self, folder: str) -> str:
        return next((file for file in self._roots(folder) if file in self._paths), "")

    def _roots(self, folder: str) -> tuple[str, ...]:
        prefix = f"{folder}/" if folder not in ("", ".") else ""
        return f"{prefix}lib.rs", f"{prefix}main.rs"

    def _crate_folder(self, path: str) -> str:
        """The folder of the nearest root of a crate above a file."""
        folder = dirname(path)
        while True:
            if self._root_file(folder):
                return folder
            if not folder:
                return dirname(path)
            folder = dirname(folder)


def _tables(content: bytes) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    try:
        document = bounded_json.loads_toml(content.decode("utf-8", "replace"))
    except ValueError:
        return {}, {}
    package, library = document.get("package"), document.get("lib")
    return (
        package if isinstance(package, dict) else {},
        library if isinstance(library, dict) else {},
    )
