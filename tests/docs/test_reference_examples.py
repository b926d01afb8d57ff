"""Every example with tests of its own keeps them, and its page shows the graph of each of its workflows."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from podium.app.author.load import check, open_workflow
from podium.views.text.graph import as_text
from tests.docs.page_files import ROOT
from tests.e2e.kit import closing, new_project

EXAMPLES = ROOT / "examples"
TESTED = sorted({path.relative_to(EXAMPLES).parts[0] for path in EXAMPLES.rglob("*.test.yaml")})
WITH_GRAPHS = sorted(
    path.with_name(path.name.replace(".test.yaml", ".yaml")).relative_to(EXAMPLES)
    for path in EXAMPLES.glob("*/*.test.yaml")
    if (path.parent / "README.md").exists()
)


def test_there_is_an_example_of_every_kind() -> None:
    """Manual to agent-driven, states, steps, a supervised change, a loop, and what people do every day."""
    assert {
        "content_pipeline",
        "from_hand_to_agents",
        "merge_queue",
        "nightly_deps",
        "plan_to_commit",
        "red_pull_request",
        "slogan",
        "steps_demo",
    } <= set(TESTED)
    assert len(list((EXAMPLES / "from_hand_to_agents").glob("*.test.yaml"))) == 8


@pytest.mark.slow
@pytest.mark.timeout(660)
@pytest.mark.parametrize("name", TESTED)
def test_the_example_keeps_what_its_tests_promise(name: str, tmp_path: Path) -> None:
    with closing(new_project(tmp_path / "p", {})) as project:
        project.env["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        done = project.podium("test", str(EXAMPLES / name), timeout_s=600)

    assert done.code == 0, done.out + done.err
    assert " 0 failed" in done.out


@pytest.mark.parametrize("file", WITH_GRAPHS, ids=str)
def test_the_page_of_the_example_shows_its_graph(file: Path) -> None:
    assert [problem.render() for problem in check(EXAMPLES / file).problems] == []
    page = (EXAMPLES / file).parent / "README.md"
    assert as_text(open_workflow(EXAMPLES / file)) in page.read_text("utf-8")
