"""Common patterns of workflows, run for real with scripted agents."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.kit import git, outcome, output
from tests.templates.kit import TASK, path_of, project_with, status

pytestmark = pytest.mark.slow

ALONE = {**TASK, "human_approval": False}


def text_at(root: Path, name: str) -> str:
    return git(root, "show", f"HEAD:{name}")


def test_the_review_loop_continues_until_tests_and_reviewer_pass(tmp_path: Path) -> None:
    cast = (
        "- {match: {step: write, attempt: 1}, write: {red: x}}\n"
        "- {match: {step: write, prompt: red at test}, delete: [red], write: {a.txt: draft}}\n"
        "- {match: {step: write, prompt: say please}, write: {a.txt: please}}\n"
        "- match: {step: reviewer_gemini, attempt: 2}\n"
        "  verdict: {decision: reject, score: 4, findings: [{severity: major, issue: say please}]}\n"
    )
    cast = cast.replace("reviewer_gemini, attempt: 2", "reviewer_gemini, prompt: draft")
    project, file = project_with(tmp_path, "review_loop", cast=cast)

    _, state = project.run(file, ALONE)

    assert path_of(state) == ["write", "approve:skipped", "land"]
    assert text_at(project.root, "a.txt") == "please"


@pytest.mark.req("R049", "R242")
def test_the_panel_continues_with_the_existing_drafts_and_never_names_the_missing_one(
    tmp_path: Path,
) -> None:
    cast = (
        "- {match: {step: draft/codex}, error: refused}\n"
        "- {match: {step: draft/claude}, text: The first draft.}\n"
        "- {match: {step: draft/gemini}, text: The second draft.}\n"
        "- {match: {step: synthesize, prompt: Draft 3}, text: It names one that is missing.}\n"
        "- {match: {step: synthesize, prompt: shorter}, text: The best of both.}\n"
        "- {match: {step: synthesize}, text: A long text.}\n"
        "- match: {step: quality_gate, prompt: A long text}\n"
        "  verdict: {decision: reject, score: 5, findings: [{severity: major, issue: make it shorter}]}\n"
    )
    project, file = project_with(tmp_path, "panel", cast=cast)

    run, state = project.run(file, ALONE)

    assert path_of(state) == ["draft:partial", "cross_audit", "synthesize", "approve:skipped"]
    assert output(state, "synthesize") == "The best of both."
    artifact = project.facade.paths.run_dir(run) / "artifacts/synthesize/result.md"
    assert artifact.read_text("utf-8") == "The best of both."


def test_scan_fix_verify_scans_until_nothing_is_found(tmp_path: Path) -> None:
    cast = (
        "- {match: {step: fix, prompt: '`\\nsrc/a.txt'}, write: {src/a.txt: fine, src/new.txt: BAD}}\n"
        "- {match: {step: fix, prompt: '`\\nsrc/new.txt'}, write: {src/new.txt: fine}}\n"
    )
    project, file = project_with(tmp_path, "scan_fix_verify", cast=cast, **{"src/a.txt": "BAD"})

    _, state = project.run(file, {"human_approval": False})

    assert path_of(state) == ["scan", "found", "repair", "approve:skipped", "land"]
    assert outcome(state, "repair[2]/verify") == "passed"
    assert (text_at(project.root, "src/a.txt"), text_at(project.root, "src/new.txt")) == ("fine", "fine")


def test_a_scan_that_finds_nothing_passes_at_once(tmp_path: Path) -> None:
    project, file = project_with(tmp_path, "scan_fix_verify", **{"src/a.txt": "fine"})

    _, state = project.run(file, {})

    assert (status(state), path_of(state)) == ("passed", ["scan", "found:failed"])


def test_migrate_each_file_lands_the_files_that_pass_and_leaves_the_others(tmp_path: Path) -> None:
    cast = (
        "- {match: {step: migrate, prompt: 'In src/a.txt:'}, write: {src/a.txt: new}}\n"
        "- {match: {step: migrate, prompt: 'In src/b.txt:'}, write: {src/b.txt: new}}\n"
        "- {match: {step: migrate, prompt: 'In src/c.txt:'}, write: {src/c.txt: broken}}\n"
    )
    makefile = "test:\n\t@! grep -rq broken src\n"
    olds = {"src/a.txt": "old", "src/b.txt": "old", "src/c.txt": "old", "src/d.txt": "other"}
    project, file = project_with(tmp_path, "migrate_each_file", cast=cast, Makefile=makefile, **olds)

    _, state = project.run(
        file, {"instruction": "Use new.", "pattern": "old", "where": ["src"], "human_approval": False}
    )

    assert (status(state), outcome(state, "migrate")) == ("passed", "passed")
    texts = [text_at(project.root, f"src/{name}.txt") for name in "abcd"]
    assert texts == ["new", "new", "old", "other"]


def test_fix_failing_ci_proves_the_repair_by_the_same_command(tmp_path: Path) -> None:
    cast = "- {match: {step: fix, prompt: red at ci}, delete: [red]}\n"
    project, file = project_with(tmp_path, "fix_failing_ci", cast=cast, red="x")

    _, state = project.run(file, {"human_approval": False})

    assert path_of(state) == ["look:failed", "fix", "approve:skipped", "land"]
    assert "red" not in git(project.root, "ls-tree", "--name-only", "HEAD").splitlines()


def test_fix_failing_ci_does_nothing_when_everything_passes(tmp_path: Path) -> None:
    project, file = project_with(tmp_path, "fix_failing_ci")

    _, state = project.run(file, {})

    assert (status(state), path_of(state)) == ("passed", ["look"])


def test_a_person_lands_the_result_by_default(tmp_path: Path) -> None:
    project, file = project_with(
        tmp_path, "review_loop", cast="- {match: {step: write}, write: {a.txt: x}}\n"
    )

    _, state = project.run(file, TASK)

    assert (status(state), path_of(state)) == ("open", ["write"])
