"""A merged tree is judged by the commands of every member whose work is in it (issue 16, C6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

FLOW = """\
podium: 1
name: joined
agents:
  worker: {type: command, command: [sh, work.sh], env: ["JUDGED=PLACE"], price: {input: 0, output: 0}}
steps:
  both:
    parallel: true
    steps:
      a:
        agent: worker
        prompt: WRITE a.txt
        touches: [a.txt]
        gates: [{run: [sh, -c, "! test -e b.txt && touch PLACE"]}]
      b:
        agent: worker
        prompt: WRITE b.txt
        touches: [b.txt, c.txt]
"""
LANDED = "  land: {git: {land: main, message: Add it}}\n"
# The second member ends after the gate of the first. If it learns that its file breaks the gate, it writes another one.
WORKER = """\
cat > "$TMPDIR/prompt"
if grep -q 'WRITE a.txt' "$TMPDIR/prompt"; then echo a > a.txt; echo done; exit; fi
until test -e "$JUDGED"; do sleep 0.1; done
sleep 1
if grep -q 'does not pass on the joined tree' "$TMPDIR/prompt"; then rm -f b.txt; echo c > c.txt; else echo b > b.txt; fi
echo done
"""


def new(folder: Path, flow: str = FLOW) -> Project:
    return new_project(
        folder, {"flow.yaml": flow.replace("PLACE", str(folder / "judged")), "work.sh": WORKER}
    )


def test_the_gate_of_a_member_that_was_first_judges_the_work_merged_onto_it(tmp_path: Path) -> None:
    with closing(new(tmp_path)) as project:
        done = project.podium("run", "flow.yaml", "--no-human", "--sandbox", "limits")

        assert done.code == 0, done.err
        diff = project.podium("diff", "latest").out
        assert "+++ b/a.txt" in diff
        assert "+++ b/c.txt" in diff
        assert "+++ b/b.txt" not in diff, "the second member learned that its file breaks the first one"


def test_the_gate_of_a_member_that_was_first_judges_the_landing_on_a_branch_that_moved(
    tmp_path: Path,
) -> None:
    flow = FLOW.replace("prompt: WRITE b.txt", "prompt: WRITE a.txt").replace("[b.txt, c.txt]", "[a.txt]")
    one = flow.partition("      b:\n")[0] + "  wait: {run: [sh, move.sh]}\n" + LANDED
    move = 'cd "ROOT" && echo b > b.txt && git add b.txt && git commit -qm b\n'
    with closing(new(tmp_path, one)) as project:
        project.commit({"move.sh": move.replace("ROOT", str(project.root))})
        done = project.podium("run", "flow.yaml", "--no-human", "--sandbox", "limits")

        assert done.code == 1, done.err
        assert "both/a#1" in done.err
        assert "does not pass" in done.err
        assert "a.txt" not in project.git("ls-tree", "--name-only", "main")
