"""Paths that leave the project, wherever a run takes one: exit 3, and nothing outside was opened (issue 3, point 6)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project
from tests.files.tricks import LEXICAL, LINKED, plant

FILE = "workflows/w.yaml"
AUDIT = Path(__file__).parent / "audit"
# A file of inputs is UTF-8, so half a character cannot stand in it.
TRICKS = {
    name: path
    for name, path in {**LEXICAL, **LINKED}.items()
    if not any("\ud800" <= sign <= "\udfff" for sign in path)
}

HEAD = """\
podium: 1
name: tricks
inputs: {paths: list}
limits: {members: 1000, transitions: 10000}
"""
PLACES = {
    "dir": 'run: [pwd], dir: "${{ item }}"',
    "stdin": 'run: [cat], stdin: ["${{ item }}"]',
    "output_file": 'run: [echo, text], output: {file: "${{ item }}"}',
    "wait_file": 'wait: {file: "${{ item }}"}, timeout: 60s',
    "junit": 'run: [echo, text], junit: "${{ item }}"',
}


# Artifacts have a folder of their own, in which no links of the project are.
LEXICAL_ONLY = {"output_file"}


def tricks_for(place: str) -> dict[str, str]:
    return {name: path for name, path in TRICKS.items() if name in LEXICAL or place not in LEXICAL_ONLY}


def workflow(place: str) -> str:
    return HEAD + f"steps:\n  each: {{for_each: inputs.paths, parallel: 4, {PLACES[place]}}}\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    with closing(new_project(tmp_path, {})) as made:
        # The address of a socket is short, and pytest's folders are deep.
        monkeypatch.chdir(tmp_path)
        plant(Path())
        made.git("add", "-A")
        made.git("commit", "-q", "-m", "links")
        made.env["AUDIT_LOG"] = str(tmp_path / "opened")
        made.python_path.append(str(AUDIT))
        yield made


@pytest.mark.req("R143", "R183")
@pytest.mark.parametrize("place", PLACES)
def test_eighty_tricks_end_with_exit_3_and_nothing_outside_is_opened(place: str, project: Project) -> None:
    tricks = tricks_for(place)
    assert len(tricks) >= 80
    project.commit({FILE: workflow(place), "inputs.json": json.dumps({"paths": list(tricks.values())})})

    done = project.podium("run", FILE, "--inputs", "inputs.json", timeout_s=240)

    assert done.code == 3, done.err
    assert refused(project, tricks) == dict.fromkeys(tricks, "path")
    assert opened_outside(project) == []
    assert made_outside(project) == []


@pytest.mark.slow
@pytest.mark.req("R143", "R183")
def test_a_script_of_a_scripted_agent_stays_inside_too(project: Project) -> None:
    """Its path stands in the file, so there is an agent for each trick."""
    paths = {f"a{number}": path for number, path in enumerate(tricks_for("script").values())}
    agents = {name: {"type": "scripted", "script": path} for name, path in paths.items()}
    common = "prompt: Work., touches: [], no_change: pass, retry: {attempts: 1, on_exhausted: fail}"
    step = f'each: {{for_each: inputs.paths, parallel: 4, agent: "${{{{ item }}}}", {common}}}'
    text = HEAD + f"agents: {json.dumps(agents)}\nsteps:\n  {step}\n"
    project.commit({FILE: text, "inputs.json": json.dumps({"paths": list(paths)})})

    done = project.podium("run", FILE, "--inputs", "inputs.json", timeout_s=240)

    assert done.code == 3, done.err
    assert refused(project, paths) == dict.fromkeys(paths, "path")
    assert opened_outside(project) == []


@pytest.mark.req("R143", "R183")
@pytest.mark.parametrize("path", ["../secret", "out/secret"])
@pytest.mark.parametrize("place", PLACES)
def test_a_path_that_stands_in_the_file_is_refused_before_a_run_exists(
    place: str, path: str, project: Project
) -> None:
    step = PLACES[place].replace("${{ item }}", path)
    project.put({FILE: f"podium: 1\nname: fixed\nsteps:\n  one: {{{step}}}\n"})

    done = project.podium("run", FILE)

    assert done.code == 3, done.err
    assert opened_outside(project) == []


def refused(project: Project, tricks: Iterable[str]) -> dict[str, str]:
    """The reason of each trick's end."""
    ends = {
        event["path"]: event.get("reason", "")
        for event in project.events(project.run_id())
        if event["type"] in ("AttemptEnded", "WaitEnded")
    }
    return {name: ends.get(f"each[{number}]", "none") for number, name in enumerate(tricks, start=1)}


def opened_outside(project: Project) -> list[str]:
    log = (project.folder / "opened").read_bytes().decode("utf-8", "surrogateescape")
    opened = [path for path in log.split("\0") if path]
    assert any(path.endswith(("podium.db", FILE)) for path in opened), "nobody was listening"
    outside = (
        project.folder / "secret",
        project.folder / "outside",
        project.folder / "not-there-yet",
        Path("/etc/passwd"),
    )
    found = {os.path.realpath(path) for path in opened}
    return [path for path in found if any(Path(path).is_relative_to(place) for place in outside)]


def made_outside(project: Project) -> list[str]:
    expected = {"project", "home", "outside", "secret", "opened", "talk.log"}
    changed = [
        path
        for path in (project.folder / "secret", project.folder / "outside/secret")
        if path.read_text("ascii") != "secret"
    ]
    return [path.name for path in project.folder.iterdir() if path.name not in expected] + [
        str(path) for path in changed
    ]
