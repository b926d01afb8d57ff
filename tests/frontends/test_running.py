"""The commands that start runs and speak to them: exit codes by the table, data on stdout, every answer recorded once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from podium.errors import PodiumError
from podium.frontends.cli.main import COMMANDS, podium
from tests.engine.kit import HEAD, Project, git

ASK = '  ask: {human: "Land it?"}\n  done: {run: [echo, landed]}\n'


def call(*args: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(podium, args, input=typed, standalone_mode=False)


def code(done: Result) -> int:
    """The exit code as `main` would give it."""
    if isinstance(done.exception, PodiumError):
        return done.exception.exit_code
    if done.exception is not None:
        raise done.exception
    return int(done.return_value or 0)


def newest(project: Project) -> str:
    return project.store.heads()[0].run


def data(done: Result) -> Any:
    return json.loads(done.stdout)


@pytest.mark.req("R016", "C21", "R226")
@pytest.mark.parametrize(
    ("steps", "expected", "status"),
    [
        ("  a: {run: [echo, x]}\n", 0, "passed"),
        ("  a: {run: ['false']}\n", 1, "failed"),
        ("  a: {run: [sleep, '9'], timeout: 1s}\n", 124, "timed_out"),
        (ASK, 6, "waiting"),
    ],
)
def test_the_exit_code_of_run_is_that_of_the_run(
    project: Project, steps: str, expected: int, status: str
) -> None:
    """R143"""
    project.flow(steps)

    done = call("run", "flow.yaml", "--json", "--sandbox", "none")

    assert code(done) == expected
    assert data(done)["status"] in (status, "parked")


@pytest.mark.parametrize(
    ("args", "expected", "message"),
    [
        (("run", "none.yaml"), 2, "file not found"),
        (("run", "flow.yaml", "-i", "x=1"), 2, 'no input "x"'),
        (("run", "flow.yaml", "--var", "x=1"), 2, 'no variable "x"'),
        (("run", "../flow.yaml"), 3, "leaves the project"),
        (("run", "flow.yaml", "--sandbox", "castle"), 2, "castle"),
        (("resume", "nobody"), 2, "no runs here yet"),
        (("approve",), 2, "no runs"),
    ],
)
def test_what_is_wrong_is_said_before_anything_starts(
    project: Project, args: tuple[str, ...], expected: int, message: str
) -> None:
    project.flow("  a: {run: [echo, x]}\n")
    (project.root.parent / "flow.yaml").write_text((project.root / "flow.yaml").read_text())

    done = call(*args)

    assert code(done) == expected
    assert message in str(done.exception) + str(getattr(done.exception, "hint", ""))
    assert project.store.heads() == ()


def test_inputs_come_typed_from_the_command_line_and_from_a_file(project: Project) -> None:
    head = HEAD + "inputs: {n: int, name: string}\nvars: {word: plain}\n"
    project.flow(
        "  a: {run: [echo, '${{ inputs.n + 1 }}', '${{ inputs.name }}', '${{ vars.word }}']}\n", head=head
    )
    project.write("values.yaml", "n: 1\nname: from-file\n")

    done = call(
        "run",
        "flow.yaml",
        "--inputs",
        "values.yaml",
        "-i",
        "n=41",
        "--var",
        "word=new",
        "--json",
        "--sandbox",
        "none",
    )

    assert code(done) == 0
    assert data(done)["steps"][0]["output"] == "42 from-file new"


@pytest.mark.parametrize("command", [("run", "flow.yaml"), ("run-step", "flow.yaml", "a")])
def test_the_default_of_an_input_may_hold_maps(project: Project, command: tuple[str, ...]) -> None:
    kinds = "m: {type: map, default: {a: {b: 1}}}, e: {type: map, default: {}}, l: {type: list, default: [{a: 2}]}"
    steps = "  a: {run: [echo, '${{ inputs.m.a.b }}', '${{ inputs.l[0].a }}']}\n"
    project.flow(steps, head=f"{HEAD}inputs: {{{kinds}}}\n")

    shown = data(call(*command, "--sandbox", "none", "--json"))

    assert shown["inputs"] == {"m": {"a": {"b": 1}}, "e": {}, "l": [{"a": 2}]}
    assert shown["steps"][0]["outcome"] == "passed"


@pytest.mark.req("R047")
def test_variables_come_from_the_command_line_and_from_a_file(project: Project) -> None:
    head = HEAD + "vars: {who: nobody, when: never, where: here}\n"
    project.flow("  a: {run: [echo, '${{ vars.who }} ${{ vars.when }} ${{ vars.where }}']}\n", head=head)
    project.write("values.json", '{"who": "Ada", "when": "today"}')

    given = ("--context-file", "values.json", "--context", "when=now")
    done = call("run", "flow.yaml", *given, "--json", "--sandbox", "none")

    assert code(done) == 0
    assert data(done)["steps"][0]["output"] == "Ada now here"


def test_approve_records_the_answer_and_carries_the_run_on(project: Project) -> None:
    project.flow(ASK)
    call("run", "flow.yaml", "--sandbox", "none")

    done = call("approve", "--json")
    again = call("approve")

    assert code(done) == 0
    assert data(done)["status"] == "passed"
    assert code(again) == 2


@pytest.mark.req("C48")
def test_reject_hands_the_words_on_and_ends_with_4_where_nobody_routes_it(project: Project) -> None:
    project.flow(ASK)
    call("run", "flow.yaml", "--sandbox", "none")

    done = call("reject", newest(project), "ask", "--feedback", "no tests")

    assert code(done) == 4
    assert any(getattr(event, "text", "") == "no tests" for event in project.events(newest(project)))  # type: ignore[arg-type]


def test_answer_gives_the_value_of_a_question(project: Project) -> None:
    project.flow(
        "  pick: {human: 'Which?', output: {choice: [red, blue]}}\n  a: {run: [echo, '${{ steps.pick.output }}']}\n"
    )
    call("run", "flow.yaml", "--sandbox", "none")

    wrong = call("answer", "green")
    done = call("answer", "blue", "--json")

    assert code(wrong) == 2
    assert code(done) == 0
    assert data(done)["steps"][-1]["output"] == "blue"


def test_several_open_questions_must_be_named(project: Project) -> None:
    project.flow("  both:\n    parallel: true\n    steps:\n      a: {human: 'A?'}\n      b: {human: 'B?'}\n")
    call("run", "flow.yaml", "--sandbox", "none")

    done = call("approve")
    first = call("approve", newest(project), "both/a")

    assert code(done) == 2
    assert "both/a, both/b" in str(getattr(done.exception, "hint", ""))
    assert code(first) == 6


def test_signal_guide_pause_and_cancel_reach_a_run_that_stands(project: Project) -> None:
    """R198"""
    project.flow("  w: {wait: {signal: ready}}\n  ask: {human: 'Go?'}\n")
    call("run", "flow.yaml", "--sandbox", "none")
    run = newest(project)

    guided = call("guide", run, "Take care.")
    signalled = call("signal", run, "ready", "--data", '{"n": 1}')
    paused = call("pause", run)
    ended = call("cancel", run, "--reason", "enough")

    assert [code(done) for done in (guided, signalled, paused, ended)] == [0, 6, 0, 0]
    assert project.view(project.store.heads()[0].run).status == "cancelled"
    assert code(call("cancel", run)) == 2


def test_a_run_whose_definition_has_changed_can_only_be_ended_by_force(project: Project) -> None:
    project.flow(ASK)
    call("run", "flow.yaml", "--sandbox", "none")
    project.flow(ASK.replace("Land it?", "Land it now?"))

    refused = call("cancel")
    forced = call("cancel", "--force")

    assert (code(refused), code(forced)) == (2, 0)
    assert "--force" in str(getattr(refused.exception, "hint", ""))
    assert project.view(project.store.heads()[0].run).status == "cancelled"
    assert code(call("verify")) == 0


def test_a_refused_answer_is_not_announced(project: Project) -> None:
    project.flow('  ask: {human: "Land it?", by: [bob]}\n')
    call("run", "flow.yaml", "--sandbox", "none")

    done = call("approve")

    assert code(done) == 2
    assert "approve by ann" not in done.stderr


def test_what_the_engine_itself_asks_wants_one_of_its_actions(project: Project) -> None:
    head = HEAD + "agents:\n  w: {type: scripted, script: cast.yaml}\n"
    project.flow("  a: {agent: w, prompt: x, gates: [{run: ['false']}], retry: 1}\n", head=head)
    call("run", "flow.yaml", "--sandbox", "none")

    plain = call("approve")
    chosen = call("approve", "--action", "fail")

    assert code(plain) == 2
    assert "retry, accept, fail" in str(getattr(plain.exception, "hint", ""))
    assert code(chosen) == 1


def test_apply_lands_the_work_of_a_run_once_and_only_if_it_passed(project: Project) -> None:
    project.flow('  a: {run: {script: "echo new > new.txt", shell: bash}, touches: [new.txt]}\n')
    call("run", "flow.yaml", "--sandbox", "none")
    before = int(git(project.root, "rev-list", "--count", "HEAD"))

    first = call("apply", "-m", "Add it", "--json")
    second = call("apply")

    assert (code(first), code(second)) == (0, 0)
    assert int(git(project.root, "rev-list", "--count", "HEAD")) == before + 1
    assert (project.root / "new.txt").read_text() == "new\n"
    assert data(first)["branch"] == "main"


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("  a: {run: ['false']}\n", "ended failed"),
        (ASK, "not over"),
        ("  a: {run: [echo, x]}\n", "changed nothing"),
    ],
)
def test_apply_refuses_what_is_not_verified_work(project: Project, steps: str, message: str) -> None:
    project.flow(steps)
    call("run", "flow.yaml", "--sandbox", "none")

    done = call("apply")

    assert code(done) == 2
    assert message in str(done.exception)


def test_apply_runs_the_commands_again_when_the_branch_has_moved(project: Project) -> None:
    project.flow(
        '  a: {run: {script: "echo new > new.txt", shell: bash}, touches: [new.txt],'
        " gates: [{run: [test, '!', -e, bad.txt]}]}\n"
    )
    call("run", "flow.yaml", "--sandbox", "none")
    project.write("bad.txt", "x\n")
    tip = project.commit()

    done = call("apply")

    assert code(done) == 1
    assert "does not pass" in str(done.exception)
    assert git(project.root, "rev-parse", "HEAD") == tip


@pytest.mark.req("R226")
def test_run_step_tries_one_step_and_leaves_nothing_behind(project: Project) -> None:
    """R227"""
    project.flow(
        "  a: {run: {script: \"echo new > new.txt\", shell: bash}, touches: [new.txt]}\n  b: {run: ['false']}\n"
    )
    refs = git(project.root, "for-each-ref")

    done = call("run-step", "flow.yaml", "a", "--sandbox", "none")
    failed = call("run-step", "flow.yaml", "b", "--sandbox", "none")
    unknown = call("run-step", "flow.yaml", "c")

    assert (code(done), code(failed), code(unknown)) == (0, 1, 2)
    assert "+new" in done.stdout
    assert git(project.root, "for-each-ref") == refs
    assert project.store.heads() == ()


def test_gc_shows_what_would_go_and_deletes_it_only_after_a_yes(project: Project) -> None:
    """R160"""
    project.flow('  a: {run: {script: "echo new > new.txt", shell: bash}, touches: [new.txt]}\n')
    call("run", "flow.yaml", "--sandbox", "none")
    call("run", "flow.yaml", "--sandbox", "none")
    call("apply")
    newer, older = (head.run for head in project.store.heads())
    # As after a kill between the last event and the removal of the workspaces.
    left = project.facade.paths.work_dir(newer) / "w1"
    left.mkdir(parents=True)

    young = call("gc")
    shown = call("gc", "--older-than", "0s")
    landed = call("gc", "--older-than", "0s", "--yes", "--json")

    assert "nothing to delete" in young.stderr
    assert newer in shown.stdout
    assert older not in shown.stdout
    assert [each["run"] for each in data(landed)["runs"]] == [newer]
    assert [head.run for head in project.store.heads()] == [older]
    assert newer not in git(project.root, "for-each-ref")
    assert not left.parent.exists()
    assert older in git(project.root, "for-each-ref")


@pytest.mark.slow
def test_init_proposes_a_workflow_with_the_tests_that_it_has_run(project: Project) -> None:
    project.write("package.json", '{"scripts": {"test": "node --test"}}')
    project.write("a.test.js", "require('node:test')('a', () => {})\n")
    project.commit()

    asked = call("init")
    done = call("init", "--yes")
    again = call("init", "--yes")

    assert "nothing was written" in asked.stderr
    assert "workflows/change.yaml" in done.stdout
    assert '"npm", "run", "--silent", "test"' in (project.root / "workflows/change.yaml").read_text()
    assert "exists and is not changed" in again.stderr
    assert code(call("validate", "workflows/change.yaml")) == 0


def test_no_human_fails_what_would_ask(project: Project) -> None:
    project.flow(ASK)

    done = call("run", "flow.yaml", "--no-human", "--sandbox", "none", "--json")

    assert code(done) == 1
    assert data(done)["status"] == "failed"


@pytest.mark.slow
def test_the_demo_repairs_its_project_without_a_question(project: Project, tmp_path: Path) -> None:
    done = call("demo", "--folder", str(tmp_path / "demo"))

    assert code(done) == 0
    assert "The demo approves for you" in done.stderr
    assert (
        git(tmp_path / "demo", "log", "--format=%s")
        == "Take the discount into account\nA cart whose tests fail"
    )
    assert git(tmp_path / "demo", "status", "--porcelain") == ""
    assert "quantize" in (tmp_path / "demo/cart.py").read_text()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    done = call(name, "--help")

    assert code(done) == 0
    assert done.stdout.startswith("Usage: ")
    assert len(done.stdout.splitlines()) > 5


@pytest.mark.parametrize(
    "command",
    [("run", "none.yaml"), ("run", "bad.yaml"), ("watch", "none.yaml"), ("run-step", "bad.yaml", "a")],
)
def test_a_file_that_cannot_be_run_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.yaml").write_text("podium: 1\nname: bad\nsteps: {a: {rnu: x}}\n")

    done = call(*command)

    assert code(done) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["bad.yaml"]
