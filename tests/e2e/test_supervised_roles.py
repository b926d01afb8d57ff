"""Roles of the supervisor format: their templates and flags, and steps that must stay or ask a person."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.supervised import CONFIG, FLOW, LAND, outcomes, run, supervised

pytestmark = pytest.mark.slow

WORK = "workflow:\n  steps:\n    implement: {role: trader, next: commit}\n" + LAND
CAST = "- {match: {step: implement}, write: {a.txt: hello}}\n"
ROLE = ".podium/roles/trader.yaml"


@pytest.mark.req("R074")
def test_the_template_of_a_role_is_the_prompt_of_its_steps(tmp_path: Path) -> None:
    files = {
        FLOW: WORK,
        ROLE: "extends: implementer\ntemplate: trade.j2\nsystem_prompt_additions: Mind the limits.\n",
        "prompts/trade.j2": "Trade carefully: {{ inputs.task }}!\n",
    }
    with supervised(tmp_path, files, CAST) as project:
        done = run(project)
        assert done.code == 0, done.err
        folder = project.root / ".podium/runs" / project.run_id() / "agent_logs/implement/1"
        prompt = (folder / "prompt.md").read_text("utf-8")
        assert "Trade carefully: Add a greeting!" in prompt


@pytest.mark.req("R074")
def test_the_model_in_the_flags_of_a_role_is_used_and_the_usual_flags_need_no_other_form(
    tmp_path: Path,
) -> None:
    flags = 'flags: ["-p", "--output-format", "json", "--model", "opus"]\n'
    with supervised(
        tmp_path, {FLOW: WORK, ROLE: f"extends: implementer\ncli: claude\n{flags}"}, CAST
    ) as project:
        checked = project.podium("validate", FLOW)
        assert (checked.code, checked.out.count("flags")) == (0, 0), checked.out
        shown = project.podium("roles", "show", "trader")
        assert "model: opus" in shown.out


@pytest.mark.req("R074")
def test_a_flag_that_only_the_user_may_set_is_refused_with_its_line(tmp_path: Path) -> None:
    role = 'extends: implementer\ncli: claude\nflags: ["-p", "--add-dir", "/tmp"]\n'
    with supervised(tmp_path, {FLOW: WORK, ROLE: role}, CAST) as project:
        done = project.podium("validate", FLOW)
        assert done.code == 2
        assert f'{ROLE}:3:15: a role cannot have the flag "--add-dir"' in done.out
        assert "agents: {NAME" in done.out


def test_a_required_step_cannot_be_disabled(tmp_path: Path) -> None:
    base = "name: _base\nsteps:\n  plan: {role: planner, required: true, next: commit}\n  commit: {type: orchestrator_gate, command: git commit}\n"
    flow = "name: mine\nextends: _base\nsettings: {require_tests: false}\ndisable: [plan]\n"
    with supervised(tmp_path, {"_base.yaml": base, FLOW: flow}) as project:
        done = project.podium("validate", FLOW)
        assert (done.code, '"plan" is required' in done.out) == (2, True), done.out


def test_on_failure_ask_human_asks_after_the_last_attempt(tmp_path: Path) -> None:
    flow = """\
workflow:
  steps:
    implement:
      role: trader
      retry_policy: {max_attempts: 2, on_failure: ask_human}
      on_fail: other
      next: other
    other: {role: planner, terminal: true}
"""
    role = 'extends: implementer\ngates: [{name: red, command: "false"}]\n'
    with supervised(tmp_path, {FLOW: flow, ROLE: role}, CAST) as project:
        done = run(project)
        assert (done.code, list(outcomes(done))[-1]) == (6, "implement#2/!exhausted"), done.out
        accepted = project.podium("approve", "--action", "fail", "--json")
        assert outcomes(accepted)["other"] == "passed", accepted.out


SCOPED = """workflow:
  steps:
    plan: {role: planner, outputs: [file_targets], next: implement}
    implement: {role: house_dev, next: commitSCOPE}
"""
SHOP = {
    "shop/pay.py": "from shop.rates import rate\n\n\ndef pay() -> int:\n    return rate()\n",
    "shop/rates.py": "def rate() -> int:\n    return 19\n",
    "docs/shop.md": "How the shop works.\n",
    ".podium/roles/house_dev.yaml": "extends: implementer\ncontext: {include: [docs/shop.md]}\n",
}


@pytest.mark.req("R074", "R084")
@pytest.mark.parametrize("is_scoped", [False, True])
def test_a_worker_within_its_component_is_shown_the_files_of_the_component_only(
    tmp_path: Path, is_scoped: bool
) -> None:
    flow = SCOPED.replace("SCOPE", ", context_scope: component_only" if is_scoped else "") + LAND
    cast = f"- {{match: {{step: plan}}, output: {{title: T, file_targets: [shop/pay.py]}}}}\n{CAST}"
    with supervised(tmp_path, {FLOW: flow, **SHOP}, cast) as project:
        done = run(project)
        assert done.code == 0, done.err
        folder = project.root / ".podium/runs" / project.run_id() / "agent_logs/implement/1"
        prompt = (folder / "prompt.md").read_text("utf-8")
        assert ("def pay()" in prompt, "How the shop works." in prompt) == (is_scoped, not is_scoped)


def test_an_unknown_scope_of_context_is_a_mistake(tmp_path: Path) -> None:
    flow = WORK.replace("role: trader", "role: implementer, context_scope: component")
    with supervised(tmp_path, {FLOW: flow}, CAST) as project:
        done = project.podium("validate", FLOW)
        assert (done.code, '"component" is not a context_scope' in done.out) == (2, True), done.out
        assert 'did you mean "component_only"?' in done.out


@pytest.mark.req("R074")
def test_a_role_of_the_configuration_and_of_a_folder_are_one(tmp_path: Path) -> None:
    config = "roles:\n  trader: {extends: implementer, cli: claude, template: trade.j2}\n"
    files = {FLOW: WORK, CONFIG: config, "prompts/trade.j2": "From the configuration.\n"}
    with supervised(tmp_path, files, CAST) as project:
        assert run(project).code == 0
        folder = project.root / ".podium/runs" / project.run_id() / "agent_logs/implement/1"
        assert "From the configuration." in (folder / "prompt.md").read_text("utf-8")
