"""What a project is made of, found by looking at its files: languages, the commands that prove a change, its fields.

Nothing of the project is run. A command is proposed only where a file says that it is used; `because` names the file.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from podium.core.fast_dataclass import dataclass
from podium.files import bounded_json

Purpose: TypeAlias = Literal["tests", "lint", "types"]

LONGEST: Final = 1 << 20
TARGETS: Final[Mapping[Purpose, tuple[str, ...]]] = {
    "tests": ("test", "tests", "check"),
    "lint": ("lint",),
    "types": ("type-check", "typecheck", "types"),
}
_TARGET: Final = re.compile(r"^([A-Za-z][\w.-]*)\s*:(?!=)", re.MULTILINE)
_NO_TEST: Final = "no test specified"


@dataclass(frozen=True, slots=True)
class Command:
    """Something that can be a gate."""

    purpose: Purpose
    argv: tuple[str, ...]
    because: str

    @property
    def installed(self) -> bool:
        """Whether its program is on this machine."""
        return shutil.which(self.argv[0]) is not None or Path(self.argv[0]).is_file()


@dataclass(frozen=True, slots=True)
class Stack:
    language: str
    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class Scan:
    stacks: tuple[Stack, ...]
    fields: tuple[str, ...]
    """What the project is about, as far as its dependencies tell: web, data, database, contracts."""
    targets: frozenset[str]
    """Of its Makefile."""

    def gates(self) -> dict[str, Command]:
        """By name; a project in several languages has the tests of each."""
        several = len(self.stacks) > 1
        return {
            f"{stack.language}_{command.purpose}" if several else command.purpose: command
            for stack in self.stacks
            for command in stack.commands
        }


def scan(project: Path) -> Scan:
    files = _Files(project)
    targets = frozenset(_TARGET.findall(files.text("Makefile")))
    stacks = [Stack(language, tuple(commands)) for language, commands in _stacks(files)]
    made = tuple(_made(targets))
    if made and not any(stack.commands for stack in stacks):
        stacks = [Stack(stacks[0].language if stacks else "make", made)]
    return Scan(tuple(stacks), tuple(_fields(files)), targets)


@dataclass(frozen=True, slots=True)
class _Files:
    root: Path

    def has(self, *names: str) -> str | None:
        """The first of these that is there."""
        return next((name for name in names if (self.root / name).is_file()), None)

    def text(self, name: str) -> str:
        path = self.root / name
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(LONGEST).decode("utf-8", "replace")

    def map(self, name: str) -> Mapping[str, Any]:
        try:
            value = bounded_json.loads(self.text(name))
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    def any(self, *patterns: str) -> bool:
        return any(next(self.root.glob(pattern), None) is not None for pattern in patterns)


def _stacks(files: _Files) -> Iterator[tuple[str, Iterator[Command]]]:
    if files.has(
        "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "pytest.ini", "tox.ini"
    ) or files.any("test_*.py", "tests/test_*.py"):
        yield "python", _python(files)
    if files.has("package.json"):
        yield ("typescript" if files.has("tsconfig.json") else "javascript"), _node(files)
    if files.has("go.mod"):
        yield "go", _go(files)
    if files.has("Cargo.toml"):
        yield "rust", _rust()
    if files.has("pom.xml", "build.gradle", "build.gradle.kts"):
        yield "java", _java(files)


def _python(files: _Files) -> Iterator[Command]:
    python = files.has(".venv/bin/python", "venv/bin/python") or "python3"
    settings = "\n".join(map(files.text, ("pyproject.toml", "setup.cfg", "tox.ini", "requirements-dev.txt")))
    settings += files.text("requirements.txt")
    tested = files.any("test_*.py", "tests/test_*.py", "tests/**/test_*.py", "src/**/test_*.py")
    pytest = files.has("pytest.ini", "conftest.py", "tests/conftest.py") or (
        "pytest" in settings and "its settings"
    )
    if pytest:
        yield Command("tests", (python, "-m", "pytest", "-q"), f"pytest in {pytest}")
    elif tested:
        yield Command("tests", (python, "-m", "unittest", "-q"), "files named test_*.py")
    ruff = files.has("ruff.toml", ".ruff.toml") or ("[tool.ruff" in settings and "pyproject.toml")
    if ruff:
        yield Command("lint", ("ruff", "check", "."), f"ruff in {ruff}")
    elif files.has(".flake8") or "[flake8]" in settings:
        yield Command("lint", (python, "-m", "flake8"), "settings of flake8")
    mypy = files.has("mypy.ini", ".mypy.ini") or ("[tool.mypy" in settings and "pyproject.toml")
    if mypy:
        yield Command("types", (python, "-m", "mypy", "."), f"mypy in {mypy}")


def _node(files: _Files) -> Iterator[Command]:
    scripts = files.map("package.json").get("scripts")
    texts = scripts if isinstance(scripts, dict) else {}
    locks = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lockb": "bun"}
    manager = locks.get(files.has(*locks) or "", "npm")
    for purpose, names in TARGETS.items():
        name = next((name for name in names if name in texts and _NO_TEST not in str(texts[name])), None)
        if name is not None:
            yield Command(purpose, (manager, "run", "--silent", name), f"package.json: scripts.{name}")
        elif purpose == "types" and files.has("tsconfig.json"):
            yield Command(purpose, ("npx", "--no-install", "tsc", "--noEmit"), "tsconfig.json")
        elif purpose == "lint" and files.any("eslint.config.*", ".eslintrc*"):
            yield Command(purpose, ("npx", "--no-install", "eslint", "."), "settings of eslint")


def _go(files: _Files) -> Iterator[Command]:
    yield Command("tests", ("go", "test", "./..."), "go.mod")
    settings = files.has(".golangci.yml", ".golangci.yaml", ".golangci.toml")
    if settings:
        yield Command("lint", ("golangci-lint", "run"), settings)
    else:
        yield Command("lint", ("go", "vet", "./..."), "go.mod")


def _rust() -> Iterator[Command]:
    yield Command("tests", ("cargo", "test", "--quiet"), "Cargo.toml")
    yield Command("lint", ("cargo", "clippy", "--quiet"), "Cargo.toml")


def _java(files: _Files) -> Iterator[Command]:
    if files.has("pom.xml"):
        yield Command("tests", ("mvn", "-q", "test"), "pom.xml")
    else:
        program = "./gradlew" if files.has("gradlew") else "gradle"
        yield Command("tests", (program, "--quiet", "test"), "build.gradle")


def _made(targets: frozenset[str]) -> Iterator[Command]:
    for purpose, names in TARGETS.items():
        name = next((name for name in names if name in targets), None)
        if name is not None:
            yield Command(purpose, ("make", name), f"Makefile: {name}")


def _fields(files: _Files) -> Iterator[str]:
    package = files.map("package.json")
    needed = " ".join(str(package.get(key, "")) for key in ("dependencies", "devDependencies"))
    python = files.text("requirements.txt") + files.text("pyproject.toml")
    if re.search(r"'(react|vue|svelte|@angular/core)'", needed):
        yield "web"
    if re.search(r"\b(pandas|airflow|dbt|pyspark|polars)\b", python):
        yield "data"
    if "postgres" in files.text("docker-compose.yml") + files.text("compose.yaml"):
        yield "database"
    if files.any("*.sol", "contracts/**/*.sol"):
        yield "contracts"
