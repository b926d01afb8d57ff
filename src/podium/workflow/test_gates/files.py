"""Which files are tests, and which decide what a command that runs tests proves.

A gate that runs tests must also pass with the tests and settings from before the judged work; otherwise the author of
the code would also write what it is judged by.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath
from typing import Final

from podium.core.globs import glob_matches, protects
from podium.workflow.test_gates.steering import MANIFESTS, steering_globs

SNAPSHOTS: Final = (
    "**/__snapshots__/**", "**/__image_snapshots__/**", "**/*.snap", "**/*.snapshot", "**/*.ambr", "**/*.golden",
    "**/*.approved.*",
)  # fmt: skip
"""Of jest, vitest, node, insta, syrupy and libraries that compare with approved files."""
TEST_FILES: Final = (
    "test/**", "tests/**", "**/test/**", "**/tests/**", "**/__tests__/**", "spec/**", "**/spec/**", "**/specs/**",
    "**/e2e/**", "**/unit_tests/**", "**/integration_tests/**", "**/functional_tests/**",
    "**/test_*", "**/test-*", "**/test.*", "**/tests.*", "**/*_test.*", "**/*-test.*", "**/*.test.*", "**/*_tests.*",
    "**/*-tests.*", "**/*.spec.*", "**/*_spec.*", "**/*-spec.*", "**/*Test.*", "**/*Tests.*", "**/*Spec.*", "**/*.cy.*",
    "**/*.e2e.*", "**/*.feature", "**/*.bats", "**/conftest.py", "**/setupTests.*",
    "**/testdata/**", "**/test_data/**", "**/test-data/**", "**/fixtures/**", "**/__fixtures__/**", "**/golden/**",
    "**/goldens/**", *SNAPSHOTS,
)  # fmt: skip
"""Where most projects keep their tests, snapshots and fixtures; other changed files count as the code under test."""


_RUNNER_MODULES: Final = frozenset({"pytest", "_pytest", "pluggy", "iniconfig", "unittest"})
"""Python modules of test runners: a new file of that name anywhere may be imported instead."""
_SHADOWED: Final = frozenset(sys.stdlib_module_names) | {
    "py",
    "packaging",
    "coverage",
    "xdist",
    "hypothesis",
    "tox",
    "nox",
}
"""Further modules that a runner imports: a new file of that name in a folder of modules may be imported instead."""
MODULE_FOLDERS: Final = ("", "src", "lib", "python")
"""Where Python usually looks for the modules of a project; PYTHONPATH may name others."""
_IMPORTABLE: Final = (".py", ".pyc", ".so", ".pyd")
_STUBBED: Final = ((".pyi", (".py",)),)
"""Declarations that a type checker reads instead of the code beside them."""


def is_test_file(path: str, globs: Iterable[str] = ()) -> bool:
    """`globs` are those that the author names instead of the usual ones."""
    return _any(tuple(globs) or TEST_FILES, path)


def is_snapshot(path: str) -> bool:
    """Whether a file has results that a test compares with, written by the test itself."""
    return _any(SNAPSHOTS, path)


def steers_tests(path: str) -> bool:
    """Whether a file is a setting that decides which tests run and how."""
    return matches_any(steering_globs(), path)


def matches_any(globs: Iterable[str], path: str) -> bool:
    """Whether a file is one of these, or lies in the place of a folder that they name."""
    return any(protects(glob, path) for glob in globs)


def is_shadow(
    path: str,
    was_there: Callable[[str], bool],
    folders: Iterable[str] = MODULE_FOLDERS,
    is_installed: Callable[[str], bool] = lambda _: False,
) -> bool:
    """Whether a new file would be imported in place of a module that a Python test runner needs.

    A runner loads the plugins that are installed, so any installed module counts. A module of that name that was there
    before is the project's own code. A name without an ending may be a link to a folder.
    """
    parts = path.split("/")
    suffix = PurePosixPath(path).suffix
    if suffix and suffix not in _IMPORTABLE:
        return False
    for at, part in enumerate(parts):
        name = part.partition(".")[0]
        in_folder = bool(suffix) and "/".join(parts[:at]) in folders
        if name in _RUNNER_MODULES or (in_folder and (name in _SHADOWED or is_installed(name))):
            return not was_there("/".join(parts[: at + 1]))
    return False


def is_stub(path: str, was_there: Callable[[str], bool]) -> bool:
    """Whether a new file of declarations hides code that was there before from a type checker."""
    return any(
        path.endswith(ending) and any(was_there(path.removesuffix(ending) + code) for code in codes)
        for ending, codes in _STUBBED
    )


INLINE_RUNNERS: Final = ("cargo", "go", "pytest", "unittest", "vitest")
"""Runners that may run tests inside the code under test, or whose manifest also says which tests there are."""
_INLINE: Final = {
    ".rs": re.compile(rb"#\[(?:\w+::)*test\b|#\[cfg\(test\)\]|^[ \t]*//[/!][ \t]*```", re.MULTILINE),
    ".py": re.compile(rb"^[ \t]*>>> ", re.MULTILINE),
    **dict.fromkeys((".js", ".ts", ".mjs", ".mts", ".jsx", ".tsx"), re.compile(rb"import\.meta\.vitest")),
}


def may_have_inline_tests(path: str) -> bool:
    return PurePosixPath(path).suffix in _INLINE or PurePosixPath(path).name in MANIFESTS


def has_inline_tests(path: str, content: bytes) -> bool:
    """Whether a file of code has tests inside: Rust's `#[test]` and examples, doctests, in-source tests of vitest.

    A manifest that can leave out tests counts too: it also belongs to the code, so it cannot be restored.
    """
    place = PurePosixPath(path)
    return place.name in MANIFESTS or _INLINE[place.suffix].search(content) is not None


_OTHER_CODE: Final = {
    ".py": re.compile(
        rb"^(?:async\s+)?def\s+(?!test)|^class\s+(?!Test)(?!\w+\([^)\n]*TestCase)|^[ \t]*>>> ", re.MULTILINE
    ),
    **dict.fromkeys(
        (".js", ".ts", ".mjs", ".mts", ".cjs", ".cts", ".jsx", ".tsx"),
        re.compile(rb"^[ \t]*(?:export\b|module\.exports\b|exports\.)|import\.meta\.vitest", re.MULTILINE),
    ),
}


def has_other_code(path: str, content: bytes) -> bool:
    """Whether a file with tests also has code that others may use, so that it cannot be restored without that code."""
    pattern = _OTHER_CODE.get(PurePosixPath(path).suffix)
    return pattern is None or pattern.search(content) is not None


SCRIPTS: Final = (".py", ".js", ".ts", ".mjs", ".mts", ".cjs", ".cts", ".jsx", ".tsx")
_IMPORTS: Final = re.compile(
    rb"^[ \t]*(?:from|import)\s+([\w., ]+)|[\"'](\.\.?/[^\"'\n]{0,400})[\"']", re.MULTILINE
)


def imports_any(content: bytes, paths: Iterable[str]) -> bool:
    """Whether a file imports one of these modules, as far as their last names tell."""
    words = {
        word
        for match in _IMPORTS.finditer(content)
        for word in re.split(rb"[\s,./]+", match[1] or re.sub(rb"\.\w+$", b"", match[2]))
    }
    stems = (_module_name(path).encode() for path in paths)
    return any(stem in words for stem in stems)


def _module_name(path: str) -> str:
    place = PurePosixPath(path)
    return place.parent.name if place.stem in ("__init__", "index") else place.stem


def _any(patterns: tuple[str, ...], path: str) -> bool:
    return any(glob_matches(pattern, path) for pattern in patterns)
