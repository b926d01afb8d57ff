"""Parallel workers with overlapping files, through the command: no conflict, no lost line, no extra call (issue 16, C1).

PODIUM_REAL_RUNS says how many random workflows, PODIUM_SEED which ones; `make claims` runs 50.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

RUNS = int(os.environ.get("PODIUM_REAL_RUNS", "3"))
SEED = int(os.environ.get("PODIUM_SEED", "1"))
FILES = ("list.txt", "docs/a.txt", "docs/b.txt", "src/one.txt", "src/two.txt")
WORKER = """\
words=$(grep -o 'WRITE .*' | head -1)
set -- $words
shift; line=$1; shift
for file in "$@"; do mkdir -p "$(dirname "$file")"; echo "$line" >> "$file"; done
echo done
"""
HEAD = """\
podium: 1
name: w
max_parallel: 6
agents: {worker: {type: command, command: [sh, work.sh], price: {input: 0, output: 0}}}
steps:
"""


class Writer:
    """Writes a random workflow whose workers each add a line to files that they declare."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: dict[str, list[str]] = {}
        self.count = 0

    def workflow(self) -> str:
        kind = self.rng.choice((self._loop, self._parallel, self._graph, self._blocks))
        return HEAD + kind()

    def _worker(self, indent: str, line: str, files: list[str], *, more: str = "") -> str:
        touches = ", ".join(f'"{self.rng.choice((file, self._folder(file)))}"' for file in files)
        keys = f'agent: worker, prompt: "WRITE {line} {" ".join(files)}", retry: 1'
        keys += self.rng.choice(("", ', gates: [{run: "true"}]'))
        self.lines[line] = files
        return f"{indent}{line}: {{{keys}, touches: [{touches}]{more}}}\n"

    def _folder(self, file: str) -> str:
        return f"{file.rpartition('/')[0]}/**" if "/" in file else file

    def _name(self) -> str:
        self.count += 1
        return f"w{self.count}"

    def _some(self) -> list[str]:
        return self.rng.sample(FILES, self.rng.choice((1, 1, 2)))

    def _join(self) -> str:
        return self.rng.choice(("", "    join: {batch: 3}\n"))

    def _parallel(self) -> str:
        text = f"  all:\n    parallel: {self.rng.randint(2, 5)}\n{self._join()}    steps:\n"
        return text + "".join(self._worker("      ", self._name(), self._some()) for _ in range(5))

    def _blocks(self) -> str:
        """Members of several steps, some with parallel steps inside."""
        text = f"  all:\n    parallel: 3\n{self._join()}    steps:\n"
        for number in range(3):
            inner = self.rng.choice(("", "        parallel: 2\n"))
            text += f"      m{number}:\n{inner}        steps:\n"
            text += "".join(self._worker("          ", self._name(), self._some()) for _ in range(2))
        return text

    def _graph(self) -> str:
        text, names = "", list[str]()
        for _ in range(5):
            needs = [name for name in names if self.rng.random() < 0.3]
            names.append(self._name())
            text += self._worker("  ", names[-1], self._some(), more=f", needs: [{', '.join(needs)}]")
        return text

    def _loop(self) -> str:
        items: list[dict[str, Any]] = []
        for _ in range(6):
            name, files = self._name(), self._some()
            self.lines[name] = files
            items.append({"name": name, "files": files})
        gate = self.rng.choice(("", '    gates: [{run: "true"}]\n'))
        return (
            f"  all:\n    for_each: {{in: {items}, as: item}}\n    parallel: {self.rng.randint(2, 6)}\n{self._join()}"
            "    agent: worker\n    prompt: \"WRITE {{ item.name }} {{ item.files | join(' ') }}\"\n    retry: 1\n"
            f'    touches: ["${{{{ item.files }}}}"]\n{gate}'
        )


def events_of(project: Project, kind: str) -> list[dict[str, Any]]:
    return [event for event in project.events(project.run_id()) if event["type"] == kind]


def agent_calls(project: Project) -> int:
    return sum("#" not in event["path"] for event in events_of(project, "AttemptStarted"))


def refusals(project: Project) -> list[Any]:
    return [refused for event in events_of(project, "JoinEnded") for refused in event.get("refused", ())]


@pytest.mark.req("R167", "C35")
@pytest.mark.parametrize("number", range(RUNS))
def test_workers_with_overlapping_files_neither_clash_nor_lose_a_line(number: int, tmp_path: Path) -> None:
    writer = Writer(SEED * 1_000 + number)
    flow = writer.workflow()
    with closing(
        new_project(tmp_path, {"list.txt": "first\n", "work.sh": WORKER, "flow.yaml": flow})
    ) as project:
        done = project.podium("run", "flow.yaml", "--no-human")
        assert done.code == 0, f"{flow}\n{done.err}\n{done.out}"
        assert refusals(project) == []
        assert agent_calls(project) == len(writer.lines), flow
        assert project.podium("apply").code == 0
        written = Counter(
            (line, file)
            for file in FILES
            if (project.root / file).exists()
            for line in (project.root / file).read_text("utf-8").split()
        )
        expected = Counter((line, file) for line, files in writer.lines.items() for file in files)
        assert written - Counter({("first", "list.txt"): 1}) == expected, flow
        sys.stderr.write(f"{len(writer.lines)} workers, {len(events_of(project, 'JoinEnded'))} joins\n")


@pytest.mark.req("R167", "C35")
def test_eight_items_that_change_one_file_take_eight_calls(tmp_path: Path) -> None:
    """They took 21 calls, and three of them failed."""
    flow = (
        HEAD
        + """\
  edit:
    for_each: {in: [1, 2, 3, 4, 5, 6, 7, 8], as: n}
    parallel: 4
    agent: worker
    prompt: "WRITE line{{ n }} list.txt own/{{ n }}.txt"
    touches: ["list.txt", "own/${{ n }}.txt"]
    retry: 3
    gates: [{run: "true"}]
"""
    )
    with closing(
        new_project(tmp_path, {"list.txt": "first\n", "work.sh": WORKER, "flow.yaml": flow})
    ) as project:
        assert project.podium("run", "flow.yaml", "--no-human").code == 0
        assert agent_calls(project) == 8
        assert refusals(project) == []
        assert project.podium("apply").code == 0
        assert len((project.root / "list.txt").read_text("utf-8").split()) == 9


@pytest.mark.req("R167")
def test_branches_that_share_a_need_merge_although_one_continues_its_change(tmp_path: Path) -> None:
    """The changes of the need were merged twice, which was a conflict where a branch had continued them."""
    flow = (
        HEAD
        + """\
  root: {agent: worker, prompt: "WRITE root list.txt", touches: ["list.txt"], needs: []}
  left: {agent: worker, prompt: "WRITE left list.txt", touches: ["list.txt"], needs: [root]}
  right: {agent: worker, prompt: "WRITE right docs/a.txt", touches: ["docs/**"], needs: [root]}
  both: {run: [cat, list.txt, docs/a.txt], needs: [left, right]}
"""
    )
    with closing(
        new_project(tmp_path, {"list.txt": "first\n", "work.sh": WORKER, "flow.yaml": flow})
    ) as project:
        done = project.podium("run", "flow.yaml", "--no-human")
        assert done.code == 0, done.err + done.out
        assert refusals(project) == []
        assert project.podium("apply").code == 0
        assert (project.root / "list.txt").read_text("utf-8").split() == ["first", "root", "left"]


LANDED_APART = """\
  a: {agent: worker, prompt: "WRITE a list.txt", touches: ["list.txt"], needs: []}
  land_a: {git: {land: main, message: Land a}, needs: [a]}
  b: {agent: worker, prompt: "WRITE b list.txt", touches: ["list.txt"], needs: [], gates: [{run: [grep, -q, first, list.txt]}]}
  land_b: {git: {land: main, message: Land b}, needs: [WAITS]}
"""


@pytest.mark.parametrize("waits", ["b", "b, land_a"])
@pytest.mark.req("R167")
def test_branches_with_the_same_files_land_one_after_the_other(tmp_path: Path, waits: str) -> None:
    """The second landing was refused, because the branch had a part of its change already (decision 47)."""
    files = {
        "list.txt": "first\n",
        "work.sh": WORKER,
        "flow.yaml": HEAD + LANDED_APART.replace("WAITS", waits),
    }
    with closing(new_project(tmp_path, files)) as project:
        done = project.podium("run", "flow.yaml", "--no-human")

        assert done.code == 0, done.err + done.out
        assert project.git("show", "main:list.txt").split() == ["first", "a", "b"]
        subjects = project.git("log", "--format=%s", "main").splitlines()
        assert subjects[:2] == ["Land b", "Land a"]
        last = project.git("show", "--format=", "main")
        assert "+b" in last and "+a" not in last, "the second commit has only its own work"


UNDECLARED = """\
  both:
    parallel: 2
    steps:
      a: {agent: worker, prompt: "WRITE a list.txt", retry: 2}
      b: {agent: worker, prompt: "WRITE b list.txt", retry: 2}
"""


@pytest.mark.req("R167")
def test_members_without_touches_do_not_work_on_the_same_file_at_once(tmp_path: Path) -> None:
    """They may change anything, so each claims everything, and the second builds on the work of the first."""
    files = {"list.txt": "first\n", "work.sh": WORKER, "flow.yaml": HEAD + UNDECLARED}
    with closing(new_project(tmp_path, files)) as project:
        done = project.podium("run", "flow.yaml", "--no-human")

        assert done.code == 0, done.err + done.out
        assert agent_calls(project) == 2
        assert refusals(project) == []
        assert project.podium("apply").code == 0
        assert sorted((project.root / "list.txt").read_text("utf-8").split()) == ["a", "b", "first"]


@pytest.mark.req("R167")
def test_both_sides_of_a_clash_with_somebody_elses_commit_are_shown(tmp_path: Path) -> None:
    """Claims keep members of a run apart; a commit from outside can still change the same line."""
    move = 'cd "ROOT" && echo theirs >> list.txt && git commit -qam theirs'
    flow = (
        HEAD
        + """\
  a: {agent: worker, prompt: "WRITE ours list.txt", touches: ["list.txt"]}
  move: {run: [sh, move.sh]}
  land: {git: {land: main, message: Land it}, retry: 1}
"""
    )
    with closing(
        new_project(tmp_path, {"list.txt": "first\n", "work.sh": WORKER, "flow.yaml": flow})
    ) as project:
        project.commit({"move.sh": move.replace("ROOT", str(project.root))})
        done = project.podium("run", "flow.yaml", "--no-human", "--sandbox", "limits")

        assert done.code == 1, done.err + done.out
        shown = done.err + project.podium("logs", "latest", "--failed").out
        for part in ("<<<<<<<", "ours", "theirs", ">>>>>>>"):
            assert part in shown, shown
        assert project.git("show", "main:list.txt").split() == ["first", "theirs"]
