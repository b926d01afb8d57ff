"""Files of the supervisor format as their users write them: each runs as its words say, and so does its native form."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import Ended, Project
from tests.e2e.supervised import CONFIG, FLOW, run, supervised
from tests.e2e.supervised_larger import END, LARGER, MAKE, Sample, rejects, workflow, writes
from tests.e2e.supervised_projects import PROJECTS

pytestmark = pytest.mark.slow

SAMPLES = {
    "hotfix": Sample(
        workflow("patch: {role: implementer_fast, next: verify}",
                 "verify: {gate_type: orchestrator, command: make test, next: commit}", END),
        "patch verify commit", writes("patch", "fix.txt"), MAKE, lands=("fix.txt",),
    ),
    "steps in another order than they run": Sample(
        workflow(END, "verify: {type: orchestrator_gate, command: make lint, next: commit}",
                 "draft: {role: planner, next: build_it}", "build_it: {role: implementer, next: verify}", first="draft"),
        "draft build_it verify commit", writes("build_it", "a.txt"), MAKE, lands=("a.txt",),
    ),
    "a rejected plan is planned again": Sample(
        workflow("plan: {role: planner, outputs: [task_breakdown, file_targets], next: plan_review}",
                 'plan_review: {role: reviewer_gemini, gate: "REVIEW_STATUS: APPROVED", on_reject: plan, next: code}',
                 "code: {role: implementer, terminal: true}"),
        "plan plan_review:rejected plan~2 plan_review~2 code",
        rejects("plan_review/reviewer_gemini", 1) + writes("code", "a.txt")
        + '- {match: {step: plan, visit: 2}, output: {title: T, task_breakdown: better, file_targets: [a.txt]}}\n'
        + '- {match: {step: plan}, output: {title: T, task_breakdown: first, file_targets: [a.txt]}}\n',
    ),
    "a red test sends the work back": Sample(
        workflow("code: {role: implementer, next: test}",
                 "test: {gate_type: orchestrator, command: make test, on_fail: code, max_retries: 3, next: commit}", END),
        "code test:failed code~2 test~2 commit",
        "- {match: {step: code, visit: 1}, write: {broken: x}, text: one}\n"
        "- {match: {step: code, visit: 2}, write: {a.txt: x}, delete: [broken], text: two}\n",
        MAKE, lands=("a.txt",),
    ),
    "two loops around one implementer": Sample(
        workflow("code: {role: implementer, next: test}",
                 "test: {gate_type: orchestrator, command: make test, on_fail: code, next: review}",
                 "review: {roles: [reviewer_gemini, reviewer_codex], parallel: true, gate: BOTH_APPROVED, on_reject: code, next: commit}",
                 END),
        "code test:failed code~2 test~2 review:rejected code~3 test~3 review~2 commit",
        "- {match: {step: code, visit: 1}, write: {broken: x}, text: one}\n"
        "- {match: {step: code, visit: 2}, write: {a.txt: x}, delete: [broken], text: two}\n"
        + writes("code", "a.txt", "three", 3) + rejects("review/reviewer_codex", 1),
        MAKE, lands=("a.txt",),
    ),
    "a failure leads to another branch": Sample(
        workflow("build: {gate_type: orchestrator, command: make missing, on_fail: explain, next: ship}",
                 "ship: {role: implementer, terminal: true}", "explain: {role: investigator, terminal: true}"),
        "build:failed explain", "", MAKE,
    ),
    "a person between two steps": Sample(
        workflow("code: {role: implementer, next: gate}",
                 'gate: {type: human_gate, description: "Good to go?", on_reject: code, next: commit}', END),
        "code gate:rejected code~2 gate~2 commit",
        writes("code", "a.txt", "one", 1) + writes("code", "a.txt", "two", 2),
        answers=("reject", "approve"), lands=("a.txt",),
    ),
    "a person before the commit": Sample(
        workflow("code: {role: implementer, next: commit}",
                 "commit: {gate_type: orchestrator, command: git commit, human_approval: true, terminal: true}"),
        "code commit_approval commit", writes("code", "a.txt"), answers=("approve",), lands=("a.txt",),
    ),
    "a domain role that judges": Sample(
        workflow("code: {role: quant_dev, next: risk}", "risk: {role: risk_manager, on_reject: code, next: commit}", END),
        "code risk:rejected code~2 risk~2 commit",
        writes("code", "a.txt", "one", 1) + writes("code", "a.txt", "two", 2) + rejects("risk/risk_manager", 1),
        {".podium/roles/quant_dev.yaml": "extends: implementer\nsystem_prompt_additions: Vectorize.\n",
         ".podium/roles/risk_manager.yaml": "extends: reviewer\nsystem_prompt_additions: Find risks.\n"},
        lands=("a.txt",),
    ),
    "a gate of a role that blocks": Sample(
        workflow("code: {role: trader, next: commit}", END),
        "code:failed", writes("code", "broken"),
        {**MAKE, ".podium/roles/trader.yaml": "extends: implementer\ngates: [{name: risk, command: make test, on_fail: block}]\n"},
        code=1,
    ),
    "tests by another role": Sample(
        workflow("code: {role: implementer, next: unit}",
                 "unit: {type: orchestrator_gate, command: make test, next: more}",
                 "more: {role: test_engineer, config: {test_types: [integration]}, next: e2e}",
                 "e2e: {type: orchestrator_gate, command: make e2e, on_fail: code, next: commit}", END),
        "code unit more e2e commit", writes("code", "a.txt") + writes("more", "tests/test_a.py"), MAKE,
        lands=("a.txt", "tests/test_a.py"),
    ),
    "a script of several lines": Sample(
        'workflow:\n  steps:\n    code: {role: implementer, next: note}\n    note:\n      type: orchestrator_gate\n'
        '      command: |\n        set -e\n        test -f a.txt\n        echo "${PR_TITLE}"\n      terminal: true\n',
        "code note", writes("code", "a.txt"),
    ),
    "a template with hooks": Sample(
        "name: house\nsteps:\n  code: {role: implementer, next: commit}\n"
        "  commit: {type: orchestrator_gate, command: git commit}\nhooks: {pre_commit: [lint, type_check]}\n",
        "code commit", writes("code", "a.txt"), MAKE, lands=("a.txt",),
    ),
    "a template that extends another": Sample(
        "name: careful\nextends: house\nsteps:\n  second_look: {role: reviewer_codex, position: after code, on_reject: code}\n",
        "code second_look commit", writes("code", "a.txt"),
        {"house.yaml": "podium: 1\nname: house\ninputs: {task: string}\nsteps:\n  code: {role: implementer, prompt: Go.}\n"
                       '  commit: {git: {land: "${{ run.branch }}", message: m}}\n'},
        lands=("a.txt",),
    ),
    "a composition that disables a step": Sample(
        "workflow:\n  template: house\n  overrides:\n    code: {role: implementer_fast}\n  disable: [check]\n",
        "code commit", writes("code", "a.txt"),
        {"house.yaml": "name: house\nsteps:\n  code: {role: implementer, next: check}\n"
                       '  check: {type: orchestrator_gate, command: "false", next: commit}\n'
                       "  commit: {type: orchestrator_gate, command: git commit}\n"},
        lands=("a.txt",),
    ),
    "several projects": Sample(
        "projects:\n  - {name: web, path: ./web, roles: [implementer]}\n  - {name: types, path: ./types, roles: [implementer]}\n"
        "cross_project_dependencies: {web: {depends_on: [types]}}\n",
        "packages",
        "- {match: {prompt: project types}, write: {types/t.ts: x}}\n- {match: {prompt: project web}, write: {web/w.ts: x}}\n",
        {"web/README.md": "web", "types/README.md": "types"},
    ),
    "a small change of low risk": Sample(
        workflow("code: {role: implementer, next: commit}", END),
        "code commit", writes("code", "a.txt"),
        {CONFIG: "limits: {step_timeout_seconds: 60, step_max_retries: 2, workflow_max_steps: 20}\n"
                 "policies: {default: {max_attempts: 2, initial_delay_seconds: 1}}\n"
                 "approval_gates: {low: {conditions: [file_count < 3], action: auto_approve}}\n"},
        lands=("a.txt",),
    ),
}  # fmt: skip


def steps_of(done: Ended) -> str:
    """The steps of the top block in the order in which they ended."""
    ended = [step for step in done.data()["steps"] if step["status"] == "ended"]
    top = [step for step in ended if not set("/#[") & set(step["path"])]
    top.sort(key=lambda step: step["ended_at"])
    return " ".join(
        step["path"] + ("" if step["outcome"] == "passed" else f":{step['outcome']}") for step in top
    )


def play(project: Project, sample: Sample, file: str) -> tuple[int, str]:
    done = run(project, file=file)
    for answer in sample.answers:
        assert done.code == 6, done.err
        done = project.podium(answer, "--json")
    assert done.out, done.err
    return done.code, steps_of(done)


@pytest.mark.req("R239", "R031", "C3")
@pytest.mark.parametrize("name", sorted({**SAMPLES, **LARGER, **PROJECTS}))
def test_a_file_of_the_format_and_its_native_form_run_as_written(tmp_path: Path, name: str) -> None:
    sample = {**SAMPLES, **LARGER, **PROJECTS}[name]
    cast = sample.cast or "[]\n"
    with supervised(tmp_path / "own", {**sample.files, FLOW: sample.text}, cast) as project:
        own = play(project, sample, FLOW)
        assert own == (sample.code, sample.steps)
        landed = project.git("ls-tree", "-r", "--name-only", "main").split()
        assert set(sample.lands) <= set(landed)
    with supervised(tmp_path / "native", {**sample.files, FLOW: sample.text}, cast) as project:
        converted = project.podium("convert", FLOW)
        assert converted.code == 0, converted.err
        project.commit({"native.yaml": converted.out})
        assert play(project, sample, "native.yaml") == own
        again = project.git("ls-tree", "-r", "--name-only", "main").split()
        assert set(again) - {"native.yaml"} == set(landed)
