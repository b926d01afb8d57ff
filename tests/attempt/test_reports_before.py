"""Tests are compared with those of the tree from before: which report that is, and what if there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attempt.runs import Bench, Edit, bench, writes
from tests.git.kit import Project

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
