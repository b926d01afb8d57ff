"""The project that the tutorial builds and the one in `examples/` are the same."""

from __future__ import annotations

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
