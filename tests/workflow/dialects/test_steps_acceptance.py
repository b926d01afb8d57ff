"""R239: the twelve acceptance tests of the steps format, and its rules for text, paths and secrets."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from podium.app.run.rerun import preview_rerun, start_rerun
from podium.app.run.run_step import step_run
from podium.app.run.start import RunRequest
from podium.errors import ConfigurationError, PathViolation
from podium.wiring import open_project
from tests.engine.kit import drive
from tests.workflow.dialects.kit import ScriptedProject, status, steps_of

HEAD = 'version: "1.0"\nname: demo\nstrict_flow: true\n'


def step(name: str, command: str, *, more: str = "", goto: str = "_end") -> str:
    return (
        f"  - name: {name}\n    command: {command}\n{more}"
        f"    on:\n      success: {{goto: {goto}}}\n      failure: {{error: {name} failed}}\n"
    )


def flow(*steps: str, head: str = "") -> str:
    return f"{HEAD}{head}steps:\n{''.join(steps)}"


@pytest.fixture
def work(project: ScriptedProject) -> ScriptedProject:
    (project.root / "workspace").mkdir()
    project.write("workspace/data.txt", "seven\n")
    return project


@pytest.mark.req("R028")
def test_1_the_happy_path_writes_every_artifact(work: ScriptedProject) -> None:
    work.write("workspace/prompts/ask.md", "What does it say?\n")
    file = work.write_workflow(
        flow(
            step("Prep", '["cat"]', more="    input_file: data.txt\n    output_file: prep.txt\n", goto="Ask"),
            "  - name: Ask\n    provider: claude\n    input_file: prompts/ask.md\n    output_file: said.txt\n"
            "    on: {success: {goto: Report}, failure: {error: no}}\n",
            step(
                "Report", '["cat"]', more="    input_file: artifacts/Ask/said.txt\n    output_file: r.html\n"
            ),
        ),
        cast="- {match: {step: ask}, text: It says seven.}\n",
    )
    run, state = work.run(file)
    assert status(state) == "passed"
    artifacts = work.artifacts(run)
    assert artifacts["prep/prep.txt"] == b"seven\n"
    assert artifacts["report/r.html"].rstrip() == artifacts["ask/said.txt"].rstrip() == b"It says seven."


def test_2_a_step_that_exceeds_its_timeout_is_killed_with_124(work: ScriptedProject) -> None:
    run, state = work.run(work.write_workflow(flow(step("Slow", '["sleep", "60"]', more="    timeout: 1\n"))))
    assert work.view(run).exit == 124
    assert status(state) == "timed_out"


def test_3_a_flaky_command_succeeds_on_its_second_attempt(work: ScriptedProject) -> None:
    script = "import os,sys; p='tried'; there=os.path.exists(p); open(p,'w'); sys.exit(0 if there else 1)"
    file = work.write_workflow(
        flow(step("Flaky", json.dumps(["python3", "-c", script]), more="    retry: {attempts: 2}\n"))
    )
    run, state = work.run(file)
    assert status(state) == "passed"
    assert [row.attempts for row in work.view(run).steps if row.step == "flaky"] == [2]


def test_3_an_exit_code_that_is_not_retryable_fails_the_step(work: ScriptedProject) -> None:
    more = "    retry: {attempts: 3}\n"
    run, state = work.run(work.write_workflow(flow(step("Bad", '["sh", "-c", "exit 2"]', more=more))))
    assert status(state) == "failed"
    assert [row.attempts for row in work.view(run).steps if row.step == "bad"] == [1]


def test_4_a_secret_reaches_the_step_but_no_record(
    work: ScriptedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEMO_KEY", "s3cret-of-the-demo")
    monkeypatch.setenv("OTHER_KEY", "an0ther-one-entirely")
    script = (
        "import os; print(len(os.environ['DEMO_KEY']), os.environ['DEMO_KEY'], 'OTHER_KEY' in os.environ)"
    )
    more = "    secrets: [DEMO_KEY]\n    output_file: out.txt\n"
    file = work.write_workflow(
        flow(
            step("Use", json.dumps(["python3", "-c", script]), more=more),
            head="secrets: [DEMO_KEY, OTHER_KEY]\n",
        )
    )
    run, state = work.run(file)
    assert status(state) == "passed"
    assert work.artifacts(run)["use/out.txt"].split() == [b"18", b"***", b"False"]
    records = work.facade.paths.run_dir(run)
    leaks = [path for path in records.rglob("*") if path.is_file() and b"s3cret" in path.read_bytes()]
    assert leaks == []


@pytest.mark.parametrize(
    "line", ["input_file: /etc/passwd", "input_file: ../../x", "when: {file_exists: ../../x}"]
)
def test_5_and_12_a_path_outside_the_project_is_error_3(work: ScriptedProject, line: str) -> None:
    file = work.write_workflow(flow(step("Read", '["cat"]', more=f"    {line}\n")))
    with pytest.raises(PathViolation) as caught:
        work.run(file)
    assert caught.value.exit_code == 3
    assert "flow.yaml:7" in caught.value.message


def halting(work: ScriptedProject) -> Path:
    return work.write_workflow(
        flow(
            step("One", '["sh", "-c", "echo one >> log"]', goto="Two"),
            step("Two", '["test", "-e", "ready"]', goto="Three"),
            step("Three", '["sh", "-c", "echo three >> log"]'),
        )
    )


@pytest.mark.req("R012")
def test_6_a_failed_run_resumes_after_the_last_completed_step(work: ScriptedProject) -> None:
    """R146, R151: steps that passed are not run again."""
    first, state = work.run(halting(work))
    assert status(state) == "failed"
    assert work.ended_steps(first) == [("one", 1, "passed"), ("two", 1, "failed")]
    work.write("workspace/ready", "")
    started = start_rerun(work.facade, preview_rerun(work.facade, first, step="two"))
    state = drive(work.facade, started.run, park=True)
    assert status(state) == "passed"
    assert steps_of(work.ended_steps(started.run)) == ["one", "two", "three"]
    assert (work.root / "workspace/log").read_text() == "one\nthree\n"


@pytest.mark.req("C11")
def test_8_a_fresh_run_runs_every_step_again(work: ScriptedProject) -> None:
    """R007."""
    file = halting(work)
    work.run(file)
    second, _ = work.run(file)
    assert steps_of(work.ended_steps(second)) == ["one", "two"]
    assert (work.root / "workspace/log").read_text() == "one\none\n"


def test_7_the_state_file_describes_the_run(work: ScriptedProject) -> None:
    file = work.write_workflow(flow(step("One", '["echo", "hi"]', goto="Two"), step("Two", '["false"]')))
    run, _ = work.run(file)
    state = json.loads((work.facade.paths.run_dir(run) / "state.json").read_text())
    assert state["status"] == "failed"
    assert (state["workflow_name"], state["current_step"]) == ("demo", "Two")
    assert state["steps"]["One"]["output"].strip() == "hi"
    assert (state["steps"]["One"]["status"], state["steps"]["Two"]["exit_code"]) == ("completed", 1)


@pytest.mark.req("R053")
def test_9_a_step_whose_condition_is_false_is_skipped(work: ScriptedProject) -> None:
    file = work.write_workflow(
        flow(
            "  - name: Try\n    command: [false]\n    on: {success: {goto: Good}, failure: {goto: Good}}\n",
            step("Good", '["touch", "good"]', more="    when: {step_ok: Try}\n", goto="Last"),
            step("Last", '["true"]', more="    when: {not: {step_ok: Try}}\n"),
        )
    )
    run, _ = work.run(file)
    assert work.ended_steps(run) == [("try", 1, "failed"), ("good", 1, "skipped"), ("last", 1, "passed")]


def test_10_running_a_single_step_does_not_change_other_runs(work: ScriptedProject) -> None:
    file = work.write_workflow(flow(step("One", '["echo", "hi"]', more="    output_file: o.txt\n")))
    run, _ = work.run(file)
    before = (work.facade.paths.run_dir(run) / "state.json").read_bytes()
    request = RunRequest(definition=work.facade.load(file), sandbox="none")
    apart = open_project(work.root, create=True, state_dir=work.root.parent / "apart")
    with step_run(apart, request, "one") as started:
        state = drive(apart, started.run, park=True)
    apart.runtime.close()
    assert (work.facade.paths.run_dir(run) / "state.json").read_bytes() == before
    assert status(state) == "passed"


@pytest.mark.req("R043")
def test_11_values_are_inserted_into_commands_and_a_missing_value_fails(work: ScriptedProject) -> None:
    command = '["echo", "${context.who}", "$$5", "${{ theirs }}", "x=${context.flag}"]'
    more = "    output_file: o.txt\n    allow_missing_vars: [context.flag]\n"
    file = work.write_workflow(flow(step("Say", command, more=more)))
    run, state = work.run(file, vars={"who": "Ada"})
    assert status(state) == "passed"
    assert work.artifacts(run)["say/o.txt"] == b"Ada $5 ${{ theirs }} x=\n"
    run, state = work.run(file)
    assert status(state) == "failed"
    assert "E_VAR_MISSING" in json.dumps([str(event) for event in work.events(run)])


def test_12_file_conditions_look_below_the_workspace(work: ScriptedProject) -> None:
    file = work.write_workflow(
        flow(
            step("Make", '["touch", "made.txt"]', goto="See"),
            step("See", '["true"]', more="    when: {file_exists: made.txt}\n", goto="Miss"),
            step("Miss", '["true"]', more="    when: {file_exists: README.md}\n"),
        )
    )
    run, _ = work.run(file)
    assert work.ended_steps(run)[1:] == [("see", 1, "passed"), ("miss", 1, "skipped")]
    assert Path(os.fspath(work.root / "workspace/made.txt")).exists()


@pytest.mark.req("R030")
def test_a_problem_names_the_line_of_the_original_file(work: ScriptedProject) -> None:
    file = work.write_workflow(flow(step("One", '["true"]', goto="Tow")))
    with pytest.raises(ConfigurationError, match=r'flow\.yaml:8:.*of "One": step "Tow" does not exist'):
        work.run(file)
