"""The commands that may prove a change of a Python project, and the files that its build generates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from podium.files import bounded_json

if TYPE_CHECKING:
    from podium.app.author.detect import Files

CommandParts: TypeAlias = tuple[Literal["tests", "lint", "types"], tuple[str, ...], str]
"""The purpose, the command, and the file that speaks for it."""

_SETTINGS: Final = ("pyproject.toml", "setup.cfg", "tox.ini", "requirements-dev.txt", "requirements.txt")
_GENERATED: Final = (
    (("tool", "hatch", "build", "hooks", "vcs", "version-file"), "hatch-vcs"),
    (("tool", "setuptools_scm", "version_file"), "setuptools-scm"),
    (("tool", "setuptools_scm", "write_to"), "setuptools-scm"),
    (("tool", "pdm", "version", "write_to"), "pdm"),
)
"""Where settings name a file that a build writes and that git usually ignores."""


def python_commands(files: Files) -> Iterator[CommandParts]:
    settings = "\n".join(map(files.text, _SETTINGS))
    own = files.has(".venv/bin/python", "venv/bin/python")
    pythons = (own, "python3") if own else ("python3",)
    yield from _tests(files, settings, pythons)
    ruff = files.has("ruff.toml", ".ruff.toml") or ("ruff" in settings and "its settings")
    if ruff:
        yield "lint", ("ruff", "check", "."), f"ruff in {ruff}"
        yield from (("lint", (python, "-m", "ruff", "check", "."), f"ruff in {ruff}") for python in pythons)
    if files.has(".flake8") or "[flake8]" in settings:
        yield from (("lint", (python, "-m", "flake8"), "settings of flake8") for python in pythons)
    mypy = files.has("mypy.ini", ".mypy.ini") or ("mypy" in settings and "its settings")
    if mypy:
        # With `files` in its settings it needs no argument, and would check more with one.
        rest = () if _has_own_files(files) else (".",)
        yield from (("types", (python, "-m", "mypy", *rest), f"mypy in {mypy}") for python in pythons)


def _tests(files: Files, settings: str, pythons: tuple[str, ...]) -> Iterator[CommandParts]:
    pytest = files.has("pytest.ini", "conftest.py", "tests/conftest.py") or (
        "pytest" in settings and "its settings"
    )
    has_tests = files.any(
        "test_*.py",
        "*_test.py",
        "tests/**/test_*.py",
        "tests/**/*_test.py",
        "test/**/test_*.py",
        "src/**/test_*.py",
    )
    if pytest or has_tests:
        because = f"pytest in {pytest}" if pytest else "files named test_*.py"
        yield from (("tests", (python, "-m", "pytest", "-q"), because) for python in pythons)
    if has_tests:
        for python in pythons:
            yield "tests", (python, "-m", "unittest", "-q"), "files named test_*.py"
            if files.any("tests/test_*.py"):
                yield "tests", (python, "-m", "unittest", "discover", "-q", "-s", "tests"), "tests/"


def _has_own_files(files: Files) -> bool:
    mypy = _tool(_project(files), ("tool", "mypy"))
    return isinstance(mypy, dict) and bool({"files", "packages", "modules"} & mypy.keys())


def generated_files(files: Files) -> tuple[tuple[str, str], ...]:
    """The files that a build of the project writes, each with the tool that writes it."""
    settings = _project(files)
    named = ((_tool(settings, keys), tool) for keys, tool in _GENERATED)
    return tuple((name, tool) for name, tool in named if isinstance(name, str))


def _project(files: Files) -> dict[str, Any]:
    try:
        return bounded_json.loads_toml(files.text("pyproject.toml"))
    except ValueError:
        return {}


def _tool(settings: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        settings = settings.get(key) if isinstance(settings, dict) else None
    return settings
