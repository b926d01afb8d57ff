"""A workflow with everything that a crash could spoil, and what must be true of its run however often it was killed."""

from __future__ import annotations

from collections import Counter
from typing import Any, Protocol

from podium.core.hash_chain import RunId
from tests.e2e.kit import Ended, Project

WORKFLOW = """\
podium: 1
name: crash
limits: {unknown_cost: count_tokens}
agents:
  writer: {type: scripted, script: workflows/cast.yaml}
  tool: {type: command, command: [sh, workflows/tool.sh]}
steps:
  prepare:
    run: {script: "mkdir -p made; echo prepared > made/base"}
    touches: ["made/base"]
  rounds:
    repeat: {until: "steps.turn.output == '3'", max: 5}
    steps:
      turn:
        run: {script: "echo turn >> made/turns; wc -l < made/turns"}
        touches: ["made/turns"]
  implement:
    agent: writer
    prompt: "Write it. {{ feedback }}"
    touches: [code.txt]
    gates:
      - {name: good, run: [grep, -q, good, code.txt]}
  sides:
    parallel: 3
    steps:
      left:
        agent: writer
        prompt: The left side.
        touches: ["left/**"]
        gates: [{name: there, run: [test, -f, left/file]}]
      right:
        agent: tool
        prompt: The right side.
        touches: ["right/**"]
      middle:
        run: {script: "mkdir -p middle; echo middle > middle/file"}
        touches: ["middle/**"]
  whole:
    run: [cat, left/file, right/file, middle/file, code.txt]
    output: {file: whole.txt}
  land:
    git: {land: "${{ run.branch }}", message: All of it}
  report:
    run: {script: "wc -l < made/turns"}
    output: {file: report.txt}
"""
CAST = """\
- match: {step: implement, attempt: 1}
  write: {code.txt: "bad\\n"}
- match: {step: implement}
  write: {code.txt: "good\\n"}
- match: {step: left}
  write: {left/file: "left\\n"}
"""
TOOL = "mkdir -p right\ncat > /dev/null\necho right > right/file\necho done\n"
FILES = {"workflows/w.yaml": WORKFLOW, "workflows/cast.yaml": CAST, "workflows/tool.sh": TOOL}
WORKFLOW_FILE = "workflows/w.yaml"

# What differs between two runs of the same work, and may. What was used: a call that died with its owner counts,
# and so does the one that repeats it.
OF_THE_MOMENT = {
    "run", "seq", "started_at", "ended_at", "duration_s", "since", "time", "commit", "stored",
    "used", "usage", "cost", "cost_usd", "agents", "series",
}  # fmt: skip


def lasting(view: Any) -> Any:
    """A view without what depends on the moment; names of trees stay, those of commits go."""
    match view:
        case dict():
            return {key: lasting(value) for key, value in view.items() if key not in OF_THE_MOMENT}
        case list():
            return [lasting(value) for value in view]
        case _:
            return view


def artifacts(project: Project, run: RunId) -> dict[str, bytes]:
    """What was published, by its place."""
    folder = project.root / ".podium/runs" / run / "artifacts"
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Podium(Protocol):
    def __call__(self, *args: str) -> Ended: ...


def assert_whole(project: Project, run: RunId, *, landed: int = 1, podium: Podium | None = None) -> None:
    """Everything recorded once, the branch moved once, the chain unbroken, nothing left behind."""
    podium = podium or project.podium
    events = project.events(run)
    ends = Counter(event["path"] for event in events if event["type"] == "StepEnded")
    assert {path: count for path, count in ends.items() if count != 1} == {}
    answers = Counter(
        (event["path"], event["attempt"]) for event in events if event["type"] == "AttemptEnded"
    )
    assert {key: count for key, count in answers.items() if count != 1} == {}
    assert len([event for event in events if event["type"] == "RunEnded"]) == 1

    checked = podium("verify", run)
    assert checked.code == 0, checked.err
    assert project.git("rev-list", "--count", "main") == str(1 + landed)
    assert project.git("status", "--porcelain") == ""
    project.git("fsck", "--no-dangling")
    for memory in project.git("for-each-ref", "--format=%(refname)", "refs/podium/memory").splitlines():
        assert project.git("rev-list", "--count", memory) == "1"
        texts = {name: project.git("show", f"{memory}:{name}.md") for name in ("lessons", "left", "right")}
        assert texts == {"lessons": "one\ntwo", "left": "left", "right": "right"}
    assert project.marked() == []
    assert project.inhabitants() == []
    assert project.leftovers() == []
    assert_records_are_whole(project, run, podium)


def assert_records_are_whole(project: Project, run: RunId, podium: Podium) -> None:
    """The files of a run are what its events make of them: no line twice, none missing, no half of a file."""
    folder = project.root / ".podium/runs" / run
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert [name for name in before if name.endswith(".tmp")] == []
    done = podium("show", run, "--rebuild")
    assert done.code == 0, done.err
    assert {name: (folder / name).read_bytes() for name in before} == before
