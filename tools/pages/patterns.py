"""The page of the patterns, from the files in `examples/patterns`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.pages import markdown
from tools.pages.markdown import table

FOLDER: Final = Path(__file__).resolve().parents[2] / "examples/patterns"
INTRO: Final = """\
Well-known ways to let agents work together, each as a short workflow. The files are in `examples/patterns`, each with a test beside
it that shows how it goes with scripted agents: `podium test examples/patterns` plays them all. Copy one and change what is yours:
agents, prompts, commands."""


def page() -> str:
    names = [path.stem for path in pattern_files()]
    rows = [(f"[`{name}`](#{name})", sentence_of(FOLDER / f"{name}.yaml")) for name in names]
    sections = [part for name in names for part in _section(name)]
    return markdown.page("Patterns", INTRO, table(("pattern", "what it shows"), rows), *sections)


def pattern_files() -> tuple[Path, ...]:
    """Without tests, and without the workflows that a pattern calls, which are named NAME.PART.yaml."""
    return tuple(path for path in sorted(FOLDER.glob("*.yaml")) if "." not in path.stem)


def sentence_of(path: Path) -> str:
    return path.read_text("utf-8").partition("\n")[0].removeprefix("# ")


def _section(name: str) -> Iterator[str]:
    yield f"## {name}"
    called = sorted(path for path in FOLDER.glob(f"{name}.*.yaml") if not path.name.endswith(".test.yaml"))
    for path in called:
        yield f"`{path.name}`:"
        yield _block(path, f"# {path.name}\n")
    yield _block(FOLDER / f"{name}.yaml", "")


def _block(path: Path, head: str) -> str:
    return f"```yaml\n{head}{path.read_text('utf-8').rstrip()}\n```"
