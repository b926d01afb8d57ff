"""Protected files in a real run: parked for a person, allowed or refused, and refused where no person may be asked."""

from __future__ import annotations

import pytest

from podium.app.query.inbox import open_questions
from podium.core.messages import Approve
from podium.core.types import Address
from tests.engine.kit import TEAM, Project, git, outcome

CAST = """
- match: {step: it, attempt: 1}
  write: {"src/a.py": "1\\n", ".github/workflows/ci.yml": "run: x\\n", ".Claude/settings.json": "{}"}
- match: {step: it}
  write: {"src/a.py": "2\\n"}
  delete: [.github/workflows/ci.yml, .Claude/settings.json]
"""
STEPS = """
  it: {agent: w, prompt: work, retry: 2}
  land: {git: {land: main, message: work}}
"""
ASKED = Address("it#1/!protected")


@pytest.mark.req("X7")
def test_a_person_sees_the_paths_and_lets_them_land(project: Project) -> None:
    run, state = project.run(project.flow(STEPS, head=TEAM, cast=CAST))
    assert state.ended is None
    (question,) = open_questions(project.facade)
    assert question.pending.path == ASKED
    assert ".github/workflows/ci.yml" in question.pending.question
    assert ".Claude/settings.json" in question.pending.question, "the same folder on other systems"
    assert "src/a.py" not in question.pending.question
    assert next(hint.command for hint in question.answers) == f"podium approve {run} 'it#1/!protected'"

    project.say(run, Approve(ASKED, "approve", "ann"))

    assert outcome(project.resume(run), "land") == "passed"
    assert git(project.root, "show", "main:.github/workflows/ci.yml") == "run: x"


def test_a_no_goes_back_to_the_worker_who_leaves_them_alone(project: Project) -> None:
    run, _ = project.run(project.flow(STEPS, head=TEAM, cast=CAST))

    project.say(run, Approve(ASKED, "reject", "ann", "not your files"))

    state = project.resume(run)
    assert outcome(state, "land") == "passed"
    assert git(project.root, "show", "main:src/a.py") == "2"
    assert ".github" not in git(project.root, "ls-tree", "--name-only", "main")
    prompt = (project.facade.paths.run_dir(run) / "agent_logs/it/2/prompt.md").read_text("utf-8")
    assert "protected files were changed: .Claude/settings.json, .github/workflows/ci.yml" in prompt
    assert "ann says (rejected): not your files" in prompt


def test_without_people_it_is_refused_at_once(project: Project) -> None:
    _, state = project.run(project.flow(STEPS, head=TEAM, cast=CAST), no_human=True)

    assert outcome(state, "land") == "passed"
    assert git(project.root, "show", "main:src/a.py") == "2"
    assert ".github" not in git(project.root, "ls-tree", "--name-only", "main")
