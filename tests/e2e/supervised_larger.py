"""Larger files of the supervisor format, for `test_supervised_files`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

END = "commit: {gate_type: orchestrator, command: git commit, terminal: true}"
MAKE = {"Makefile": "test lint type-check build docs e2e:\n\t@test ! -f broken\n"}


@dataclass(frozen=True)
class Sample:
    text: str
    steps: str
    """The steps in the order in which they end, with an outcome where it is not `passed`."""
    cast: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    code: int = 0
    lands: tuple[str, ...] = ()
    """Files that are on main afterwards."""
    answers: tuple[str, ...] = ()
    """Commands of a person, one for each question."""


def workflow(*steps: str, first: str = "") -> str:
    start = f"  initial_step: {first}\n" if first else ""
    return f"workflow:\n{start}  steps:\n" + "".join(f"    {step}\n" for step in steps)


def writes(step: str, file: str, text: str = "x", visit: int | None = None) -> str:
    number = "" if visit is None else f", visit: {visit}"
    return f"- {{match: {{step: {step}{number}}}, write: {{{file}: '{text}'}}, text: '{text}'}}\n"


def rejects(step: str, visit: int) -> str:
    findings = "[{severity: major, issue: No test.}]"
    return f"- {{match: {{step: {step}, visit: {visit}}}, verdict: {{decision: reject, findings: {findings}}}}}\n"


def visits(step: str, file: str, *texts: str) -> str:
    return "".join(writes(step, file, text, number) for number, text in enumerate(texts, start=1))


LARGER = {
    "a release with three loops": Sample(
        workflow(
            "plan: {role: planner, outputs: [task_breakdown], next: plan_review}",
            'plan_review: {role: reviewer_gemini, gate: "REVIEW_STATUS: APPROVED", on_reject: plan, next: implement}',
            "implement: {role: implementer, next: unit_test_gate}",
            "unit_test_gate: {type: orchestrator_gate, command: make test, on_fail: implement, max_retries: 3, next: security_review}",
            'security_review: {role: security_auditor, gate: "SECURITY_STATUS: PASSED", on_reject: implement, next: code_review}',
            "code_review: {roles: [reviewer_gemini, reviewer_codex], parallel: true, gate: BOTH_APPROVED, on_reject: plan, next: commit}",
            END,
        ),
        "plan plan_review implement unit_test_gate:failed implement~2 unit_test_gate~2 security_review:rejected "
        "implement~3 unit_test_gate~3 security_review~2 code_review:rejected "
        "plan~2 plan_review~2 implement~4 unit_test_gate~4 security_review~3 code_review~2 commit",
        rejects("security_review/security_auditor", 1)
        + rejects("code_review/reviewer_codex", 1)
        + "- {match: {step: implement, visit: 1}, write: {broken: x}, text: one}\n"
        + "- {match: {step: implement, visit: 2}, write: {a.txt: two}, delete: [broken], text: two}\n"
        + "- {match: {step: implement, visit: 3}, write: {a.txt: three}, text: three}\n"
        + "- {match: {step: implement, visit: 4}, write: {a.txt: four}, text: four}\n"
        + "- {match: {step: plan, visit: 2}, output: {title: T, task_breakdown: better}}\n"
        + "- {match: {step: plan}, output: {title: T, task_breakdown: first}}\n",
        MAKE, lands=("a.txt",),
    ),
    "names of another style": Sample(
        workflow("Write-Code: {role: implementer, next: Run-Tests}",
                 "Run-Tests: {type: orchestrator_gate, command: make test, on_fail: Write-Code, max_retries: 2, next: Ship-It}",
                 "Ship-It: {type: orchestrator_gate, command: git commit, terminal: true}"),
        "write_code run_tests:failed write_code~2 run_tests~2 ship_it",
        "- {match: {step: write_code, visit: 1}, write: {broken: x}, text: one}\n"
        "- {match: {step: write_code, visit: 2}, write: {a.txt: x}, delete: [broken], text: two}\n",
        MAKE, lands=("a.txt",),
    ),
    "one of three reviewers rejects": Sample(
        workflow("implement: {role: implementer, next: panel}",
                 "panel: {roles: [reviewer_gemini, reviewer_codex, security_auditor], gate: ALL_APPROVED, on_reject: implement, next: commit}", END),
        "implement panel:rejected implement~2 panel~2 commit",
        rejects("panel/security_auditor", 1) + visits("implement", "a.txt", "one", "two"), lands=("a.txt",),
    ),
    "retries of a gate are used up": Sample(
        workflow("implement: {role: implementer, next: check}",
                 "check: {type: orchestrator_gate, command: make test, on_fail: implement, max_retries: 1, next: commit}", END),
        "implement check:failed implement~2 check~2:failed implement~3",
        "- {match: {step: implement, visit: 1}, write: {broken: x}, text: one}\n- {match: {step: implement, visit: 2}, write: {a.txt: x}, text: two}\n",
        MAKE, code=6,
    ),
    "a shell command in one line": Sample(
        workflow("implement: {role: implementer, next: check}",
                 'check: {type: orchestrator_gate, command: "test -f a.txt && grep -q good a.txt", on_fail: implement, max_retries: 2, next: commit}', END),
        "implement check:failed implement~2 check~2 commit",
        visits("implement", "a.txt", "bad", "good"), lands=("a.txt",),
    ),
    "a person sends the plan back": Sample(
        workflow("plan: {role: planner, outputs: [summary], next: agree}",
                 'agree: {type: human_gate, description: "Right plan?", on_reject: plan, next: implement}',
                 "implement: {role: implementer, next: release}",
                 'release: {type: human_gate, description: "Release?", on_reject: plan, next: commit}', END),
        "plan agree:rejected plan~2 agree~2 implement release:rejected plan~3 agree~3 implement~2 release~2 commit",
        visits("implement", "a.txt", "one", "two")
        + "".join(f"- {{match: {{step: plan, visit: {number}}}, output: {{title: T, summary: plan {number}}}}}\n" for number in (1, 2, 3)),
        answers=("reject", "approve", "reject", "approve", "approve"), lands=("a.txt",),
    ),
    "work that a person approves": Sample(
        workflow("implement: {role: implementer, human_approval: true, next: commit}", END),
        "implement commit", "- {match: {step: implement, attempt: 1}, write: {a.txt: one}, text: one}\n"
        "- {match: {step: implement, attempt: 2}, write: {a.txt: two}, text: two}\n",
        answers=("reject", "approve"), lands=("a.txt",),
    ),
    "a failure goes another way and comes back": Sample(
        workflow("implement: {role: implementer, next: check}",
                 "check: {type: orchestrator_gate, command: make test, on_fail: repair, next: commit}",
                 END, "repair: {role: investigator, next: again}",
                 "again: {role: implementer_fast, next: check}"),
        "implement check:failed repair again check~2 commit",
        writes("implement", "broken") + "- {match: {step: again}, write: {a.txt: x}, delete: [broken], text: x}\n",
        MAKE, lands=("a.txt",),
    ),
    "checks of a template around a change": Sample(
        "name: careful\nextends: house\ndisable: [docs]\nsteps:\n"
        "  implement: {role: implementer_fast}\n"
        "  types: {type: orchestrator_gate, command: make type-check, position: after implement, on_fail: implement}\n"
        "  sign_off: {type: human_gate, description: Ship, position: before commit, on_reject: implement}\n",
        "implement types check sign_off:rejected implement~2 types~2 check~2 sign_off~2 commit",
        visits("implement", "a.txt", "one", "two"),
        {**MAKE, "house.yaml": "name: house\nsteps:\n  implement: {role: implementer, next: check}\n"
         "  check: {type: orchestrator_gate, command: make lint, next: docs}\n"
         '  docs: {type: orchestrator_gate, command: "false", next: commit}\n'
         "  commit: {type: orchestrator_gate, command: git commit}\n"},
        answers=("reject", "approve"), lands=("a.txt",),
    ),
    "a quality pipeline of domain roles": Sample(
        workflow("design: {role: etl_architect, outputs: [design_notes], next: build_it}",
                 "build_it: {role: etl_dev, next: schema}",
                 "schema: {role: schema_guard, on_reject: build_it, next: infra}",
                 "infra: {role: infra_reviewer, on_reject: design, next: commit}", END),
        "design build_it schema:rejected build_it~2 schema~2 infra:rejected design~2 build_it~3 schema~3 infra~2 commit",
        visits("build_it", "dags/a.py", "one", "two", "three") + rejects("schema/schema_guard", 1) + rejects("infra/infra_reviewer", 1)
        + "".join(f"- {{match: {{step: design, visit: {n}}}, output: {{design_notes: n{n}}}}}\n" for n in (1, 2)),
        {".podium/roles/etl_architect.yaml": "extends: planner\ncontext: {always_include: [README.md]}\n", "README.md": "ETL\n",
         ".podium/roles/etl_dev.yaml": "extends: implementer\n",
         ".podium/roles/schema_guard.yaml": "extends: reviewer\nsystem_prompt_additions: Validate schemas.\n",
         ".podium/roles/infra_reviewer.yaml": "extends: reviewer\nsystem_prompt_additions: Check limits.\n"},
        lands=("dags/a.py",),
    ),
}  # fmt: skip
