"""What the package asks of a machine: Linux, a Python from 3.11 on, and few libraries."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.syntax import OLDEST, syntax_of

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/podium"
# The kits of podium.testing are for those who have pytest.
SOURCES = [path for path in sorted(PACKAGE.rglob("*.py")) if path.parts[len(PACKAGE.parts)] != "testing"]
FEW = 8
NAME = re.compile(r"[A-Za-z0-9._-]+")
CALLED = {"yaml": "pyyaml", "acp": "agent-client-protocol", "opentelemetry": "opentelemetry-proto"}
"""Libraries by their modules, where the names differ."""


def project() -> Any:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def names(entries: list[str]) -> set[str]:
    return {NAME.findall(entry)[0].lower() for entry in entries}


def imported(source: str, *, inside: bool) -> Iterator[str]:
    """The modules that are not ours; with `inside` also those that only a function or a type checker wants."""
    for found in syntax_of(source).imports:
        if (inside or found.at_top) and not found.level:
            modules = found.names if found.is_plain else (found.module,)
            yield from (module.partition(".")[0] for module in modules)


def libraries(*, inside: bool) -> set[str]:
    modules = {module for path in SOURCES for module in imported(path.read_text("utf-8"), inside=inside)}
    foreign = modules - set(sys.stdlib_module_names) - {"podium"}
    return {CALLED.get(module, module.lower().replace("_", "-")) for module in foreign}


@pytest.mark.req("R015")
def test_linux_with_python_from_3_11_on_is_enough() -> None:
    said = project()
    assert said["requires-python"] == ">=3.11"
    assert "Operating System :: POSIX :: Linux" in said["classifiers"]
    assert OLDEST == (3, 11)
    for path in SOURCES:
        syntax_of(path.read_text("utf-8"))


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
