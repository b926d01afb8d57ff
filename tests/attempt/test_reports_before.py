"""Tests are compared with those of the tree from before: which report that is, and what if there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.core.types import Millis
from podium.views.run.builder import run_view
from podium.views.text.terminal import run_lines
from tests.attempt.runs import Bench, Edit, bench, writes
from tests.git.kit import Project

pytestmark = pytest.mark.slow

PATH = "/usr/local/bin:/usr/bin:/bin"
WORKER = "roles: {w: {agent: claude, prompt: work}}\n"
LISTED = """{ echo "<testsuite>"
for f in slow/test_$ONLY*; do echo "<testcase classname='x' name='$f'/>"; done
echo "</testsuite>"; } > report.xml
"""
READ = f"read -r ONLY\n{LISTED}"
TESTS = {"gen.sh": LISTED, "read.sh": READ, "slow/test_b": "", "slow/test_c": ""}


def gated(project: Project, folder: Path, gate: str, edit: Edit, *, only: str = "") -> Bench:
    text = f"""{WORKER}inputs: {{suite: {{type: string, default: ""}}}}
steps:
  it: {{role: w, touches: ["**"], retry: 1, gates: [{gate}], on: {{failed: next}}}}
"""
    return bench(project, folder, text, edits={"it": edit}, host_env={"PATH": PATH, "ONLY": only})


def removes(*names: str) -> Edit:
    def edit(folder: Path, _attempt: int) -> None:
        for name in names:
            (folder / name).unlink()

    return edit


@pytest.mark.parametrize(
    "gate",
    [
        '{name: t, run: [sh, gen.sh], env: ["ONLY=${{ inputs.suite }}"], junit: report.xml}',
        "{name: t, run: [sh, gen.sh], env: [ONLY], junit: report.xml}",
        '{name: t, run: [sh, read.sh], stdin: "${{ inputs.suite }}", junit: report.xml}',
    ],
    ids=["set", "passed_on", "stdin"],
)
@pytest.mark.req("C49")
def test_a_report_that_was_made_with_other_values_is_no_base(
    project: Project, tmp_path: Path, gate: str
) -> None:
    """Another run has asked the same command for some of the tests only."""
    project.commit(TESTS, "tests")
    some = gated(project, tmp_path, gate, writes({"note": "x"}), only="c").play({"suite": "c"})
    assert some.ending("it").outcome == "passed"

    played = gated(project, tmp_path, gate, removes("slow/test_b")).play({"suite": ""})

    assert played.ending("it").outcome == "failed"
    assert "x::slow/test_b" in played.result("it#1/t")["message"]


def test_members_of_a_loop_are_compared_by_their_own_items(project: Project, tmp_path: Path) -> None:
    project.commit(TESTS, "tests")
    text = f"""{WORKER}
steps:
  each:
    for_each: [b, c]
    role: w
    touches: ["**"]
    gates: [{{name: t, run: [sh, gen.sh], env: ["ONLY=${{{{ item }}}}"], junit: report.xml}}]
"""
    edits: dict[str, Edit] = {f"each[{number}]": writes({"note": str(number)}) for number in (1, 2)}

    played = bench(project, tmp_path, text, edits=edits).play()

    assert [played.ending(f"each[{number}]").outcome for number in (1, 2)] == ["passed", "passed"]


@pytest.mark.req("C49")
def test_a_run_that_failed_on_the_tree_from_before_is_not_remembered(
    project: Project, tmp_path: Path
) -> None:
    """Where it leaves no report once, the next attempt asks the tree again."""
    left = tmp_path / "left"
    project.commit(
        {**TESTS, "gen.sh": f"if test -e slow/test_b && ! test -e {left}; then exit 3; fi\n{LISTED}"}, "tests"
    )
    gate = "{name: t, run: [sh, gen.sh], junit: report.xml}"

    first = gated(project, tmp_path, gate, removes("slow/test_b")).play()
    left.touch()
    second = gated(project, tmp_path, gate, removes("slow/test_b")).play()

    told = [played.result("it#1/t")["message"] for played in (first, second)]
    assert (
        "1 test files of the base tree are gone" in told[0] and "on the base tree, sh ended with 3" in told[0]
    )
    assert "1 tests of the base tree are gone: x::slow/test_b" in told[1]


@pytest.mark.parametrize(
    ("gate", "files", "says"),
    [
        ("run: [sh, new.sh]", {"new.sh": LISTED}, "sh ended with"),
        ("run: [./new.sh]", {"new.sh": f"#!/bin/sh\n{LISTED}"}, "could not be started"),
        ("run: [sh, ../new.sh], dir: web", {"new.sh": f"cd ..\n{LISTED}", "web/x": ""}, 'dir "web"'),
        ("run: [sh, new.sh], timeout: 5s", {"new.sh": LISTED, "hangs": ""}, "did not end within"),
    ],
    ids=["failed", "not_started", "no_folder", "timeout"],
)
def test_the_first_tests_pass_and_it_is_told_that_there_was_nothing_to_compare_with(
    project: Project, tmp_path: Path, gate: str, files: dict[str, str], says: str
) -> None:
    if "hangs" in files:
        project.commit({"new.sh": "exec sleep 1000\n"}, "hangs")

    def edit(folder: Path, attempt: int) -> None:
        writes({**files, "slow/test_a": ""})(folder, attempt)
        (folder / "new.sh").chmod(0o755)

    played = gated(project, tmp_path, f"{{name: t, {gate}, junit: report.xml}}", edit).play()

    assert played.ending("it").outcome == "passed"
    assert says in played.result("it#1/t")["uncompared"]
    assert "tests not compared: on the base tree, " in "\n".join(
        run_lines(run_view(played.events), Millis(0))
    )
    assert not list((project.root / ".podium/reports").rglob(f"{project.tree()}.json"))


def test_a_command_that_passes_without_a_report_says_that_there_were_no_tests(
    project: Project, tmp_path: Path
) -> None:
    gate = '{name: t, run: [sh, -c, "test ! -e new.sh || sh new.sh"], junit: report.xml}'

    played = gated(project, tmp_path, gate, writes({"new.sh": LISTED, "slow/test_a": ""})).play()

    assert played.ending("it").outcome == "passed"
    assert "uncompared" not in played.result("it#1/t")
