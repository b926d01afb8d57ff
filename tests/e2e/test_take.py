"""`podium take`: a person does an attempt in the agent's own program, at a terminal in tmux (issue 17, point 7)."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from podium.adapters.sandboxes.bubblewrap_probe import probe
from podium.core.hash_chain import RunId
from podium.process.procfs import MARKER_VARIABLE
from tests.e2e.fake_claude import PROGRAM
from tests.e2e.kit import Project, closing, new_project, until
from tests.e2e.tmux import Tmux, in_tmux
from tests.views.kit import conforms

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux"),
    pytest.mark.skipif(probe() is not None, reason="bubblewrap does not work here"),
]
KEY = "dummy-key-4711-of-nobody"
FLOW = """\
podium: 1
name: paint
agents: {{claude: {{command: {program}}}}}
steps:
  implement:
    agent: claude
    prompt: Paint the shed
    touches: ["src/**"]
    retry: {{attempts: 1, on_exhausted: {exhausted}}}
    gates: [{{run: [test, -f, src/good.py]}}]
  check: {{run: ["true"]}}
  land: {{git: {{land: main, message: Paint}}}}
"""
OPENED = "fake claude: "


@pytest.fixture
def program() -> Iterator[Path]:
    """Not below /dev, where temporary files of tests may be: a sandbox has its own."""
    with TemporaryDirectory(dir="/tmp") as folder:
        path = Path(folder) / "claude"
        path.write_text(PROGRAM, encoding="utf-8")
        path.chmod(0o755)
        Path(folder).chmod(0o755)
        yield path


@pytest.fixture
def project(tmp_path: Path, program: Path) -> Iterator[Project]:
    files = {
        "fail.yaml": FLOW.format(program=program, exhausted="fail"),
        "ask.yaml": FLOW.format(program=program, exhausted="human"),
        "src/app.py": "x = 1\n",
    }
    with closing(new_project(tmp_path / "place", files, ANTHROPIC_API_KEY=KEY)) as made:
        yield made


def failed_run(project: Project, name: str = "fail", *options: str, code: int = 1) -> str:
    done = project.podium("run", f"{name}.yaml", "--yes", "--json", *options)
    assert done.code == code, done.err
    return str(done.data()["run"])


def newest(project: Project) -> dict[str, Any]:
    view: dict[str, Any] = project.podium("show", "@1", "--json").data()
    return view


def use(tmux: Tmux, *lines: str) -> str:
    """The person waits for the program, types lines, and leaves."""
    screen = tmux.wait_for(OPENED)
    for line in lines:
        tmux.type(line)
        if line.startswith("write "):
            tmux.wait_for(f"wrote {line.removeprefix('write ')}")
    tmux.type("exit")
    return screen


def step(view: dict[str, Any], path: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in view["steps"] if each["path"] == path)
    return found


def test_work_that_a_person_finished_in_the_agents_program_is_judged_and_lands(project: Project) -> None:
    failed = failed_run(project)
    with in_tmux(project, "take", failed, "implement", columns=120, rows=40) as tmux:
        screen = use(tmux, "write src/good.py")
        end = tmux.wait_for("land committed")

    assert "1 earlier messages, knows the task, ['app.py', 'bad.py']" in " ".join(screen.split())
    assert "by ann with claude" in end
    view = newest(project)
    conforms(view, "run")
    implement = step(view, "implement")
    assert (view["status"], implement["outcome"], implement["by"]) == ("passed", "passed", "ann")
    assert implement["output"] == "wrote src/good.py"
    assert project.git("show", "--stat", "--format=%s", "main").split("\n")[0] == "Paint"
    assert project.git("show", "main:src/good.py") == "x = 1"
    taken = [event for event in project.events(view["run"]) if event["type"] == "AttemptTaken"]
    assert [(event["path"], event["by"], event["agent"]) for event in taken] == [
        ("implement", "ann", "claude")
    ]
    summary = next((project.root / ".podium/runs" / view["run"]).glob("*summary.md")).read_text("utf-8")
    assert "by ann with claude" in summary


def test_a_session_without_calls_of_the_model_costs_nothing_and_never_has_the_key(project: Project) -> None:
    failed = failed_run(project)
    with in_tmux(project, "take", failed, "implement", columns=120, rows=40) as tmux:
        screen = tmux.wait_for(OPENED)
        tmux.type("key")
        screen = tmux.wait_for("key podium")
        use(tmux, "write src/good.py")
        tmux.wait_for("land committed")

    assert KEY not in screen
    assert step(newest(project), "implement")["cost_usd"] == 0


def test_work_that_does_not_pass_its_gates_fails_like_any_attempt(project: Project) -> None:
    failed = failed_run(project)
    with in_tmux(project, "take", failed, "implement", columns=120, rows=40) as tmux:
        use(tmux, "write src/other.py")
        tmux.wait_for("failed (gates)")

    view = newest(project)
    assert (view["run"] != failed, view["status"]) == (True, "failed")
    assert project.git("log", "--format=%s", "main") == "first"


def test_files_outside_of_touches_are_refused(project: Project) -> None:
    failed = failed_run(project)
    with in_tmux(project, "take", failed, "implement", columns=120, rows=40) as tmux:
        use(tmux, "write src/good.py", "write README.md")
        tmux.wait_for("failed (")

    view = newest(project)
    assert (view["status"], "README.md" in step(view, "implement")["why"]) == ("failed", True)


def test_taking_a_step_answers_the_question_about_it(project: Project) -> None:
    waiting = failed_run(project, "ask", code=6)
    with in_tmux(project, "take", waiting, "implement", columns=120, rows=40) as tmux:
        use(tmux, "write src/good.py")
        tmux.wait_for("land committed")

    view = newest(project)
    assert (view["run"], view["status"], step(view, "implement")["attempts"]) == (waiting, "passed", 2)


def test_the_work_is_still_there_after_the_terminal_was_closed(project: Project) -> None:
    waiting = failed_run(project, "ask", code=6)
    with in_tmux(project, "take", waiting, "implement", columns=120, rows=40) as tmux:
        tmux.wait_for(OPENED)
        tmux.type("write src/good.py")
        tmux.wait_for("wrote src/good.py")

    until(lambda: None if project.marked() else True, "the end of all processes")
    assert newest(project)["status"] == "interrupted"
    with in_tmux(project, "take", waiting, "implement", columns=120, rows=40) as tmux:
        screen = use(tmux)
        tmux.wait_for("land committed")
    assert "2 earlier messages" in screen
    assert "'good.py'" in screen


def test_the_work_is_still_there_after_podium_was_killed(project: Project) -> None:
    waiting = failed_run(project, "ask", code=6)
    with in_tmux(project, "take", waiting, "implement", columns=120, rows=40) as tmux:
        tmux.wait_for(OPENED)
        tmux.type("write src/good.py")
        tmux.wait_for("wrote src/good.py")
        until(lambda: "good.py" in saved_files(project) or None, "the work is saved")
        (shell,) = tmux.run("display-message", "-p", "#{pane_pid}").split()
        (podium,) = Path(f"/proc/{shell}/task/{shell}/children").read_text("utf-8").split()
        os.kill(int(podium), signal.SIGKILL)
        until(lambda: None if project.marked() else True, "the end of all processes")

    with in_tmux(project, "take", waiting, "implement", columns=120, rows=40) as tmux:
        screen = use(tmux)
        tmux.wait_for("land committed")
    assert "2 earlier messages" in screen
    assert "'good.py'" in screen
    assert project.leftovers() == []


def saved_files(project: Project) -> str:
    refs = project.git("for-each-ref", "--format=%(refname)", "refs/podium").split()
    return "".join(project.git("ls-tree", "-r", "--name-only", ref) for ref in refs)


def test_without_a_sandbox_it_is_refused_unless_typed(project: Project) -> None:
    failed = failed_run(project, "fail", "--sandbox", "limits")

    done = project.podium("take", failed, "implement", "--json")

    conforms(done.data(), "error")
    error = done.data()["error"]
    assert (done.code, error["code"]) == (2, "needs_sandbox")
    assert "--sandbox limits" in error["hint"]
    with in_tmux(project, "take", failed, "implement", "--sandbox", "limits", columns=120, rows=40) as tmux:
        use(tmux, "write src/good.py")
        tmux.wait_for("land committed")
    assert newest(project)["status"] == "passed"


def test_what_cannot_be_taken_is_refused_with_the_reason(project: Project) -> None:
    failed = failed_run(project)
    cases = {
        (failed, "implement"): ("needs_terminal", "terminal"),
        (failed, "missing"): ("unknown_step", "implement"),
        (failed, "check"): ("unknown_step", "has not entered"),
    }
    for (run, name), (code, words) in cases.items():
        done = project.podium("take", run, name, "--json")
        conforms(done.data(), "error")
        error = done.data()["error"]
        assert (done.code, error["code"]) == (2, code), error
        assert words in f"{error['message']} {error['hint']}"


def test_a_run_that_another_process_drives_cannot_be_taken(project: Project) -> None:
    waiting = failed_run(project, "ask", code=6)
    with in_tmux(project, "take", waiting, "implement", columns=120, rows=40) as tmux:
        tmux.wait_for(OPENED)

        done = project.podium("take", waiting, "implement", "--json")

        error = done.data()["error"]
        assert (error["code"], "podium pause" in error["hint"]) == ("run_owned", True)
        tmux.type("exit")


def test_steps_without_an_agent_and_runs_that_passed_cannot_be_taken(project: Project) -> None:
    project.commit({"only.yaml": 'podium: 1\nname: only\nsteps: {a: {run: ["false"]}, }\n'}, "only")
    command = failed_run(project, "only")
    project.commit({"quick.yaml": 'podium: 1\nname: quick\nsteps: {a: {run: ["true"]}}\n'}, "quick")
    passed = failed_run(project, "quick", code=0)

    refusal = project.podium("take", command, "a", "--json").data()
    conforms(refusal, "error")
    assert refusal["error"]["code"] == "not_an_agent"
    assert project.podium("take", passed, "a", "--json").data()["error"]["code"] == "run_ended"


def test_a_program_that_does_not_start_is_not_recorded_as_work(project: Project, program: Path) -> None:
    failed = failed_run(project)
    program.write_text("#!/no/such/interpreter\n", encoding="utf-8")
    with in_tmux(project, "take", failed, "implement", columns=120, rows=40) as tmux:
        tmux.wait_for("unavailable")

    implement = step(newest(project), "implement")
    assert (implement["outcome"], implement["cost_usd"]) == ("error", 0)


def test_a_process_of_a_step_cannot_take_a_step_over(project: Project) -> None:
    failed = failed_run(project)
    project.env[MARKER_VARIABLE] = "podium-test-of-a-step/1"

    done = project.podium("take", failed, "implement", "--json")

    assert "process of a step" in done.data()["error"]["message"]


INTERACTIVE = """\
workflow: {id: together, name: Paint the shed}
steps:
  - id: A
    name: paint
    agent: {type: implementor, launch: interactive}
    outputs: [src/good.py]
    gate: G
gates:
  - {id: G, name: sign, reviewer: {level: human}, on_pass: {next_step: DONE}, on_fail: {next_step: A}}
"""


@pytest.mark.req("R021")
def test_an_interactive_step_of_the_gates_format_opens_the_agent_of_its_role(
    project: Project, program: Path
) -> None:
    config = f"agents: {{claude: {{command: {program}}}}}\nroles: {{implementer: {{agent: claude}}}}\n"
    project.put({".podium/config.yaml": config})
    project.commit({"together.yaml": INTERACTIVE}, "more")
    waiting = failed_run(project, "together", code=6)

    with in_tmux(project, "take", waiting, "paint", columns=120, rows=40) as tmux:
        use(tmux, "write src/good.py")
        tmux.wait_for("is the step")
    (project.root / ".workflow/signals/G-pass").touch()
    assert project.podium("resume", waiting).code == 0

    taken = [event for event in project.events(RunId(waiting)) if event["type"] == "AttemptTaken"]
    assert [(event["path"], event["by"], event["agent"]) for event in taken] == [("paint", "ann", "claude")]
    assert project.git("show", "main:src/good.py") == "x = 1"
