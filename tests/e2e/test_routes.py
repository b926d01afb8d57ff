"""What a route carries along: the work of steps that passed, and the reason why a step failed (issue 20, A)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

AGENT = "{type: command, command: [tools/%s], price: {input: 0, output: 0}}"


def project_with(folder: Path, workflow: str, **programs: str) -> Project:
    """A project whose agents are shell scripts; each sees its prompt on standard input."""
    agents = "".join(f"  {name}: {AGENT % name}\n" for name in programs)
    text = f"podium: 1\nname: routes\nagents:\n{agents}{workflow}"
    tools = {
        f"tools/{name}": f"#!/bin/sh\n{body}\ncode=$?; echo Ready.; exit $code\n"
        for name, body in programs.items()
    }
    project = new_project(folder, {"w.yaml": text, "work.txt": "start\n", **tools})
    for program in (project.root / "tools").iterdir():
        program.chmod(0o755)
    project.git("commit", "-q", "-a", "-m", "programs")
    return project


FIXER_AFTER_JUDGE = """\
steps:
  build: {agent: builder, prompt: Build it., touches: ["*.txt"]}
  judge:
    run: [grep, -q, good, work.txt]
    on: {failed: fix, passed: land}
  fix: {agent: fixer, prompt: "Mend it. {{ feedback }}", touches: ["*.txt"], on: {passed: judge}}
  land: {git: {land: main, message: Work}}
"""


def test_the_work_of_a_fixer_stays_when_it_leads_back_to_its_judge(tmp_path: Path) -> None:
    project = project_with(
        tmp_path,
        FIXER_AFTER_JUDGE,
        builder="echo bad > work.txt; echo built > build.txt",
        fixer="cat > asked.txt; echo good > work.txt",
    )
    with closing(project):
        ended = project.podium("run", "w.yaml")

        assert ended.code == 0, ended.err
        assert project.git("show", "main:work.txt") == "good"
        assert project.git("show", "main:build.txt") == "built"
        assert "exit code 1" in project.git("show", "main:asked.txt"), "the fixer knows why the judge failed"


BACK_TO_AN_AUTHOR = """\
steps:
  build:
    agent: builder
    prompt: Build it.
    touches: ["work.txt"]
    gates: [{run: [test, -s, work.txt]}]
  judge:
    run: [grep, -q, good, work.txt]
    on: {failed: note, passed: land}
  note: {agent: noter, prompt: Note it., touches: ["notes/*"], on: {passed: build}}
  land: {git: {land: main, message: Work}}
"""


def test_an_author_keeps_the_work_of_others_and_is_not_blamed_for_their_files(tmp_path: Path) -> None:
    project = project_with(
        tmp_path,
        BACK_TO_AN_AUTHOR,
        builder="if test -e notes/1; then echo good > work.txt; else echo bad > work.txt; fi",
        noter="mkdir -p notes; echo noted > notes/1",
    )
    with closing(project):
        ended = project.podium("run", "w.yaml")

        assert ended.code == 0, ended.err
        assert project.git("show", "main:notes/1") == "noted"


def test_an_author_may_finish_without_a_change_but_not_undo_what_others_did(tmp_path: Path) -> None:
    project = project_with(
        tmp_path,
        BACK_TO_AN_AUTHOR.replace("grep, -q, good, work.txt", "test, -e, notes/1"),
        builder="test -e notes/1 || echo built > work.txt",
        noter="mkdir -p notes; echo noted > notes/1",
    )
    with closing(project):
        assert project.podium("run", "w.yaml").code == 0
        assert project.git("show", "main:work.txt") == "built"

    project = project_with(
        tmp_path / "undone",
        BACK_TO_AN_AUTHOR.replace("grep, -q, good, work.txt", "test, -e, notes/1"),
        builder="if test -e notes/1; then rm notes/1; else echo built > work.txt; fi",
        noter="mkdir -p notes; echo noted > notes/1",
    )
    with closing(project):
        ended = project.podium("run", "w.yaml")
        assert ended.code == 6, "the attempts are used up"
        assert "notes/1" in ended.out + ended.err, "the change goes beyond what the step may touch"


PARTIAL = """\
steps:
  each:
    for_each: {in: '["one", "two", "three"]', as: name}
    parallel: %d
    agent: worker
    prompt: "{{ name }}"
    touches: ["${{ name }}.txt"]
    retry: {attempts: 1, on_exhausted: fail}
    on: {partial: %s}
  land: {git: {land: main, message: Work}}
"""
WORKER = 'name=$(cat | grep -o -w -e one -e two -e three | head -n 1); test "$name" != two && echo done > "$name.txt"'


@pytest.mark.parametrize(("parallel", "target"), [(1, "next"), (3, "next"), (1, "land"), (3, "land")])
def test_the_work_of_members_that_passed_stays_when_a_route_accepts_the_rest(
    tmp_path: Path, parallel: int, target: str
) -> None:
    project = project_with(tmp_path, PARTIAL % (parallel, target), worker=WORKER)
    with closing(project):
        ended = project.podium("run", "w.yaml")

        assert ended.code == 0, ended.err
        landed = project.git("ls-tree", "--name-only", "main").split()
        assert {"one.txt", "three.txt"} <= set(landed)
        assert "two.txt" not in landed


ANSWERED = """\
steps:
  build:
    agent: builder
    prompt: "Build it. {{ feedback }}"
    touches: ["*.txt"]
    on: {blocked: ask, passed: land}
  ask: {human: "Which colour?", output: {choice: [red, blue]}, on: {passed: build}}
  land: {git: {land: main, message: Work}}
"""


def test_a_value_that_a_person_chose_reaches_the_step_that_it_leads_back_to(tmp_path: Path) -> None:
    project = project_with(
        tmp_path,
        ANSWERED,
        builder='asked=$(cat); case "$asked" in *"says: blue"*) echo blue > work.txt;; *) echo "BLOCKED: which colour?";; esac',
    )
    with closing(project):
        assert project.podium("run", "w.yaml").code == 6
        ended = project.podium("answer", "blue")

        assert ended.code == 0, ended.err
        assert project.git("show", "main:work.txt") == "blue"


STRONGER = """\
steps:
  try:
    agent: builder
    prompt: Build it.
    touches: ["*.txt"]
    gates: [{name: proof, run: [sh, -c, "echo the proof is missing; exit 1"]}]
    on: {failed: stronger}
  stronger: {agent: strong, prompt: "Do better. {{ feedback }}", touches: ["*.txt"]}
  land: {git: {land: main, message: Work}}
"""


def test_a_step_that_a_failure_leads_to_knows_what_the_gate_printed(tmp_path: Path) -> None:
    project = project_with(tmp_path, STRONGER, builder="echo bad > work.txt", strong="cat > asked.txt")
    with closing(project):
        ended = project.podium("run", "w.yaml")

        assert ended.code == 0, ended.err
        assert "the proof is missing" in project.git("show", "main:asked.txt")


ROUTER = """\
inputs: {request: string}
steps:
  classify:
    run: [sh, -c, "cat request.txt"]
    output: {choice: [bug, feature, question]}
    on:
      passed:
        - {when: steps.classify.output == "bug", to: repair, feedback: "A ${{ steps.classify.output }} was reported."}
        - {when: steps.classify.output == "feature", to: design}
        - {end: "nothing to do for a ${{ steps.classify.output }}"}
      error: {fail: "it cannot be classified"}
  repair: {agent: worker, prompt: "Repair. {{ feedback }}", touches: ["*.txt"], on: {passed: land}}
  design: {agent: worker, prompt: "Design. {{ feedback }}", touches: ["*.txt"]}
  land: {git: {land: main, message: Work}}
"""


@pytest.mark.parametrize(
    ("kind", "asked", "missing"),
    [("bug", "A bug was reported.", "Design."), ("feature", "Design.", "reported"), ("question", None, "")],
)
def test_a_value_chooses_the_branch_and_hands_words_to_it(
    tmp_path: Path, kind: str, asked: str | None, missing: str
) -> None:
    project = project_with(tmp_path, ROUTER, worker="cat > asked.txt")
    project.commit({"request.txt": f"{kind}\n"}, "request")
    with closing(project):
        assert project.podium("validate", "w.yaml").code == 0
        graph = project.podium("graph", "w.yaml").out
        assert "passed -> repair" in graph and "passed -> design" in graph
        ended = project.podium("run", "w.yaml", "-i", "request=x")

        assert ended.code == 0, ended.err
        landed = project.git("ls-tree", "--name-only", "main").split()
        if asked is None:
            assert "asked.txt" not in landed
        else:
            prompt = project.git("show", "main:asked.txt")
            assert asked in prompt
            assert missing not in prompt


HANDED_ON = """\
steps:
  weak:
    agent: weak
    prompt: Try.
    touches: ["*.txt"]
    gates: [{name: proof, run: [grep, -q, whole, work.txt]}]
    retry: {attempts: 1, on_exhausted: fail}
    on: {failed: {to: strong, start: work, feedback: "Finish what was begun."}}
  strong:
    agent: strong
    prompt: "Do better. {{ feedback }}"
    touches: ["*.txt"]
    gates: [{name: proof, run: [grep, -q, whole, work.txt]}]
  land: {git: {land: main, message: Work}}
"""


def test_a_stronger_agent_finishes_the_work_of_the_one_that_failed(tmp_path: Path) -> None:
    project = project_with(
        tmp_path,
        HANDED_ON,
        weak="echo half > half.txt",
        strong="cat > asked.txt; test -e half.txt && echo whole > work.txt",
    )
    with closing(project):
        ended = project.podium("run", "w.yaml")

        assert ended.code == 0, ended.err
        assert project.git("show", "main:half.txt") == "half"
        asked = project.git("show", "main:asked.txt")
        assert "Finish what was begun." in asked
        assert "proof" in asked
