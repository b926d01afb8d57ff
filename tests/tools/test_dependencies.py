"""What the package asks of a machine: Linux, a Python from 3.11 on, and few libraries."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

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


BROUGHT: Final = {"markupsafe", "mcp-types", "pydantic", "rich"}
"""Parts of libraries that are listed, which install them as well."""
OPTIONAL: Final = ("frontends/editor", "frontends/mcp", "frontends/tui", "frontends/web", "temporal")
"""Packages that are imported only by the commands that need them, so they may import their extra at the top."""


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


def is_optional(path: Path) -> bool:
    return str(path.relative_to(PACKAGE)).startswith(tuple(f"{folder}/" for folder in OPTIONAL))


def is_command(path: Path) -> bool:
    """Whether it is a subcommand, which is imported only when it is called."""
    return len(path.relative_to(PACKAGE).parts) == 4 and path.is_relative_to(PACKAGE / "frontends/cli")


def libraries(*, inside: bool) -> set[str]:
    sources = [path for path in SOURCES if inside or not is_optional(path)]
    modules = {module for path in sources for module in imported(path.read_text("utf-8"), inside=inside)}
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
    assert libraries(inside=True) - required - BROUGHT == extras, (
        "an extra that no code imports installs nothing of use"
    )
    assert not required & extras


def test_packages_with_extras_are_imported_where_they_are_used() -> None:
    own = tuple(f"podium.{folder.replace('/', '.')}" for folder in OPTIONAL)
    early = {
        (str(path.relative_to(PACKAGE)), found.module)
        for path in SOURCES
        if not is_optional(path) and not is_command(path)
        for found in syntax_of(path.read_text("utf-8")).imports
        if found.at_top and str(found.module).startswith(own)
    }
    assert early == set()
