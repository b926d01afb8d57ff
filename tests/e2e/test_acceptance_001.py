"""R239: the twelve acceptance tests of the steps format, through the command line, in a folder without git."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kit import Ended, Project, closing, new_project

pytestmark = [pytest.mark.slow, pytest.mark.req("R239")]

SECRET = "s3cret-of-the-demo"
PREP = "import sys\nprint(open(sys.argv[1]).read().strip())\n"
REPORT = "import sys\nprint('<p>' + sys.stdin.read().strip() + '</p>')\n"
DEMO = """\
version: "1.0"
name: "demo"
strict_flow: true

context:
  project: "my-app"

secrets:
  - CLAUDE_API_KEY

steps:
  - name: Prep
    command: ["python3", "scripts/prep.py", "data.txt"]
    output_file: "prep.txt"
    timeout: 60
    on:
      success:
        goto: Analyze
      failure:
        error: "Prep failed"

  - name: Analyze
    provider: "claude"
    input_file: "prompts/analyze.md"
    output_file: "analysis.txt"
    timeout: 120
    retry:
      attempts: 2
    on:
      success:
        goto: Report
      failure:
        error: "Analysis failed"

  - name: Report
    when:
      step_ok: Analyze
    command: ["python3", "scripts/report.py"]
    input_file: "artifacts/Analyze/analysis.txt"
    output_file: "report.html"
    on:
      success:
        goto: _end
      failure:
        error: "Report generation failed"
"""
HEAD = 'version: "1.0"\nname: demo\nstrict_flow: true\n'


def step(name: str, command: list[str], *, more: str = "", goto: str = "_end") -> str:
    return (
        f"  - name: {name}\n    command: {json.dumps(command)}\n{more}"
        f"    on:\n      success: {{goto: {goto}}}\n      failure: {{error: {name} failed}}\n"
    )


def flow(*steps: str, head: str = "") -> str:
    return f"{HEAD}{head}steps:\n{''.join(steps)}"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    files = {
        ".podium/config.yaml": "agents: {claude: {type: scripted, script: cast.yaml}}\n",
        "cast.yaml": "- {match: {step: analyze}, text: It says seven.}\n",
        "demo.yaml": DEMO,
        "workspace/data.txt": "seven\n",
        "workspace/scripts/prep.py": PREP,
        "workspace/scripts/report.py": REPORT,
        "workspace/prompts/analyze.md": "What does it say?\n",
    }
    with closing(new_project(tmp_path, files, git=False, CLAUDE_API_KEY=SECRET)) as made:
        yield made


def run(project: Project, text: str, *args: str, command: tuple[str, ...] = ("run",)) -> Ended:
    project.put({"flow.yaml": text})
    return project.podium(*command, "flow.yaml", *args, "--sandbox", "none")


def shown(project: Project) -> Any:
    return project.podium("show", "--json").data()


def artifacts(project: Project) -> dict[str, str]:
    """The artifacts, by their place in the workspace."""
    folder = project.root / "workspace/artifacts"
    return {
        path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()
    }


def ended(project: Project) -> list[tuple[str, str]]:
    return [(each["path"], each["outcome"]) for each in shown(project)["steps"] if each["outcome"]]


def test_1_the_demo_writes_every_artifact(project: Project) -> None:
    done = project.podium("run", "demo.yaml", "--sandbox", "none")

    assert done.code == 0, done.err
    written = artifacts(project)
    assert written["Prep/prep.txt"] == "seven\n"
    assert written["Analyze/analysis.txt"] == "It says seven."
    assert written["Report/report.html"] == "<p>It says seven.</p>\n"


def test_2_a_step_that_exceeds_its_timeout_is_killed_with_124(project: Project) -> None:
    done = run(project, flow(step("Slow", ["sleep", "60"], more="    timeout: 1\n")))

    assert done.code == 124
    assert shown(project)["status"] == "timed_out"


def test_3_a_flaky_command_succeeds_on_its_second_attempt(project: Project) -> None:
    script = "import os,sys; there=os.path.exists('tried'); open('tried','w'); sys.exit(0 if there else 1)"
    done = run(project, flow(step("Flaky", ["python3", "-c", script], more="    retry: {attempts: 2}\n")))

    assert done.code == 0, done.err
    assert [each["attempts"] for each in shown(project)["steps"]] == [2]


def test_4_a_secret_is_injected_and_its_value_is_redacted(project: Project) -> None:
    script = "import os; print(len(os.environ['CLAUDE_API_KEY']), os.environ['CLAUDE_API_KEY'])"
    more = "    secrets: [CLAUDE_API_KEY]\n    output_file: out.txt\n"
    done = run(
        project,
        flow(step("Use", ["python3", "-c", script], more=more), head="secrets: [CLAUDE_API_KEY]\n"),
        "-v",
    )

    assert done.code == 0, done.err
    assert artifacts(project)["Use/out.txt"].split() == ["18", "***"]
    assert SECRET not in done.out + done.err
    records = (project.root / ".podium").rglob("*")
    assert [path for path in records if path.is_file() and SECRET.encode() in path.read_bytes()] == []


@pytest.mark.parametrize("line", ["input_file: /etc/passwd", "output_file: /tmp/x", "input_file: ../../x"])
def test_5_an_absolute_path_is_error_3(project: Project, line: str) -> None:
    done = run(project, flow(step("Read", ["cat"], more=f"    {line}\n")))

    assert done.code == 3
    assert "flow.yaml:7" in done.err


HALTING = flow(
    step("One", ["sh", "-c", "echo one >> log"], goto="Two"),
    step("Two", ["test", "-e", "ready"], goto="Three"),
    step("Three", ["sh", "-c", "echo three >> log"]),
)


def test_6_resume_continues_after_the_last_completed_step(project: Project) -> None:
    assert run(project, HALTING).code == 1
    project.put({"workspace/ready": ""})

    done = project.podium("resume")

    assert done.code == 0, done.err
    assert ended(project) == [("one", "passed"), ("two", "passed"), ("three", "passed")]
    assert (project.root / "workspace/log").read_text() == "one\nthree\n"


def test_7_the_log_has_the_start_and_the_end_of_each_step(project: Project) -> None:
    done = run(project, flow(step("One", ["echo", "hi"], goto="Two"), step("Two", ["false"])))

    lines = done.err.splitlines()
    for name in ("One", "Two"):
        assert any(f"{name}: started" in line for line in lines)
    assert any("One: passed" in line for line in lines)
    assert any("Two: failed" in line for line in lines)
    folder = project.root / ".podium/runs" / shown(project)["run"]
    state = json.loads((folder / "state.json").read_text())
    assert (state["status"], state["current_step"]) == ("failed", "Two")


def test_8_a_fresh_run_executes_every_step_in_order(project: Project) -> None:
    run(project, HALTING)
    run(project, HALTING)

    assert ended(project) == [("one", "passed"), ("two", "failed")]
    assert (project.root / "workspace/log").read_text() == "one\none\n"


def test_9_step_ok_gates_the_execution(project: Project) -> None:
    tries = "  - name: Try\n    command: [{}]\n    on: {{success: {{goto: Good}}, failure: {{goto: Good}}}}\n"
    good = step("Good", ["true"], more="    when: {step_ok: Try}\n")

    run(project, flow(tries.format("'false'"), good))
    assert ended(project) == [("try", "failed"), ("good", "skipped")]
    run(project, flow(tries.format("'true'"), good))
    assert ended(project) == [("try", "passed"), ("good", "passed")]


@pytest.mark.req("R227")
def test_10_run_step_creates_artifacts_and_leaves_earlier_runs_alone(project: Project) -> None:
    text = flow(step("One", ["echo", "hi"], more="    output_file: o.txt\n"))
    assert run(project, text).code == 0
    state = project.root / ".podium/runs" / shown(project)["run"] / "state.json"
    before = state.read_bytes()

    (project.root / "workspace/artifacts/One/o.txt").unlink()
    done = project.podium("run-step", "flow.yaml", "One", "--sandbox", "none")

    assert done.code == 0, done.err
    assert artifacts(project) == {"One/o.txt": "hi\n"}
    assert state.read_bytes() == before
    assert len(list((project.root / ".podium/runs").iterdir())) == 1


def test_11_values_are_inserted_into_arguments_and_a_missing_one_is_named(project: Project) -> None:
    text = flow(step("Say", ["echo", "${context.who}"], more="    output_file: o.txt\n"))

    assert run(project, text, "--var", "who=Ada").code == 0
    assert artifacts(project)["Say/o.txt"].strip() == "Ada"
    missing = run(project, text)
    assert missing.code == 1
    assert "E_VAR_MISSING" in missing.err


def test_12_file_exists_looks_below_the_workspace(project: Project) -> None:
    text = flow(
        step("Make", ["touch", "made.txt"], goto="See"),
        step("See", ["true"], more="    when: {file_exists: made.txt}\n", goto="Miss"),
        step("Miss", ["true"], more="    when: {file_exists: demo.yaml}\n"),
    )

    assert run(project, text).code == 0
    assert ended(project)[1:] == [("see", "passed"), ("miss", "skipped")]
    outside = run(project, flow(step("See", ["true"], more="    when: {file_exists: ../../x}\n")))
    assert outside.code == 3
