"""Finds the files of the tree that the settings of a test runner name: set-up files, plugins, reporters, imported settings.

Such a file runs beside the tests and can change what they prove, whatever its name is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import PurePosixPath
from posixpath import normpath
from typing import Final

_KEYS: Final = (
    "setupFiles|setupFilesAfterEnv|globalSetup|globalTeardown|snapshotSerializers|snapshotEnvironment|snapshotResolver"
    "|testEnvironment|environment|testRunner|runner|resolver|transform|reporters|testResultsProcessor|testSequencer"
    "|sequencer|plugins|presets|pytest_plugins"
)
"""Not `alias`, `moduleNameMapper` and the like: these lead to the code under test."""
_VALUES: Final = re.compile(
    rf"[\"']?\b(?:{_KEYS})[\"']?\s{{0,20}}[:=]\s{{0,20}}(\[[^\]]{{0,4000}}\]|\{{[^}}]{{0,4000}}\}}|\"[^\"\n]{{0,400}}\"|'[^'\n]{{0,400}}')"
)
_IMPORTS: Final = re.compile(
    r"(?:\bfrom|\bimport|\brequire\(|\bimport\()\s{0,20}[\"'](\.[^\"'\n]{0,400})[\"']"
)
_OPTION: Final = re.compile(r"(?:^|[\s\"'])-p[\s\"',=]{1,6}([\w.]{1,200})")
_STRINGS: Final = re.compile(r"[\"']([^\"'\n]{1,400})[\"']")
_SCRIPTS: Final = (
    "",
    ".js",
    ".ts",
    ".mjs",
    ".cjs",
    ".mts",
    ".cts",
    ".jsx",
    ".tsx",
    ".py",
    "/index.js",
    "/index.ts",
)
_SETTINGS: Final = re.compile(
    r"(?:.+\.config\.\w+|vitest\.workspace\.\w+|\.babelrc.*|\.mocharc.*|package\.json|pyproject\.toml|\.?pytest\.(?:ini|toml)"
    r"|tox\.ini|setup\.cfg|\.?mypy\.ini|conftest\.py)"
)
_MODULE_FOLDERS: Final = (".", "src", "lib", "tests", "test")
_MAX_FILES: Final = 100
_MAX_TEXT: Final = 256 << 10
"""Bytes that are searched, of all settings together."""


def files_named_by_settings(
    settings: Iterable[str], files: Collection[str], read: Callable[[str], bytes]
) -> frozenset[str]:
    """Those of the files that the settings name, and the settings that these import."""
    texts = [path for path in settings if _SETTINGS.fullmatch(PurePosixPath(path).name)][:_MAX_FILES]
    named: set[str] = set()
    left = _MAX_TEXT
    while texts and left > 0 and len(named) < _MAX_FILES:
        path = texts.pop(0)
        text = read(path)[:left].decode("utf-8", "replace")
        left -= len(text)
        for place in _places(path, text):
            if place in files and place not in named and place != path:
                named.add(place)
                texts.append(place)
    return frozenset(named)


_WORD: Final = re.compile(r"[\w./-]{1,200}")


def folders_named_by_settings(
    settings: Iterable[str], folders: Collection[str], read: Callable[[str], bytes]
) -> frozenset[str]:
    """Those of the folders that the settings name in any place: one of them may be where Python looks for modules."""
    texts = [path for path in settings if _SETTINGS.fullmatch(PurePosixPath(path).name)][:_MAX_FILES]
    candidates = frozenset(folders)
    named: set[str] = set()
    left = _MAX_TEXT
    for path in texts:
        text = read(path)[: max(0, left)].decode("utf-8", "replace")
        left -= len(text)
        top = str(PurePosixPath(path).parent)
        for word in {word.strip("/") for word in _WORD.findall(text)}:
            named |= {normpath(f"{start}/{word}") for start in {top, "."}} & candidates
    return frozenset(named - {"."})


def _places(path: str, text: str) -> Iterator[str]:
    folder = str(PurePosixPath(path).parent)
    words = [word for value in _VALUES.findall(text) for word in _STRINGS.findall(value)]
    if not path.endswith((".json", ".toml", ".ini", ".cfg", "conftest.py")):
        words += _IMPORTS.findall(text)
    for word in words:
        place = normpath(f"{folder}/{word.removeprefix('<rootDir>/')}")
        if not place.startswith(".."):
            yield from (f"{place}{ending}" for ending in _SCRIPTS)
    if path.endswith((".py", ".toml", ".ini", ".cfg")):
        modules = [*words, *_OPTION.findall(text)]
        yield from (
            normpath(f"{folder}/{start}/{module.replace('.', '/')}{ending}")
            for module in modules
            for start in _MODULE_FOLDERS
            for ending in (".py", "/__init__.py")
        )
