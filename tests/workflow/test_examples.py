"""Every workflow of the language reference loads: our copies, and the reference itself where it is available."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import indent

import pytest

from podium.adapters.agents.registry import agent_types
from podium.workflow.load import load
from tests.workflow.kit import EXAMPLES

SHARED = Path(__file__).parents[3] / "shared"
PAGES = ("language.md", "translations.md")

BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# file: (\S+)")
PROMPT = re.compile(r"\bprompts/\w+\.md")

ONLY = "podium: 1\nname: fragment\nsteps:\n  only: {check: true}\n"
TEAM = """\
podium: 1
name: fragment
inputs: {task: string}
roles:
  engineer: {extends: implementer}
  qa: {extends: test_engineer}
  architect: {extends: planner}
steps:
"""
BUILD = "podium: 1\nname: fragment\ngates:\n  tests: {run: make test}\nsteps:\n"


def own_files() -> dict[str, str]:
    return {
        str(path.relative_to(EXAMPLES)): path.read_text("utf-8") for path in sorted(EXAMPLES.rglob("*.yaml"))
    }


def shared_files() -> dict[str, str]:
    return {name: text for page in PAGES for name, text in blocks_of(page)}


def blocks_of(page: str) -> Iterator[tuple[str, str]]:
    path = SHARED / page
    for number, block in enumerate(BLOCK.findall(path.read_text("utf-8")) if path.is_file() else ()):
        named = FILE.match(block)
        if named is not None:
            yield named[1].removeprefix(".podium/"), block
        else:
            yield f"workflows/{path.stem}_{number}.yaml", complete(block)


def complete(block: str) -> str:
    """A fragment as the smallest workflow that contains it."""
    if "podium: 1" in block:
        return block
    if block.startswith(("breaker:", "policies:")):
        return ONLY + block
    return (TEAM if "team:" in block else BUILD) + indent(block, "  ")


def write_project(folder: Path, files: Mapping[str, str]) -> Path:
    """A project with the files in place and with every prompt that one of them names."""
    for name, text in files.items():
        home = folder / ".podium" if name.startswith(("templates/", "config")) else folder
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        for prompt in PROMPT.findall(text):
            (folder / "prompts").mkdir(exist_ok=True)
            (folder / prompt).write_text("Do the work.\n", "utf-8")
    return folder


def runnable(files: Mapping[str, str]) -> list[str]:
    return [name for name in files if name.startswith(("workflows/", "templates/"))]


OWN = own_files()
THEIRS = shared_files()


def test_every_verb_has_an_example() -> None:
    text = "\n".join(OWN.values())
    verbs = ("role", "agent", "run", "review", "human", "check", "wait", "set", "git", "steps", "build")
    assert all(re.search(rf"\b{verb}:", text) for verb in verbs)
    assert len(runnable(OWN)) == 24


@pytest.mark.parametrize("name", runnable(OWN))
def test_every_own_example_loads(name: str, tmp_path: Path) -> None:
    assert_loads(write_project(tmp_path, OWN), name)


@pytest.mark.skipif(not THEIRS, reason="the language reference does not lie beside this clone")
@pytest.mark.parametrize("name", runnable(THEIRS) or ["none"])
def test_every_example_of_the_reference_loads(name: str, tmp_path: Path) -> None:
    assert_loads(write_project(tmp_path, THEIRS), name)


def assert_loads(project: Path, name: str) -> None:
    home = project / ".podium" if name.startswith("templates/") else project
    loaded = load(home / name, project=project, agent_types=agent_types())
    assert [problem.render() for problem in loaded.errors] == []
    assert loaded.workflow is not None
    assert loaded.workflow.body.steps


def test_our_copies_equal_the_reference() -> None:
    if not THEIRS:
        pytest.skip("the language reference does not lie beside this clone")
    assert {name for name in OWN if not name.startswith("workflows/")} == {
        name for name in THEIRS if not name.startswith("workflows/")
    }


def test_loading_does_not_change_an_example(tmp_path: Path) -> None:
    """Loading only reads the project."""
    project = write_project(tmp_path / "project", OWN)
    before = tmp_path / "before"
    shutil.copytree(project, before)
    load(project / "workflows/ship_change.yaml", project=project, agent_types=agent_types())
    actual = {path.relative_to(project) for path in project.rglob("*")}
    assert actual == {path.relative_to(before) for path in before.rglob("*")}
