"""What the package asks of a machine: Linux, a Python from 3.11 on, and few libraries."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/podium"
# The kits of podium.testing are for those who have pytest.
SOURCES = [path for path in sorted(PACKAGE.rglob("*.py")) if path.parts[len(PACKAGE.parts)] != "testing"]
FEW = 8
NAME = re.compile(r"[A-Za-z0-9._-]+")
CALLED = {"yaml": "pyyaml", "acp": "agent-client-protocol"}
"""Libraries by their modules, where the names differ."""


def project() -> Any:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def names(entries: list[str]) -> set[str]:
    return {NAME.findall(entry)[0].lower() for entry in entries}


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path), feature_version=(3, 11))


def imported(tree: ast.Module, *, inside: bool) -> Iterator[str]:
    """The modules that are not ours; with `inside` also those that only a function or a type checker wants."""
    for node in ast.walk(tree) if inside else tree.body:
        match node:
            case ast.Import(names=aliases):
                yield from (alias.name.partition(".")[0] for alias in aliases)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0]
            case _:
                pass


def libraries(*, inside: bool) -> set[str]:
    modules = {module for path in SOURCES for module in imported(parse(path), inside=inside)}
    foreign = modules - set(sys.stdlib_module_names) - {"podium"}
    return {CALLED.get(module, module.lower().replace("_", "-")) for module in foreign}


@pytest.mark.req("R015")
def test_linux_with_python_from_3_11_on_is_enough() -> None:
    said = project()
    assert said["requires-python"] == ">=3.11"
    assert "Operating System :: POSIX :: Linux" in said["classifiers"]
    for path in SOURCES:
        parse(path)


@pytest.mark.req("C23")
def test_few_libraries_are_required_and_no_other_is_imported_before_it_is_needed() -> None:
    required = names(project()["dependencies"])
    groups = project().get("optional-dependencies", {})
    extras = names([entry for entries in groups.values() for entry in entries])

    assert len(required) <= FEW
    assert libraries(inside=False) <= required
    assert libraries(inside=True) - required == extras, (
        "an extra that no code imports installs nothing of use"
    )
    assert not required & extras
