"""What a person is shown of what a run asks: the very tree, and the reason."""

from __future__ import annotations

import shlex

import pytest

from podium.frontends.cli.terminal import tell_question
from tests.engine.kit import TEAM, Project
from tests.frontends.test_running import call, code, data, newest

GATED = """\
  before: {run: [sh, -c, "echo b > before.txt"], touches: ["**"]}
  make: {agent: w, prompt: Make it, touches: ["**"], gates: [%s]}
"""
OWNER = '{name: owner, human: "Good?"}'


def asked(project: Project, gate: str = OWNER, writes: str = "made.txt: hi") -> str:
    """A run that asks about the work of its second step; the address of the question."""
    project.flow(GATED % gate, head=TEAM, cast=f"- {{match: {{step: make}}, write: {{{writes}}}}}\n")
    assert code(call("run", "flow.yaml", "--sandbox", "none")) == 6
    return project.view(project.office.store.heads()[0].run).pending[0].path


@pytest.mark.req("R190")
@pytest.mark.parametrize(
    ("gate", "writes", "question"),
    [
        (OWNER, "made.txt: hi", "make#1/owner"),
        (OWNER, "made.txt: hi, .env: x", "make#1/!protected"),
        ("{run: ['false']}", "made.txt: hi", "make#3/!exhausted"),
    ],
)
def test_the_command_that_a_question_names_shows_what_it_asks_about_and_nothing_else(
    project: Project, gate: str, writes: str, question: str
) -> None:
    assert asked(project, gate, writes) == question
    view = project.view(project.office.store.heads()[0].run)
    command = shlex.join(["podium", "diff", view.run, question])

    for told in (call("inbox").stdout, tell_question(view, view.pending[0]), call("show").stdout):
        assert command in told
    shown = call("diff", view.run, question).stdout
    assert ("made.txt" in shown, "before.txt" in shown) == (True, False)
    row = data(call("inbox", "--json"))[0]
    assert (row["base"], row["tree"]) == (view.steps[0].tree, view.pending[0].tree)


@pytest.mark.req("R190")
def test_diff_of_a_run_that_asks_goes_up_to_what_it_asks_about(project: Project) -> None:
    question = asked(project)

    done = call("diff", newest(project))
    call("approve")
    after = call("diff", newest(project))

    assert "made.txt" in done.stdout
    assert "before.txt" in done.stdout
    assert done.stderr == f"up to what {question} asks about\n"
    assert (after.stdout, after.stderr) == (done.stdout, "")


@pytest.mark.req("R190")
def test_diff_of_a_run_with_several_questions_names_the_command_for_each(project: Project) -> None:
    one = "{run: [sh, -c, echo x > %s.txt], touches: ['**'], gates: [{name: owner, human: Good}]}"
    steps = f"  both:\n    parallel: true\n    steps:\n      a: {one % 'a'}\n      b: {one % 'b'}\n"
    project.flow(steps)
    assert code(call("run", "flow.yaml", "--sandbox", "none")) == 6
    run = newest(project)

    told = call("diff").stderr
    questions = [pending.path for pending in project.view(project.office.store.heads()[0].run).pending]

    assert len(questions) == 2
    for question in questions:
        command = shlex.join(["podium", "diff", run, question])
        assert command in told
        assert call(*shlex.split(command)[1:]).stdout.count("diff --git") == 1
