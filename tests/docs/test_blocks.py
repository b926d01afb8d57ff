"""What the docs show works: files load, commands print what is written below them."""

from __future__ import annotations

import pytest

from tests.docs.page_files import ROOT, faults_of_page
from tools.pages.markdown import fenced
from tools.pages.stage import is_played, pages, played

PAGES = {path: (ROOT / path).read_text("utf-8") for path in pages(ROOT)}
WITH_YAML = [path for path, text in PAGES.items() if "```yaml" in text]
WITH_COMMANDS = [path for path, text in PAGES.items() if any(map(is_played, fenced(text)))]


@pytest.mark.parametrize("path", WITH_YAML)
def test_every_yaml_block_loads_unless_it_says_that_it_is_broken(path: str) -> None:
    assert list(faults_of_page(PAGES[path])) == []


@pytest.mark.slow  # `make check` compares the same output in its stage docs.
@pytest.mark.parametrize("path", WITH_COMMANDS)
def test_every_command_prints_what_the_page_shows(path: str) -> None:
    for _, said in played(PAGES[path], ROOT):
        for one in said:
            assert one.is_true, f"{path}:{one.line}: {one.command}\n" + "\n".join(one.printed)


def test_there_are_pages_to_check() -> None:
    """A pattern that finds nothing would make all of the above true."""
    assert len(WITH_YAML) >= 8
    assert len(WITH_COMMANDS) >= 8


def test_a_block_that_is_wrong_is_found() -> None:
    wrong = "```yaml\npodium: 1\nname: x\nsteps: {a: {run: make, promt: y}}\n```\n"
    fine = "```yaml\n# broken\npodium: 1\nname: x\nsteps: {a: {run: make}}\n```\n"

    assert ["promt" in fault for fault in faults_of_page(wrong)] == [True]
    assert [fault.endswith("marked as broken and loads") for fault in faults_of_page(fine)] == [True]


def test_a_command_that_prints_something_else_is_found() -> None:
    page = "```yaml\n# x.yaml\npodium: 1\nname: x\nsteps: {a: {run: make}}\n```\n\n"
    said = [one.is_true for _, said in played(page + console("x: good"), ROOT) for one in said]
    true = [one.is_true for _, said in played(page + console("x.yaml: good"), ROOT) for one in said]

    assert said == [False]
    assert true == [True]


def console(output: str) -> str:
    return f"```console\n$ podium validate x.yaml\n{output}\n```\n"
