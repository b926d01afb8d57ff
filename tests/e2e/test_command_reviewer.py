"""The reviewer of the how-to page judges as the page says, and without a verdict a person is asked (issue 16, D5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project
from tools.pages.markdown import fenced

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs/how-to/use-any-command-as-an-agent.md"
NAMES = {"# judged.yaml": "judged.yaml", "# tools/shim": "tools/shim", "# tools/reviewer": "tools/reviewer"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    files = {
        name: block.text
        for block in fenced(PAGE.read_text("utf-8"))
        for start, name in NAMES.items()
        if any(line.startswith(start) for line in block.text.splitlines()[:2])
    }
    assert sorted(files) == sorted(NAMES.values())
    project = new_project(tmp_path, files)
    for name in ("shim", "reviewer"):
        (project.root / "tools" / name).chmod(0o755)
    project.git("commit", "-q", "-a", "-m", "programs")
    return project


@pytest.mark.parametrize(
    ("task", "code", "outcome"), [("Say hello", 0, "passed"), ("Leave a TODO", 1, "rejected")]
)
def test_the_reviewer_of_the_page_judges(project: Project, task: str, code: int, outcome: str) -> None:
    with closing(project):
        done = project.podium("run", "judged.yaml", "-i", f"task={task}", "--json")

        assert done.code == code, done.err
        assert {step["path"]: step["outcome"] for step in done.data()["steps"]}["judge"] == outcome


def test_without_a_verdict_a_person_is_asked(project: Project) -> None:
    """The reviewer forgets what binds its answer to the request."""
    with closing(project):
        program = project.root / "tools/reviewer"
        program.write_text(program.read_text().replace('"$nonce" "$tree"', '"x" "y"'))
        project.git("commit", "-q", "-a", "-m", "a careless reviewer")

        done = project.podium("run", "judged.yaml", "-i", "task=Say hello")

        assert done.code == 6, done.err
        assert "The reviewer gave no verdict" in project.podium("inbox").out
        assert project.podium("approve").code == 0


@pytest.mark.parametrize(
    ("gate", "answer", "code"),
    [(False, "approve", 0), (False, "reject", 4), (True, "approve", 0), (True, "reject", 6)],
)
def test_without_a_verdict_and_a_route_a_person_judges(
    project: Project, answer: str, code: int, *, gate: bool
) -> None:
    """The rejection of a gate is feedback for the author, whose next attempt is judged again."""
    with closing(project):
        spoil(project, gate=gate)
        done = project.podium("run", "judged.yaml", "-i", "task=Say hello")

        assert done.code == 6, done.err
        assert "No reviewer gave a valid verdict. Do you approve the work?" in project.podium("inbox").out
        assert project.podium(answer).code == code


def test_without_a_verdict_and_without_people_the_run_ends(project: Project) -> None:
    with closing(project):
        spoil(project, gate=False)
        done = project.podium("run", "judged.yaml", "-i", "task=Say hello", "--no-human", "--json")

        assert done.code == 1, done.err
        outcomes = {step["path"]: (step["outcome"], step["reason"]) for step in done.data()["steps"]}
        assert outcomes["judge"] == ("error", "no_verdict")


def spoil(project: Project, *, gate: bool) -> None:
    """Let the reviewer forget what binds its answer to the request, and remove the route for that."""
    program = project.root / "tools/reviewer"
    program.write_text(program.read_text().replace('"$nonce" "$tree"', '"x" "y"'))
    flow = project.root / "judged.yaml"
    text = flow.read_text().partition("  ask:\n")[0].replace("    on: {error: ask}\n", "")
    if gate:
        text = text.partition("  judge:\n")[0] + "    gates: [{review: strict}]\n"
    flow.write_text(text)
    project.git("commit", "-q", "-a", "-m", "a careless reviewer")
