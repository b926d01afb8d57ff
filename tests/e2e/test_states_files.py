"""Files of the states format, and loops of a writer and a reviewer, as their users write them: order, files, states and exit codes, also of their native form.

The first lines of a file say what its agents answer (`# says: WHO|PART OF THE PROMPT|EXIT|TEXT`, the first that fits) and what must
come of it.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

FILES = sorted((Path(__file__).parent / "states_files").glob("*.yaml"))
LOOPS = sorted((Path(__file__).parent / "loop_files").glob("*.yaml"))
AGENT = """\
#!/bin/sh
prompt=$(cat)
while IFS='|' read -r who part code text; do
  [ "$who" = "$1" ] || continue
  case $prompt in *"$part"*) printf '%b' "$text"; exit "$code" ;; esac
done < tools/answers
exit 9
"""
PERSONAS = {
    "prompts/gate.md": 'You judge. Return JSON: {"decision": "proceed" | "retry" | "halt"}\n',
    "prompts/writer.md": "You write.\n",
    "prompts/auditor.md": "You audit {drafts}\n",
    "prompts/editor.md": "You are an editor.\n",
    "prompts/orchestrator.md": "You watch the run.\n",
    "prompts/synthesizer.md": "You combine the drafts of {agent_list}: {drafts} {audits}\n",
}


def header(path: Path) -> dict[str, list[str]]:
    lines: dict[str, list[str]] = defaultdict(list)
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("# "):
            key, _, value = line[2:].partition(": ")
            lines[key].append(value)
    return lines


def prepare(folder: Path, flow: str, expected: dict[str, list[str]]) -> Project:
    answers = "".join(f"{line}\n" for line in expected["says"])
    placed = dict(line.split(" = ", 1) for line in expected["put"])
    files = {"flow.yaml": flow, **placed, "tools/agent": AGENT, "tools/answers": answers, **PERSONAS}
    project = new_project(folder, files)
    (project.root / "tools/agent").chmod(0o755)
    project.git("commit", "-q", "-a", "-m", "programs")
    return project


class Result(NamedTuple):
    code: int
    steps: list[str]
    """In their order, with the outcome of those that did not pass."""
    files: dict[str, str]
    """The files of the project that are new."""


def play(project: Project, expected: dict[str, list[str]], *options: str) -> Result:
    before = texts_of(project)
    done = project.podium("run", "flow.yaml", "--json", *options)
    for answer in expected["answer"]:
        assert done.code == 6, done.err
        verb, step, *more = shlex.split(answer)
        run = project.podium("show", "--json").data()["run"]
        done = project.podium(verb, run, step, *more)
    data = project.podium("show", "--json").data()
    steps = [
        step["path"] if step["outcome"] == "passed" else f"{step['path']}:{step['outcome']}"
        for step in data["steps"]
        if not set("/#") & set(step["path"])
    ]
    files = {path: text for path, text in texts_of(project).items() if path not in before}
    return Result(done.code, steps, files)


def texts_of(project: Project) -> dict[str, str]:
    paths = {path.relative_to(project.root): path for path in project.root.rglob("*") if path.is_file()}
    own = {place: path for place, path in paths.items() if place.parts[0] not in (".git", ".podium")}
    return {place.as_posix(): path.read_text() for place, path in own.items()}


def check(project: Project, result: Result, expected: dict[str, list[str]]) -> None:
    assert (str(result.code), " ".join(result.steps)) == (expected["exit"][0], expected["steps"][0])
    for line in expected["file"]:
        name, _, text = line.partition(" = ")
        assert result.files[name] == text.replace("\\n", "\n")
    assert not set(result.files) & set(expected["none"])
    shown = project.podium("show", "--json").data()
    for line in expected["message"]:
        assert line in str(shown["message"])
    for line in expected["attempts"]:
        name, _, count = line.partition(" = ")
        assert {step["path"]: step["attempts"] for step in shown["steps"]}[name] == int(count)
    for line in expected["prompt"]:
        name, _, part = line.partition(" = ")
        texts = project.podium("prompt", shown["run"], name, "--json").data()
        assert part in f"{texts['system']}\n{texts['prompt']}"
    folder = project.root / ".podium/runs" / shown["run"]
    for line in expected["summary"]:
        assert line in (folder / "run_summary.md").read_text()


@pytest.mark.req("R026", "R049")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_runs_as_its_author_expects_and_so_does_its_native_form(path: Path, tmp_path: Path) -> None:
    expected = header(path)
    foreign = prepare(tmp_path / "foreign", path.read_text("utf-8"), expected)
    with closing(foreign):
        result = play(foreign, expected)
        check(foreign, result, expected)
        native = foreign.podium("convert", "flow.yaml")
        assert native.code == 0, native.err
    other = prepare(tmp_path / "native", native.out, expected)
    with closing(other):
        assert play(other, expected) == result


@pytest.mark.req("R101", "R103", "R104")
@pytest.mark.parametrize("path", LOOPS, ids=lambda path: path.stem)
def test_a_loop_of_a_writer_and_a_reviewer_ends_as_its_author_expects(path: Path, tmp_path: Path) -> None:
    expected = header(path)
    project = prepare(tmp_path, path.read_text("utf-8"), expected)
    with closing(project):
        check(project, play(project, expected, "--no-human"), expected)


def test_there_are_at_least_fifteen_files_of_each_kind() -> None:
    assert min(len(FILES), len(LOOPS)) >= 15
