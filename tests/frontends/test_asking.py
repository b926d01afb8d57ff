"""What a person is shown of what a run asks: the very tree, and the reason."""

from __future__ import annotations

import shlex

import pytest

from podium.frontends.cli.question import tell_question
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
    return project.view(project.store.heads()[0].run).pending[0].path


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
    view = project.view(project.store.heads()[0].run)
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
    one = "{run: [sh, -c, echo x > %s.txt], touches: ['%s.txt'], gates: [{name: owner, human: Good}]}"
    steps = (
        f"  both:\n    parallel: true\n    steps:\n      a: {one % ('a', 'a')}\n      b: {one % ('b', 'b')}\n"
    )
    project.flow(steps)
    assert code(call("run", "flow.yaml", "--sandbox", "none")) == 6
    run = newest(project)

    told = call("diff").stderr
    questions = [pending.path for pending in project.view(project.store.heads()[0].run).pending]

    assert len(questions) == 2
    for question in questions:
        command = shlex.join(["podium", "diff", run, question])
        assert command in told
        assert call(*shlex.split(command)[1:]).stdout.count("diff --git") == 1


BEYOND = "the change goes beyond what this step may touch: other.txt; allowed are only: made.txt"


@pytest.mark.req("R190")
def test_who_is_asked_after_the_last_attempt_is_told_why_it_failed(project: Project) -> None:
    steps = "  make: {agent: w, prompt: Make it, touches: [made.txt], retry: 1}\n"
    project.flow(steps, head=TEAM, cast="- {match: {step: make}, write: {other.txt: x}}\n")

    done = call("run", "flow.yaml", "--sandbox", "none")

    assert code(done) == 6
    view = project.view(project.store.heads()[0].run)
    told = (done.stderr, call("inbox").stdout, call("show").stdout, tell_question(view, view.pending[0]))
    assert [BEYOND in text for text in told] == [True] * 4
    assert data(call("inbox", "--json"))[0]["why"] == BEYOND
    assert call("logs", "--failed").stdout.endswith(
        f"==> make attempt 1: why it was rejected <==\n{BEYOND}\n"
    )


@pytest.mark.req("R190")
def test_a_gate_that_used_up_the_attempts_is_named(project: Project) -> None:
    asked(project, gate="{name: tests, run: [sh, -c, 'echo 1 failed; exit 1']}")

    assert "the last attempt failed: tests: sh ended with 1: 1 failed" in call("inbox").stdout


@pytest.mark.req("R006")
def test_who_works_by_hand_is_told_where_and_why_again(project: Project) -> None:
    project.flow("  sign: {agent: human, prompt: Sign it, touches: [made.txt]}\n")

    first = call("run", "flow.yaml", "--sandbox", "none")
    row = data(call("inbox", "--json"))[0]
    work = project.root / row["folder"] / "work"
    (work / "other.txt").write_text("x\n", "utf-8")
    again = call("approve")

    assert (code(first), row["why"], (work.parent / "TASK.md").is_file()) == (6, "", True)
    told = f"the task: {row['folder']}/TASK.md, work in {row['folder']}/work"
    assert told in first.stderr
    assert f"sign: attempt 1 failed: {BEYOND}" in again.stderr
    second = data(call("show", "--json"))["pending"][0]
    assert (second["why"], second["folder"]) == (BEYOND, row["folder"].removesuffix("1") + "2")
    view = project.view(project.store.heads()[0].run)
    assert second["folder"] in tell_question(view, view.pending[0])
    assert "podium approve" in tell_question(view, view.pending[0])
    assert call("logs").stdout == f"==> sign attempt 1: output <==\n{BEYOND}\n"


@pytest.mark.req("R190")
@pytest.mark.parametrize("step", [(), ("ask",)])
def test_a_value_for_a_question_that_wants_a_yes_or_a_no_is_refused_with_its_choices(
    project: Project, step: tuple[str, ...]
) -> None:
    project.flow('  ask: {human: "Go on?"}\n')
    call("run", "flow.yaml", "--sandbox", "none")

    refused = call("answer", "yes", newest(project), *step)

    assert code(refused) == 2
    assert str(refused.exception) == "ask asks for no value, but for one of approve, reject, abort: Go on?"
    hint = str(getattr(refused.exception, "hint", ""))
    assert hint == f"podium approve {newest(project)} ask --action WORD"


@pytest.mark.req("R190")
def test_the_inbox_shows_a_change_with_its_indentation_and_each_verdict_once(project: Project) -> None:
    lines = "".join(f"    line {number}\\n" for number in range(40))
    steps = (
        "  make: {agent: w, prompt: Make it, touches: ['**']}\n"
        "  judge: {review: w, of: make}\n"
        '  ask: {human: "Good?", show: [diff, verdicts]}\n'
    )
    cast = f'- {{match: {{step: make}}, write: {{made.txt: "{lines}"}}}}\n'
    project.flow(steps, head=TEAM, cast=cast)
    call("run", "flow.yaml", "--sandbox", "none")

    text = call("inbox").stdout

    assert "      +    line 3\n" in text
    assert text.count("judge/w: approve") == 1
    assert f"more lines: podium diff {newest(project)} ask\n" in text
