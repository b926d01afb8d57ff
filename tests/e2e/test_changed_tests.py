"""A worker may change a requirement that earlier tests hold only if a judge who saw these tests accepts it (issue 16, D1)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.e2e.kit import Ended, Project, closing, new_project

pytestmark = pytest.mark.slow

WORKER: Final = """\
sed -i 's/a - b/a + b + 1/' src/app.py
sed -i 's/== 5/== 6/' tests/test_app.py
printf 'def test_new(): pass\\n' > tests/test_new.py
echo done
"""
CLAIM: Final = "echo 'TESTS_CHANGED: tests/test_app.py::test_add: sums count from one now'\n"
REVIEWER: Final = """\
prompt=$(cat)
nonce=$(printf '%s' "$prompt" | sed -n 's/^nonce: //p' | tail -1)
tree=$(printf '%s' "$prompt" | sed -n 's/^tree: //p' | tail -1)
ids=$(printf '%s' "$prompt" | sed -n 's/^\\(T[0-9a-f]*\\): .*/"\\1"/p' | paste -sd,)
printf '%s' "$prompt" > /dev/null
echo '{"decision": "approve", "score": 9, "findings": [], "summary": "fine", "nonce": "'$nonce'", "tree": "'$tree'"ACCEPTS}'
"""
ACCEPTS: Final = ', "accepted_tests": [\'"$ids"\']'
FILES: Final = {
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src"]\n',
    "src/app.py": "def add(a, b):\n    return a - b\n",
    "tests/test_app.py": "from app import add\ndef test_add(): assert add(2, 3) == 5\ndef test_none(): assert True\n",
}
FREE: Final = "price: {input: 0, output: 0}"
GATE: Final = f"{{name: tests, run: {json.dumps([sys.executable, '-m', 'pytest', '-q'])}}}"


def project_of(folder: Path, steps: str, *, worker: str = WORKER + CLAIM, accepts: bool = True) -> Project:
    flow = f"""\
podium: 1
name: changed
agents:
  worker: {{type: command, command: [sh, worker.sh], {FREE}}}
  judge: {{type: command, command: [sh, review.sh], {FREE}}}
steps:
{steps.replace("GATE", GATE)}
"""
    reviewer = REVIEWER.replace("ACCEPTS", ACCEPTS if accepts else ', "accepted_tests": []')
    return new_project(folder, {**FILES, "worker.sh": worker, "review.sh": reviewer, "flow.yaml": flow})


def steps_of(done: Ended) -> dict[str, dict[str, Any]]:
    return {step["path"]: step for step in done.data()["steps"]}


WORK = "  work: {agent: worker, prompt: go, retry: 1, touches: ['src/**', 'tests/**'], gates: [GATES]}\n"
LAND = "  land: {git: {land: main, message: Do it}}\n"
JUDGES: Final = {
    "a gate of the step": WORK.replace("GATES", "GATE, {name: look, review: judge}") + LAND,
    "a later review": WORK.replace("GATES", "GATE") + "  look: {review: judge}\n" + LAND,
    "a later review of the step": WORK.replace("GATES", "GATE")
    + "  look: {review: judge, of: work}\n"
    + LAND,
    "a gate of the landing": WORK.replace("GATES", "GATE")
    + "  land: {git: {land: main, message: Do it}, gates: [GATE, {name: look, review: judge}]}\n",
    "a gate of a block": "  block:\n    steps:\n"
    + WORK.replace("GATES", "GATE").replace("  work", "      work")
    + "    gates: [{name: look, review: judge}]\n"
    + LAND,
}


@pytest.mark.parametrize("judge", JUDGES)
def test_a_changed_test_lands_once_a_reviewer_has_accepted_it(judge: str, tmp_path: Path) -> None:
    with closing(project_of(tmp_path, JUDGES[judge])) as project:
        done = project.podium("run", "flow.yaml", "--json", "--no-human")

        assert done.code == 0, done.out + done.err
        assert "== 6" in project.git("show", "main:tests/test_app.py")


@pytest.mark.parametrize("judge", JUDGES)
def test_an_approval_that_does_not_accept_the_test_lands_nothing(judge: str, tmp_path: Path) -> None:
    with closing(project_of(tmp_path, JUDGES[judge], accepts=False)) as project:
        done = project.podium("run", "flow.yaml", "--json", "--no-human")

        assert done.code == 1, done.out + done.err
        assert "the changed test is not accepted" in done.out
        assert "== 5" in project.git("show", "main:tests/test_app.py")


@pytest.mark.parametrize("judge", JUDGES)
def test_without_a_reason_the_test_stays_failed(judge: str, tmp_path: Path) -> None:
    with closing(project_of(tmp_path, JUDGES[judge], worker=WORKER)) as project:
        done = project.podium("run", "flow.yaml", "--json", "--no-human")

        assert done.code == 1, done.out + done.err
        message = json.dumps(project.events(project.run_id()))
        assert "TESTS_CHANGED: <test or file>: <why>" in message
        assert "- tests.test_app::test_add fails on the new code" in message
        assert "== 5" in project.git("show", "main:tests/test_app.py")


def test_with_no_judge_before_the_landing_the_test_stays_failed(tmp_path: Path) -> None:
    with closing(project_of(tmp_path, WORK.replace("GATES", "GATE") + LAND)) as project:
        done = project.podium("run", "flow.yaml", "--json", "--no-human")

        assert done.code == 1
        assert "no review and no person judges this work before it lands" in json.dumps(
            project.events(project.run_id())
        )


def test_a_person_sees_the_test_the_reason_and_the_diff_and_accepts(tmp_path: Path) -> None:
    steps = WORK.replace("GATES", "GATE, {name: owner, human: 'Good?'}") + LAND
    with closing(project_of(tmp_path, steps)) as project:
        parked = project.podium("run", "flow.yaml", "--json")
        question = parked.data()["pending"][0]["question"]

        assert parked.code == 6
        assert (
            "tests.test_app::test_add fails on the new code; the author says: sums count from one now"
            in question
        )
        assert "-def test_add(): assert add(2, 3) == 5" in question
        assert project.podium("approve").code == 0
        assert "== 6" in project.git("show", "main:tests/test_app.py")


def test_a_person_who_rejects_lands_nothing(tmp_path: Path) -> None:
    steps = WORK.replace("GATES", "GATE") + "  owner: {human: 'Good?'}\n" + LAND
    with closing(project_of(tmp_path, steps)) as project:
        assert project.podium("run", "flow.yaml").code == 6
        project.podium("reject", "-m", "no")

        assert "== 5" in project.git("show", "main:tests/test_app.py")


def test_silence_accepts_nothing(tmp_path: Path) -> None:
    """A notice passes without an answer, but the work does not land."""
    steps = WORK.replace("GATES", "GATE")
    steps += (
        "  owner: {human: 'Good?', level: notify}\n  look: {review: judge, of: work, when: 1 > 2}\n" + LAND
    )
    with closing(project_of(tmp_path, steps)) as project:
        done = project.podium("run", "flow.yaml", "--json")

        assert done.code == 1, done.out + done.err
        assert steps_of(done)["land"]["reason"] == "disputed_tests"
        assert "tests.test_app::test_add (sums count from one now)" in done.out


def test_a_branch_with_a_test_that_nobody_accepted_is_not_published(tmp_path: Path) -> None:
    steps = (
        WORK.replace("GATES", "GATE")
        + "  look: {review: judge, of: work, when: 1 > 2}\n  out: {git: {branch: work/x}}\n"
    )
    with closing(project_of(tmp_path, steps)) as project:
        done = project.podium("run", "flow.yaml", "--json", "--no-human")

        assert steps_of(done)["out"]["reason"] == "disputed_tests", done.out


def test_what_a_run_left_unaccepted_is_not_applied_either(tmp_path: Path) -> None:
    steps = WORK.replace("GATES", "GATE") + "  look: {review: judge, of: work, when: 1 > 2}\n"
    with closing(project_of(tmp_path, steps)) as project:
        assert project.podium("run", "flow.yaml", "--no-human").code == 0
        done = project.podium("apply")

        assert done.code != 0
        assert "no reviewer and no person has accepted that" in done.out + done.err


def test_the_reviewer_sees_the_rows_with_the_reason_and_the_diff(tmp_path: Path) -> None:
    with closing(project_of(tmp_path, JUDGES["a gate of the step"])) as project:
        project.podium("run", "flow.yaml", "--no-human")
        folder = project.root / ".podium/runs" / project.run_id() / "agent_logs"
        prompts = [path.read_text("utf-8") for path in folder.glob("*/*/prompt.md")]
        prompt = next(text for text in prompts if "Disputed tests" in text)

        assert (
            "tests.test_app::test_add fails on the new code; the author says: sums count from one now"
            in prompt
        )
        assert "-def test_add(): assert add(2, 3) == 5" in prompt
        assert '"accepted_tests"' in prompt


def test_validate_and_plan_say_whether_a_judge_can_accept(tmp_path: Path) -> None:
    with closing(project_of(tmp_path, JUDGES["a later review"])) as project:
        assert (
            'gate "tests" of "work" (pytest, a judge can accept changed tests)'
            in project.podium("validate", "flow.yaml").err
        )
        assert project.podium("plan", "flow.yaml", "--json").data()["test_gates"] == [
            {"path": "work#/tests", "runner": "pytest", "judged": True}
        ]
    with closing(project_of(tmp_path / "other", WORK.replace("GATES", "GATE") + LAND)) as project:
        answer = project.podium("validate", "flow.yaml")
        assert 'gate "tests" of "work" (pytest, no judge: changed tests fail)' in answer.err


SNAPSHOT_TEST: Final = """\
from pathlib import Path
from app import add
def test_shown(): assert Path(__file__).with_name("__snapshots__").joinpath("test_shown.ambr").read_text() == f"{add(2, 3)}\\n"
"""
SNAPSHOT_WORKER: Final = """\
sed -i 's/a - b/a + b + 1/' src/app.py
sed -i 's/5/6/' tests/__snapshots__/test_shown.ambr
sed -i '$ a # shown' tests/test_shown.py
rm tests/test_app.py
echo 'TESTS_CHANGED: tests/test_shown.py: sums count from one now'
echo 'TESTS_CHANGED: tests/test_app.py: sums count from one now'
"""


def test_a_changed_snapshot_is_a_row_with_its_diff(tmp_path: Path) -> None:
    flow = JUDGES["a gate of the step"]
    with closing(project_of(tmp_path, flow, worker=SNAPSHOT_WORKER)) as project:
        (project.root / "tests/__snapshots__").mkdir()
        (project.root / "tests/__snapshots__/test_shown.ambr").write_text("5\n")
        (project.root / "tests/test_shown.py").write_text(SNAPSHOT_TEST)
        project.git("add", "-A")
        project.git("commit", "-qm", "Add a snapshot")
        done = project.podium("run", "flow.yaml", "--no-human", "--json")
        folder = project.root / ".podium/runs" / project.run_id() / "agent_logs"
        prompts = [path.read_text("utf-8") for path in folder.glob("*/*/prompt.md")]
        prompt = next(text for text in prompts if "Disputed tests" in text)

        assert done.code == 0, done.out
        assert "the work changed its snapshot tests/__snapshots__/test_shown.ambr" in prompt
        assert "+++ b/tests/__snapshots__/test_shown.ambr" in prompt
        assert "-5\n+6" in prompt
