"""The settings files of the supervisor format have an effect: limits, and retry policies by step."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.supervised import CONFIG, FLOW, attempts, outcomes, run, supervised

pytestmark = pytest.mark.slow

WORK = "workflow:\n  steps:\n    implement: {role: implementer, terminal: true}\n"
WRITES = "- {write: {a.txt: x}}\n"
RED = {".podium/roles/hasty.yaml": 'extends: implementer\ngates: [{name: red, command: "false"}]\n'}
"""A role whose work never passes."""


@pytest.mark.req("R135")
def test_the_step_timeout_of_limits_ends_a_command(tmp_path: Path) -> None:
    flow = 'workflow:\n  steps:\n    test: {gate_type: orchestrator, command: "sleep 60"}\n'
    with supervised(tmp_path, {FLOW: flow, CONFIG: "limits: {step_timeout_seconds: 1}\n"}) as project:
        done = run(project)
        assert (done.code, outcomes(done)["test"]) == (124, "timeout"), done.err


@pytest.mark.req("R135")
@pytest.mark.parametrize(("retries", "tries"), [(0, 1), (2, 3)])
def test_step_max_retries_counts_the_attempts_after_the_first(
    tmp_path: Path, retries: int, tries: int
) -> None:
    config = f"limits: {{step_max_retries: {retries}, retry_base_delay_seconds: 0}}\n"
    flow = WORK.replace("implementer", "hasty")
    with supervised(tmp_path, {FLOW: flow, CONFIG: config, **RED}, WRITES) as project:
        done = run(project, "--no-human")
        assert done.code == 1, done.err
        assert len(attempts(project, "implement")) == tries


@pytest.mark.req("R135")
def test_a_gate_sends_work_back_as_often_as_step_max_retries_allows(tmp_path: Path) -> None:
    flow = """\
workflow:
  steps:
    implement: {role: implementer, next: test}
    test: {gate_type: orchestrator, command: "false", on_fail: implement}
"""
    cast = "".join(
        f"- {{match: {{step: implement, visit: {n}}}, write: {{a.txt: '{n}'}}, text: '{n}'}}\n"
        for n in (1, 2, 3)
    )
    files = {FLOW: flow, CONFIG: "limits: {step_max_retries: 1}\n"}
    with supervised(tmp_path, files, cast) as project:
        done = run(project)
        assert done.code == 6, done.err
        assert [path for path in outcomes(done) if "test" in path] == ["test", "test~2"]
        assert "visits" in done.out


@pytest.mark.req("R135", "R136")
def test_no_prompt_gets_more_files_than_max_token_budget_allows(tmp_path: Path) -> None:
    role = "extends: implementer\ncontext: {always_include: [README.md], include: [big.txt], token_budget: 40000}\n"
    files = {
        FLOW: WORK.replace("implementer", "reader"),
        ".podium/roles/reader.yaml": role,
        CONFIG: "limits: {default_token_budget: 900, max_token_budget: 1000}\n",
        "README.md": "Hello.\n",
        "big.txt": "word\n" * 4000,
    }
    cast = "- {match: {step: implement}, write: {a.txt: x}}\n"
    with supervised(tmp_path, files, cast) as project:
        done = run(project)
        assert done.code == 0, done.err
        folder = project.root / ".podium/runs" / project.run_id() / "agent_logs/implement/1"
        prompt = (folder / "prompt.md").read_text("utf-8")
        assert prompt.count("word") < 1000


POLICIES = """\
policies:
  default: {max_attempts: 1, initial_delay_seconds: 0}
  aggressive: {max_attempts: 4, initial_delay_seconds: 0}
  conservative: {max_attempts: 2, initial_delay_seconds: 0}
steps:
  plan: {retry_policy: conservative}
  implement: {retry_policy: aggressive}
"""


@pytest.mark.req("R138")
@pytest.mark.parametrize(
    ("step", "own", "tries"),
    [("plan", "", 2), ("implement", "", 4), ("implement", ", max_retries: 2", 3), ("other", "", 1)],
)
def test_a_retry_policy_is_assigned_to_a_step_by_its_name(
    tmp_path: Path, step: str, own: str, tries: int
) -> None:
    """A step that states its own number keeps it."""
    flow = f"workflow:\n  steps:\n    {step}: {{role: hasty, terminal: true{own}}}\n"
    with supervised(tmp_path, {FLOW: flow, CONFIG: POLICIES, **RED}, WRITES) as project:
        done = run(project, "--no-human")
        assert done.code == 1, done.err
        assert len(attempts(project, step)) == tries


def test_an_assigned_policy_that_does_not_exist_is_reported_with_its_line(tmp_path: Path) -> None:
    config = POLICIES.replace("implement: {retry_policy: aggressive}", "implement: {retry_policy: agressive}")
    with supervised(tmp_path, {FLOW: WORK, CONFIG: config}) as project:
        done = project.podium("validate", FLOW)
        assert done.code == 2
        assert '.podium/config.yaml:7:29: retry preset "agressive" does not exist' in done.out + done.err
