"""The projects that pages build and those in `examples/` are the same."""

from __future__ import annotations

from dataclasses import fields

import pytest

from podium.ports.agent_type import AgentType, Capabilities, Credentials
from tests.docs.page_files import ROOT
from tools.pages.markdown import fenced


def test_the_example_is_the_project_of_the_tutorial() -> None:
    page = (ROOT / "docs/tutorial/first-run.md").read_text("utf-8")
    shown = {
        block.first.removeprefix("# "): block
        for block in fenced(page)
        if block.language in ("python", "yaml")
    }

    assert set(shown) == {"slug.py", "test_slug.py", "workflows/slug.yaml", "workflows/cast.yaml"}
    for name, block in shown.items():
        lines = block.lines[1:] if block.language == "python" else block.lines
        assert (ROOT / "examples/slug" / name).read_text("utf-8").splitlines() == list(lines), name


def test_the_package_of_the_page_about_adding_an_agent_is_the_example() -> None:
    page = (ROOT / "docs/how-to/add-an-agent.md").read_text("utf-8")
    shown = {
        block.first.removeprefix("# "): block.lines[1:]
        for block in fenced(page)
        if block.language in ("python", "yaml", "toml")
    }

    assert set(shown) == {
        "pyproject.toml",
        "src/podium_painter/__init__.py",
        "src/podium_painter/agent.py",
        "tests/test_painter.py",
        "workflow.yaml",
    }
    for name, lines in shown.items():
        assert (ROOT / "examples/agent_package" / name).read_text("utf-8").splitlines() == list(lines), name


@pytest.mark.parametrize("record", [AgentType, Capabilities, Credentials])
def test_every_field_of_a_registration_is_explained(record: type) -> None:
    page = (ROOT / "docs/how-to/add-an-agent.md").read_text("utf-8")
    words = {word for line in page.splitlines() if line.startswith("|") for word in line.split("`")[1::2]}

    assert [field.name for field in fields(record) if field.name not in words] == []
