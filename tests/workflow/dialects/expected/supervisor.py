"""The workflows and templates of the supervisor format."""

from __future__ import annotations

from tests.workflow.dialects.expected.kinds import Blocks, Expectation, Key, Runs

TESTED: Key = ("S3", "Workflow with Test Engineering", 1)
BASE: Key = ("S3", "Template System Design", 1)
MVP: Key = ("S3", "MVP Template (Startup/Prototype)", 1)
ENTERPRISE: Key = ("S3", "Enterprise Template (Full Gates)", 1)
OPEN: Key = ("S3", "Open Source Template", 1)
CRITICAL: Key = ("S3", "Security-Critical Template", 1)
COMPOSED: Key = ("S3", "Template Composition", 1)
MACHINE: Key = ("S3", "Workflow State Machine", 1)
PROJECTS: Key = ("S3", "1. Multi-Project Orchestration", 1)

TARGETS = ("test", "test-unit", "test-integration", "ci-full", "ci-local", "lint", "type-check", "docs-check")
MAKEFILE = {
    "Makefile": "".join(f".PHONY: {name}\n{name}:\n\t@true\n" for name in TARGETS),
    "pytest": '#!/bin/sh\necho \'<testsuite><testcase name="a"/></testsuite>\' > "${PYTEST_ADDOPTS##*--junitxml=}"\n',
    "gh": '#!/bin/sh\ntest -n "$5" && echo https://example.org/pr/1\n',
}
PROVEN = {
    **MAKEFILE,
    "Makefile": MAKEFILE["Makefile"]
    + "".join(f"{name}: proof\n" for name in ("test", "test-unit"))
    + "proof:\n\t@test -f greeting.txt\n\t@echo '<coverage line-rate=\"0.97\"/>' > coverage.xml\n",
    "pytest": "#!/bin/sh\ntest -f greeting.txt || exit 1\necho '<coverage line-rate=\"0.97\"/>' > coverage.xml\n"
    'echo \'<testsuite><testcase name="a"/></testsuite>\' > "${PYTEST_ADDOPTS##*--junitxml=}"\n',
}
"""Tests that need what the implementer writes, and measure their coverage."""
WRITES = "- match: {step: implement}\n  write: {greeting.txt: hello, tests/test_greeting.py: x, CHANGELOG.md: new}\n"
TASK = {"task": "Add a greeting."}
FULL = (
    "plan",
    "plan_review",
    "interface_definition",
    "implement",
    "unit_test_gate",
    "integration_tests",
    "integration_test_gate",
    "security_review",
    "code_review",
    "ci_gate",
    "commit_approval",
    "commit",
)


def _tested(blocks: Blocks) -> str:
    """The block with the planning, review and commit steps that it omits."""
    plan = "    plan: {role: planner, next: implement}\n"
    rest = (
        '    review: {role: reviewer, gate: "REVIEW_STATUS: APPROVED", on_reject: implement, next: commit}\n'
        '    commit: {gate_type: orchestrator, command: "git commit", terminal: true}\n'
    )
    text = blocks[TESTED].replace("    # ... planning steps ...\n", plan)
    return text.replace("    # ... review and commit steps ...\n", rest)


EXPECTATIONS: tuple[Expectation, ...] = (
    Runs(
        key=MACHINE,
        text=lambda blocks: blocks[MACHINE],
        files=MAKEFILE,
        inputs=TASK,
        cast="- {match: {step: review/reviewer_codex, visit: 1}, verdict: {decision: reject, score: 4}}\n",
        steps=(
            *("plan", "plan_review", "implement", "test", "review:rejected"),
            *("implement~2", "test~2", "review~2", "ci", "commit"),
        ),
    ),
    Runs(
        key=TESTED,
        text=_tested,
        files=PROVEN,
        inputs=TASK,
        cast=WRITES,
        steps=(
            *("plan", "implement", "unit_test_gate", "integration_tests", "integration_test_gate"),
            *("review", "commit"),
        ),
    ),
    Runs(
        key=BASE,
        text=lambda blocks: blocks[BASE],
        files=MAKEFILE,
        inputs=TASK,
        steps=("plan", "implement", "commit"),
    ),
    Runs(
        key=MVP,
        text=lambda blocks: blocks[MVP],
        files={**MAKEFILE, "_base.yaml": BASE},
        inputs=TASK,
        steps=("plan", "implement", "quick_review", "commit"),
    ),
    Runs(
        key=ENTERPRISE,
        text=lambda blocks: blocks[ENTERPRISE],
        files={**PROVEN, "_base.yaml": BASE},
        inputs=TASK,
        cast=WRITES,
        answers=("approve",) * 4,
        steps=FULL,
    ),
    Runs(
        key=OPEN,
        text=lambda blocks: blocks[OPEN],
        files={**PROVEN, "_base.yaml": BASE},
        inputs=TASK,
        cast=WRITES,
        answers=("approve",),
        steps=("plan", "implement", "test_gate", "docs_check", "create_pr", "await_review", "commit"),
    ),
    Runs(
        key=CRITICAL,
        text=lambda blocks: blocks[CRITICAL],
        files={**PROVEN, "_base.yaml": BASE, "enterprise.yaml": ENTERPRISE},
        inputs=TASK,
        cast=WRITES,
        answers=("approve",) * 5,
        steps=(*FULL[:2], "threat_modeling", *FULL[2:7], "penetration_test", *FULL[7:]),
    ),
    Runs(
        key=COMPOSED,
        text=lambda blocks: blocks[COMPOSED],
        files={
            **PROVEN,
            "_base.yaml": BASE,
            "enterprise.yaml": ENTERPRISE,
            ".podium/roles/quant_dev.yaml": ("S3", "Trading/Finance Platform", 2),
            ".podium/roles/risk_manager.yaml": ("S3", "Trading/Finance Platform", 1),
            "backtest/__init__.py": "",
            "backtest/risk_scenarios.py": "",
        },
        inputs=TASK,
        cast=WRITES,
        answers=("approve",) * 4,
        steps=(*FULL[:7], "risk_validation", *FULL[8:]),
    ),
    Runs(
        key=PROJECTS,
        text=lambda blocks: blocks[PROJECTS],
        files={
            **{f"packages/{name}/a": "" for name in ("backend", "frontend", "types")},
            **{
                f".podium/roles/{name}.yaml": "extends: implementer\n"
                for name in ("api_dev", "db_optimizer", "state_architect", "type_architect")
            },
        },
        inputs=TASK,
        steps=("packages",),
    ),
)
