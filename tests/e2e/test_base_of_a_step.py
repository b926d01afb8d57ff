"""A step that works at another branch or commit; its change is merged onto the files of the run (issue 20, B5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

HEAD = "podium: 1\nname: flow\nagents: {w: {type: scripted}}\n"


def with_old_branch(folder: Path, steps: str, **files: str) -> Project:
    project = new_project(
        folder, {"w.yaml": HEAD + steps, "version.txt": "1\n", "a.txt": "one\ntwo\nthree\n"}
    )
    project.git("branch", "release-1")
    project.commit({"version.txt": "2\n", "new.txt": "new\n", **files}, "second")
    return project


def test_a_command_reads_another_branch_and_the_head_stays(tmp_path: Path) -> None:
    steps = """\
inputs: {old: {type: string, default: release-1}}
steps:
  before: {run: [cat, version.txt], output: text, base: "${{ inputs.old }}"}
  after: {run: [cat, version.txt, new.txt], output: text}
outputs: {both: "${{ steps.before.output }} ${{ steps.after.output }}"}
"""
    with closing(with_old_branch(tmp_path, steps)) as project:
        ended = project.podium("run", "w.yaml", "--output", "both")

        assert ended.code == 0, ended.err
        assert ended.out == "1 2\nnew\n"


def test_what_a_step_changes_at_its_base_is_merged_onto_the_work_of_the_run(tmp_path: Path) -> None:
    steps = """\
steps:
  first: {run: {script: "sed -i s/one/ONE/ a.txt"}, touches: [a.txt]}
  fix:
    run: {script: "sed -i s/three/THREE/ a.txt; test ! -e new.txt"}
    base: release-1
    touches: [a.txt]
    gates: [{run: [grep, -q, "ONE", a.txt]}]
  look: {run: [cat, a.txt, version.txt], output: text}
outputs: {text: "${{ steps.look.output }}"}
"""
    with closing(with_old_branch(tmp_path, steps)) as project:
        ended = project.podium("run", "w.yaml", "--output", "text")

        assert ended.code == 0, ended.err
        assert ended.out == "ONE\ntwo\nTHREE\n2\n"


def test_a_clash_with_the_files_of_the_run_fails_the_attempt(tmp_path: Path) -> None:
    steps = """\
steps:
  fix: {run: {script: "echo 1.1 > version.txt"}, base: release-1, touches: [version.txt]}
"""
    with closing(with_old_branch(tmp_path, steps)) as project:
        ended = project.podium("run", "w.yaml")

        assert ended.code == 1
        assert "clashes with the files of the run: version.txt" in ended.out + ended.err


def test_an_agent_keeps_its_work_at_the_base_over_a_retry(tmp_path: Path) -> None:
    steps = """\
steps:
  fix:
    agent: w
    prompt: Fix it
    base: release-1
    touches: ["*.txt"]
    retry: {attempts: 2}
    gates: [{run: [test, -e, second.txt]}]
  look: {run: [ls], output: text}
outputs: {text: "${{ steps.look.output }}"}
"""
    program = (
        "test ! -e new.txt || exit 1\n"
        "if [ -e first.txt ]; then echo 2 > second.txt; else echo 1 > first.txt; fi\necho done\n"
    )
    with closing(with_old_branch(tmp_path, "", work=program)) as project:
        sh = "{type: command, command: [sh, work], price: {input: 0, output: 0}}"
        project.git("checkout", "-q", "release-1")
        project.commit({"work": program}, "the program, at the base as well")
        project.git("checkout", "-q", "main")
        project.commit({"w.yaml": HEAD.replace("{type: scripted}", sh) + steps}, "flow")
        ended = project.podium("run", "w.yaml", "--output", "text")

        assert ended.code == 0, ended.err
        assert {"first.txt", "second.txt", "new.txt"} <= set(ended.out.split())


def test_a_base_that_does_not_exist_ends_the_step_with_the_reason(tmp_path: Path) -> None:
    steps = "steps:\n  look: {run: [ls], base: v9}\n"
    with closing(with_old_branch(tmp_path, steps)) as project:
        ended = project.podium("run", "w.yaml")

        assert ended.code == 1
        assert "there is no branch, tag or commit 'v9'" in ended.out + ended.err


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("{run: [ls], base: v1, workspace: inplace}", "works in the project itself"),
        ("{agent: human, prompt: Do it, base: v1}", '"base" cannot be used with "agent: human"'),
        ("{human: Go?, base: v1}", "base"),
    ],
)
def test_a_base_that_has_no_meaning_is_refused(tmp_path: Path, step: str, message: str) -> None:
    with closing(with_old_branch(tmp_path, f"steps:\n  look: {step}\n")) as project:
        ended = project.podium("validate", "w.yaml")

        assert ended.code == 2
        assert message in ended.out + ended.err
