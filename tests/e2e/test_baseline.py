"""`baseline`: a gate that is red on the base is reported, or refuses the run, before an agent is blamed (issue 17, 4)."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.e2e.kit import Ended, Project, closing, new_project
from tests.views.kit import conforms

pytestmark = pytest.mark.slow

FLOW = """\
podium: 1
name: w
agents: {{worker: {{type: command, command: [sh, work.sh], price: {{input: 0, output: 0}}}}}}
{top}
steps:
  work:
    agent: worker
    prompt: go
    retry: {{attempts: 1, on_exhausted: fail}}
    touches: ["note*"]
    gates:
      - {{name: red, run: [sh, check.sh]{gate}}}
"""
CHECK = "echo run >> {log}\ntest -f note && exit {after}\necho 'error: no note' >&2\nexit 1\n"
WAIT = "until ls {cache}/podium/base_results/*/*/*.json >/dev/null 2>&1; do sleep 0.02; done\n"


def project_with(
    folder: Path, *, top: str = "", gate: str = "", work: str = "", after: int = 0, waits: bool = True
) -> Project:
    log = folder / "gate_runs"
    check = CHECK.format(log=log, after=after)
    wait = WAIT.format(cache=folder / "home/.cache") if waits else ""
    files = {
        "flow.yaml": FLOW.format(top=top, gate=gate and f", {gate}"),
        "check.sh": check,
        "work.sh": f"{wait}{work}\necho x > note\necho done\n",
        ".gitignore": ".podium/\n",
    }
    return new_project(folder, files)


def run(project: Project, *options: str) -> Ended:
    return project.podium("run", "flow.yaml", "--sandbox", "limits", *options)


def gate_runs(project: Project) -> int:
    log = project.folder / "gate_runs"
    return len(log.read_text("utf-8").splitlines()) if log.exists() else 0


def test_a_gate_that_is_red_on_the_base_is_reported_beside_the_first_attempt(tmp_path: Path) -> None:
    with closing(project_with(tmp_path, top="baseline: warn")) as project:
        done = run(project)

        assert done.code == 0, done.err
        assert 'gate "red" of "work" (line 12) fails before any change' in done.err
        assert "error: no note" in done.err
        assert gate_runs(project) == 2, "once on the base and once on the work"
        assert project.leftovers() == []


def test_the_result_on_a_tree_is_not_found_out_twice_unless_doctor_is_asked(tmp_path: Path) -> None:
    with closing(project_with(tmp_path, top="baseline: warn")) as project:
        run(project)
        again = run(project)

        assert "fails before any change" in again.err
        assert gate_runs(project) == 3
        project.podium("doctor", "flow.yaml", "--gates", "--sandbox", "limits")
        assert gate_runs(project) == 4
        project.commit({"other": "x"}, "another tree")
        assert "fails before any change" in run(project).err
        assert gate_runs(project) >= 5


def test_what_doctor_has_found_out_a_run_does_not_repeat(tmp_path: Path) -> None:
    with closing(project_with(tmp_path, gate="baseline: warn")) as project:
        project.podium("doctor", "flow.yaml", "--gates", "--sandbox", "limits")
        done = run(project)

        assert "fails before any change" in done.err
        assert gate_runs(project) == 2, "by doctor on the base, and by the run on the work"


def test_refuse_starts_no_run_on_a_red_base(tmp_path: Path) -> None:
    with closing(project_with(tmp_path, top="baseline: refuse", waits=False)) as project:
        done = run(project, "--json")

        assert done.code == 2
        conforms(done.data(), "error")
        error = done.data()["error"]
        assert error["code"] == "red_base"
        assert 'gate "red" of "work" (line 12) fails before any change' in error["message"]
        assert project.podium("runs", "--json").data() == []
        assert project.leftovers() == []

        allowed = run(project, "--set", "baseline=warn")
        assert allowed.code == 0, allowed.err


def test_refuse_starts_the_run_on_a_green_base_and_stays_silent(tmp_path: Path) -> None:
    with closing(project_with(tmp_path, top="baseline: refuse", waits=False)) as project:
        project.commit({"note": "there"}, "mend the base")
        project.put({"work.sh": "echo x > note2\necho done\n"})
        project.git("commit", "-qam", "other work")
        done = run(project)

        assert done.code == 0, done.err
        assert 'trying gate "red" of "work" (line 12) on the base: sh check.sh' in done.err
        assert "before any change" not in done.err


@pytest.mark.parametrize(
    ("top", "gate"),
    [("", ""), ("baseline: refuse", "baseline: ignore"), ("baseline: warn", "must_fail_before: true")],
    ids=["no model is paid for", "the gate says ignore", "a red test is asked for"],
)
def test_the_base_is_not_tried_where_nothing_is_to_be_told(tmp_path: Path, top: str, gate: str) -> None:
    with closing(project_with(tmp_path, top=top, gate=gate, waits=False)) as project:
        done = run(project)

        assert "before any change" not in done.err
        assert gate_runs(project) <= 1, "on the work only"


def test_the_next_attempt_is_told_that_the_gate_failed_on_the_base_as_well(tmp_path: Path) -> None:
    with closing(project_with(tmp_path, top="baseline: warn", after=1)) as project:
        done = run(project)

        assert done.code == 1
        ended = [event for event in project.events(project.run_id()) if event["type"] == "AttemptEnded"]
        (gate,) = [event for event in ended if "#" in event["path"]]
        assert "this command failed on the base tree as well, before any change" in gate["result"]["message"]


def test_a_detached_run_reports_it_in_the_log_of_its_process(tmp_path: Path) -> None:
    with closing(project_with(tmp_path, top="baseline: warn")) as project:
        assert run(project, "--detach").code == 0
        name = project.run_id()
        project.until_event(name, "RunEnded")

        log = project.root / ".podium/runs" / name / "engine.log"
        assert "fails before any change" in log.read_text("utf-8")


def test_a_killed_run_leaves_no_process_of_the_check(tmp_path: Path) -> None:
    flow = project_with(tmp_path, top="baseline: warn", waits=False, work="exec sleep 600")
    with closing(flow) as project:
        project.commit({"check.sh": f"echo run >> {tmp_path}/gate_runs\nexec sleep 600\n"}, "a slow gate")
        child = project.start("run", "flow.yaml", "--sandbox", "limits")
        project.while_running(child, lambda: gate_runs(project) or None, "the gate runs on the base")
        child.send_signal(signal.SIGKILL)
        child.wait()

        assert project.podium("cancel", str(project.run_id())).code == 0
        assert project.marked() == []
        assert project.leftovers() == []


def test_plan_names_the_gates_that_must_pass_on_the_base(tmp_path: Path) -> None:
    with closing(project_with(tmp_path, gate="baseline: refuse")) as project:
        text = project.podium("plan", "flow.yaml").out
        data = project.podium("plan", "flow.yaml", "--json").data()

        assert 'must pass on the base, or podium run does not start: gate "red" of "work" (line 12)' in text
        assert data["green_base_gates"] == ['gate "red" of "work" (line 12)']
        conforms(data, "plan")


def test_a_wrong_word_is_refused_with_its_place(tmp_path: Path) -> None:
    with closing(project_with(tmp_path, gate="baseline: refuze")) as project:
        done = project.podium("validate", "flow.yaml")

        assert done.code == 2
        assert "flow.yaml:12:" in done.out
        assert "refuse" in done.out
