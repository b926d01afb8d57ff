"""What a project is made of, by its files: languages, fields, and the commands that may prove a change.

Nothing of the project is run here. For each purpose there may be several candidates; the first that works is proposed
(see `try_gates`), and `because` names the file that speaks for it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from podium.app.author.detect_python import python_commands
from podium.fast_dataclass import dataclass
from podium.files import bounded_json

Purpose: TypeAlias = Literal["tests", "lint", "types"]

LONGEST: Final = 1 << 20
MAX_PACKAGES: Final = 12
DEPTH: Final = 2
TARGETS: Final[Mapping[Purpose, tuple[str, ...]]] = {
    "tests": ("test", "tests", "check"),
    "lint": ("lint",),
    "types": ("type-check", "typecheck", "types"),
}
SKIPPED: Final = frozenset({"node_modules", "venv", "vendor", "target", "build", "dist", "__pycache__"})
_TARGET: Final = re.compile(r"^([A-Za-z][\w.-]*)\s*:(?!=)", re.MULTILINE)
_NO_TEST: Final = "no test specified"
_MANIFESTS: Final = (
    "pyproject.toml", "setup.py", "setup.cfg", "package.json", "go.mod", "Cargo.toml", "pom.xml",
    "build.gradle", "build.gradle.kts",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Command:
    """Something that can be a gate."""

    purpose: Purpose
    argv: tuple[str, ...]
    because: str


@dataclass(frozen=True, slots=True)
class Stack:
    language: str
    commands: tuple[Command, ...]
    """Candidates, the best first."""
    folder: str = ""
    """Of a package inside the project; empty at its top."""


@dataclass(frozen=True, slots=True)
class Scan:
    stacks: tuple[Stack, ...]
    packages: tuple[Stack, ...]
    """Of folders inside the project that have a manifest of their own."""
    fields: tuple[str, ...]
    """What the project is about, as far as its dependencies and files tell: web, data, service, trading, ..."""
    targets: frozenset[str]
    """Of its Makefile."""


def scan(project: Path) -> Scan:
    files = Files(project)
    targets = frozenset(_TARGET.findall(files.text("Makefile")))
    stacks = [Stack(language, tuple(commands)) for language, commands in _stacks(files)]
    made = tuple(_made(targets))
    if made:
        # Last, because a Makefile usually starts what the language's own tools start.
        first = stacks[0] if stacks else Stack("make", ())
        stacks[:1] = [Stack(first.language, (*first.commands, *made))]
    return Scan(tuple(stacks), tuple(_packages(project)), tuple(_fields(files)), targets)


def _packages(project: Path) -> Iterator[Stack]:
    """The packages of a project with several of them, in the order of their paths."""
    folders = [
        folder for folder in _folders(project, DEPTH) if any((folder / name).is_file() for name in _MANIFESTS)
    ]
    for folder in folders[:MAX_PACKAGES]:
        for language, commands in _stacks(Files(folder)):
            yield Stack(language, tuple(commands), folder.relative_to(project).as_posix())


def _folders(root: Path, depth: int) -> Iterator[Path]:
    for entry in sorted(os.scandir(root), key=lambda entry: entry.name):
        is_own = entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
        if is_own and entry.name not in SKIPPED:
            yield Path(entry.path)
            if depth > 1:
                yield from _folders(Path(entry.path), depth - 1)


@dataclass(frozen=True, slots=True)
class Files:
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


def _stacks(files: Files) -> Iterator[tuple[str, Iterator[Command]]]:
    if files.has(
        "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "pytest.ini", "tox.ini"
    ) or files.any("test_*.py", "tests/test_*.py"):
        yield "python", (Command(*each) for each in python_commands(files))
    if files.has("package.json"):
        yield ("typescript" if files.has("tsconfig.json") else "javascript"), _node(files)
    if files.has("go.mod"):
        yield "go", _go(files)
    if files.has("Cargo.toml"):
        yield "rust", _rust()
    if files.has("pom.xml", "build.gradle", "build.gradle.kts"):
        yield "java", _java(files)


def _node(files: Files) -> Iterator[Command]:
    package = files.map("package.json")
    scripts = package.get("scripts")
    texts = scripts if isinstance(scripts, dict) else {}
    locks = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lockb": "bun"}
    manager = locks.get(files.has(*locks) or "", "npm")
    for purpose, names in TARGETS.items():
        name = next((name for name in names if name in texts and _NO_TEST not in str(texts[name])), None)
        if name is not None:
            yield Command(purpose, (manager, "run", "--silent", name), f"package.json: scripts.{name}")
    needed = {**_map(package, "dependencies"), **_map(package, "devDependencies")}
    npx = ("npx", "--no-install")
    if "vitest" in needed or files.any("vitest.config.*"):
        yield Command("tests", (*npx, "vitest", "run"), "vitest in package.json")
    if "jest" in needed or files.any("jest.config.*"):
        yield Command("tests", (*npx, "jest"), "jest in package.json")
    if files.any("*.test.*js", "test/*.*js", "tests/*.test.*js", "src/**/*.test.*js"):
        yield Command("tests", ("node", "--test"), "files named *.test.js")
    if files.any("eslint.config.*", ".eslintrc*"):
        yield Command("lint", (*npx, "eslint", "."), "settings of eslint")
    if files.has("tsconfig.json"):
        yield Command("types", (*npx, "tsc", "--noEmit"), "tsconfig.json")


def _map(package: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = package.get(key)
    return value if isinstance(value, dict) else {}


def _go(files: Files) -> Iterator[Command]:
    yield Command("tests", ("go", "test", "./..."), "go.mod")
    settings = files.has(".golangci.yml", ".golangci.yaml", ".golangci.toml")
    if settings:
        yield Command("lint", ("golangci-lint", "run"), settings)
    yield Command("lint", ("go", "vet", "./..."), "go.mod")


def _rust() -> Iterator[Command]:
    yield Command("tests", ("cargo", "test", "--quiet"), "Cargo.toml")
    yield Command("lint", ("cargo", "clippy", "--quiet"), "Cargo.toml")
    yield Command("lint", ("cargo", "check", "--quiet"), "Cargo.toml")


def _java(files: Files) -> Iterator[Command]:
    if files.has("pom.xml"):
        # Without -q, because the summary tells how many tests ran.
        program = "./mvnw" if files.has("mvnw") else "mvn"
        yield Command("tests", (program, "--batch-mode", "test"), "pom.xml")
    else:
        program = "./gradlew" if files.has("gradlew") else "gradle"
        yield Command("tests", (program, "--quiet", "test"), "build.gradle")


def _made(targets: frozenset[str]) -> Iterator[Command]:
    for purpose, names in TARGETS.items():
        name = next((name for name in names if name in targets), None)
        if name is not None:
            yield Command(purpose, ("make", name), f"Makefile: {name}")


def _fields(files: Files) -> Iterator[str]:
    package = files.map("package.json")
    node = set(_map(package, "dependencies")) | set(_map(package, "devDependencies"))
    texts = [files.text(name) for name in ("requirements.txt", "pyproject.toml", "Cargo.toml", "go.mod")]
    words = node | set(re.findall(r"[\w@/.-]+", "\n".join(texts).lower()))
    if node & {"react", "vue", "svelte", "@angular/core"}:
        yield "web"
    for field, names in _DEPENDENCIES.items():
        if words & names:
            yield field
    if "postgres" in files.text("docker-compose.yml") + files.text("compose.yaml"):
        yield "database"
    if files.any("*.sol", "contracts/**/*.sol"):
        yield "contracts"
    if files.any("Dockerfile*", "docker-compose*.yml", "k8s/*", "*.tf", "terraform/*"):
        yield "infrastructure"


_DEPENDENCIES: Final[Mapping[str, frozenset[str]]] = {
    "data": frozenset({"pandas", "airflow", "apache-airflow", "dbt", "dbt-core", "pyspark", "polars"}),
    "service": frozenset(
        {"fastapi", "flask", "django", "express", "@nestjs/core", "fastify", "axum", "actix-web"}
    ),
    "trading": frozenset(
        {"ccxt", "backtrader", "zipline", "zipline-reloaded", "quantlib", "vectorbt", "ib_insync"}
    ),
    "cli": frozenset({"click", "typer", "commander", "yargs", "clap", "github.com/spf13/cobra"}),
    "auth": frozenset({"pyjwt", "passlib", "authlib", "python-jose", "passport", "jsonwebtoken", "bcrypt"}),
}
"""By field, the dependencies that tell."""
