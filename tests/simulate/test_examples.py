"""Every example of the language runs in the simulator to the end that its text describes."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from podium.app.author.load import open_workflow
from podium.app.forecast.simulate import rehearse
from podium.views.run.trace import Trace

EXAMPLES = Path(__file__).parents[1] / "workflow" / "examples"
CASTS = Path(__file__).parent / "casts"

# example, cast ("" = every step passes), status, exit code, part of the path through the top block
CASES: list[tuple[str, str, str, int, str]] = [
    ("ship_change", "", "passed", 0, "plan > implement > review > approve > land"),
    (
        "ship_change",
        "- {match: {step: approve, visit: 1}, action: reject, text: rename it}",
        "passed",
        0,
        "approve:rejected > implement~2 > review~2 > approve~2 > land",
    ),
    ("ship_change", "- {match: {step: approve}, action: abort}", "rejected", 4, "approve:aborted"),
    ("post", "", "passed", 0, "draft > draft_check > cross_audit > audit_check > synthesize > synth_check"),
    (
        "post",
        "- {match: {step: draft/codex}, error: timeout}\n- {match: {step: approve, visit: 1}, action: reject}",
        "passed",
        0,
        "draft:partial > draft_check",
    ),
    ("post", "- {match: {step: gate_lenient}, verdict: abort}", "failed", 1, "draft_check:aborted"),
    (
        "post",
        (
            "- {match: {step: draft}, error: refused}\n- {match: {step: draft/claude}, error: refused}\n"
            "- {match: {step: draft/gemini}, error: refused}\n- {match: {step: draft/codex}, error: refused}"
        ),
        "failed",
        1,
        "draft:failed",
    ),
    ("demo", "", "passed", 0, "prep > analyze > report"),
    ("demo", "- {match: {step: prep}, exit: 3}", "failed", 1, "prep:failed"),
    (
        "loops",
        "files: {queue/next.txt: job}\nrules:\n- {match: {step: poll_queue}, delete: [queue/next.txt]}",
        "passed",
        0,
        "process > remember > build:skipped > publish",
    ),
    (
        "loops",
        "- {match: {step: process/work, iteration: 2}, exit: 1}",
        "passed",
        0,
        "process:partial > remember",
    ),
    ("team", "", "passed", 0, "deliver"),
    ("deliver", "", "passed", 0, "deliver"),
    ("search_index", "", "passed", 0, "write_tests > implement > land"),
    (
        "search_index",
        (
            "- {match: {step: write_tests/review_tests/reviewer}, verdict: reject}\n"
            "- {match: {step: '!exhausted'}, action: fail}"
        ),
        "failed",
        1,
        "write_tests:failed",
    ),
    ("experiments", "", "passed", 0, "plan > other_task > tests > review_tests"),
    (
        "experiments",
        "- {match: {step: review_tests/reviewer, visit: 1}, verdict: approve}",
        "passed",
        0,
        "plan > other_task > tests > review_tests",
    ),
    ("change", "", "passed", 0, "plan > plan_review > implement > test > review > ci > commit"),
    (
        "change",
        "- {match: {step: test, visit: 1}, exit: 1}",
        "passed",
        0,
        "test:failed > implement~2 > test~2 > review > ci > commit",
    ),
    ("trading", "", "passed", 0, "risk_validation"),
    ("feature", "feature", "passed", 0, "plan > feature > land"),
    ("build", "", "passed", 0, "feature"),
    ("monorepo", "", "passed", 0, "packages"),
    ("slogan", "", "passed", 0, "slogan"),
    (
        "slogan",
        "- {match: {step: slogan/review/slogan_reviewer}, verdict: reject}",
        "passed",
        0,
        "slogan",
    ),
    ("fix_ci", "", "passed", 0, "checks > fix > push > ci"),
    (
        "fix_ci",
        "- {match: {step: ci, visit: 1}, outcome: failed}",
        "passed",
        0,
        "ci:failed > checks~2 > fix~2 > push~2 > ci~2",
    ),
    ("pathlib", "pathlib", "passed", 0, "find > migrate > approve > land"),
    ("nightly_deps", "", "passed", 0, "outdated > anything:failed"),
    ("nightly_deps", "nightly_deps", "passed", 0, "outdated > anything > update > approve > land"),
    ("policies", "", "passed", 0, ""),
    ("breaker", "", "passed", 0, ""),
    ("mvp", "", "passed", 0, "plan > implement > quick_review > commit"),
    (
        "enterprise",
        "",
        "passed",
        0,
        (
            "plan > plan_review > interface_definition > implement > unit_test_gate > integration_tests > "
            "integration_test_gate > security_review > code_review > ci_gate > commit"
        ),
    ),
    ("security_critical", "", "passed", 0, "plan > plan_review > threat_modeling > interface_definition"),
    ("open_source", "", "passed", 0, "docs_check > branch > create_pr > await_review"),
    ("base", "", "passed", 0, "plan > implement > commit"),
]


def project(folder: Path) -> Path:
    """The examples as one project, with a text for every prompt they name."""
    shutil.copytree(EXAMPLES / "workflows", folder / "workflows")
    shutil.copytree(EXAMPLES / "features", folder / "features")
    shutil.copytree(EXAMPLES / "templates", folder / ".podium" / "templates")
    shutil.copy(EXAMPLES / "config.yaml", folder / ".podium" / "config.yaml")
    for path in folder.rglob("*.yaml"):
        for name in re.findall(r"\bprompts/\w+\.md", path.read_text()):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text("Do it well.\n")
    return folder


def simulate_example(folder: Path, name: str, cast: str) -> Trace:
    root = project(folder)
    files = [*root.glob(f"workflows/{name}.yaml"), *root.glob(f".podium/templates/{name}.yaml")]
    script = root / "cast.yaml"
    script.write_text((CASTS / f"{cast}.yaml").read_text() if cast.isidentifier() else cast or "[]")
    return rehearse(open_workflow(files[0]), script, inputs={}).run


def path_of(run: Trace) -> str:
    top = [s for s in run.steps if s.role == "step" and "/" not in s.path and "[" not in s.path]
    return " > ".join(s.path if s.outcome == "passed" else f"{s.path}:{s.outcome}" for s in top)


@pytest.mark.parametrize(("name", "cast", "status", "code", "through"), CASES)
def test_an_example_runs_to_the_end_its_text_describes(
    tmp_path: Path, name: str, cast: str, status: str, code: int, through: str
) -> None:
    """R242 R243 R244 R245 R241"""
    run = simulate_example(tmp_path, name, cast)

    assert (run.status, run.exit) == (status, code), [
        (s.path, s.outcome, s.reason, s.message) for s in run.steps
    ]
    assert through in path_of(run)


def test_every_example_is_simulated(tmp_path: Path) -> None:
    names = {
        path.stem for folder in ("workflows", "templates") for path in (EXAMPLES / folder).glob("*.yaml")
    }

    assert names == {name for name, *_ in CASES}


def test_the_last_slogan_is_kept_and_marked_if_none_is_approved(tmp_path: Path) -> None:
    """R103: after the last turn the result is kept and marked as not approved."""
    run = simulate_example(
        tmp_path, "slogan", "- {match: {step: slogan/review/slogan_reviewer}, verdict: reject}"
    )

    slogan = next(step for step in run.steps if step.path == "slogan")
    assert (slogan.outcome, slogan.reason, slogan.attempts) == ("passed", "exhausted", 5)
