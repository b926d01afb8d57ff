"""A declared secret reaches the steps that name it and nothing else (issue 3, point 5).

It is printed in nine shapes and in small pieces by commands, gates and agents, and also stands in answers, feedback and
errors. Afterwards no shape of it is in any file of ours, on the terminal, or in the arguments of any process.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.e2e.crawl import all_pages
from tests.e2e.kit import Ended, Project, closing, new_project
from tests.e2e.leak import encodings

FILE = "workflows/w.yaml"
SECRET = 'T0ken/with+"quotes"&<more>=42'
LEAK = Path(__file__).with_name("leak.py")
PYTHON = json.dumps(f"{sys.executable} -I -S tools/leak.py")[1:-1]

WORKFLOW = f"""\
podium: 1
name: secrets
secrets: [TOKEN]
limits: {{unknown_cost: count_tokens}}
agents:
  teller: {{type: command, command: "{PYTHON} both"}}
  faulty: {{type: command, command: "{PYTHON} both 2"}}
  actor: {{type: scripted, script: workflows/cast.yaml}}
steps:
  innocent:
    run: [env]
  prints:
    run: "{PYTHON} both"
    secrets: [TOKEN]
    output: {{file: printed.txt}}
  prints_much:
    run: "{PYTHON} much"
    secrets: [TOKEN]
  passes_on:
    run: [cat]
    stdin: ${{{{ steps.prints.output }}}}
  tells:
    agent: teller
    prompt: Tell me. {{{{ steps.prints.output }}}}
    touches: []
    no_change: pass
    secrets: [TOKEN]
    output: {{file: told.txt}}
  plays:
    agent: actor
    prompt: Play.
    touches: []
    no_change: pass
  implements:
    agent: actor
    prompt: "Do it. {{{{ feedback }}}}"
    touches: [code.txt]
    gates:
      - name: proof
        run: {{script: "{PYTHON} both; grep -q good code.txt"}}
        secrets: [TOKEN]
  breaks:
    agent: faulty
    prompt: Break.
    touches: []
    no_change: pass
    secrets: [TOKEN]
    retry: {{attempts: 1, transient: 0, on_exhausted: fail}}
    on: {{else: next}}
  fails:
    run: "{PYTHON} err 7"
    secrets: [TOKEN]
    on: {{else: next}}
  last:
    check: steps.fails.outcome == "failed" and steps.breaks.outcome == "error"
"""


def cast() -> str:
    rules = [
        {"match": {"step": "plays"}, "text": f"The secret is {SECRET}."},
        {"match": {"step": "implements", "attempt": 1}, "write": {"code.txt": "bad\n"}},
        {"match": {"step": "implements"}, "write": {"code.txt": "good\n"}, "text": f"Used {SECRET}"},
    ]
    return json.dumps(rules)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Project, Ended, list[bytes]]]:
    """One run, what it said, and the arguments of all processes that were seen meanwhile."""
    files = {FILE: WORKFLOW, "workflows/cast.yaml": cast(), "tools/leak.py": LEAK.read_text("utf-8")}
    folder = tmp_path_factory.mktemp("secrets")
    with closing(new_project(folder, files, TOKEN=SECRET)) as project:
        with watched() as seen:
            done = project.podium("run", FILE)
        yield project, done, seen


@contextmanager
def watched() -> Iterator[list[bytes]]:
    seen: set[bytes] = set()
    found: list[bytes] = []
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.01):
            for process in Path("/proc").iterdir():
                with suppress(OSError):
                    seen.add((process / "cmdline").read_bytes())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()
        found.extend(seen)


def shapes_in(data: bytes) -> list[str]:
    """The names of the shapes that stand there; inside a longer base64 text only its middle is the secret's."""
    trimmed = {
        name: text.strip(b'"')[4:-4] if name.startswith("base64") else text.strip(b'"')
        for name, text in encodings(SECRET).items()
    }
    return [name for name, text in trimmed.items() if text in data]


def test_every_shape_would_be_found() -> None:
    everything = b" ".join(encodings(SECRET).values())

    assert shapes_in(everything) == list(encodings(SECRET))
    assert shapes_in(b"nothing of it") == []


@pytest.mark.req("R184")
def test_the_run_has_printed_the_secret_and_it_was_masked(place: tuple[Project, Ended, list[bytes]]) -> None:
    project, done, _ = place
    assert done.code == 0, done.err + project.podium("show").out

    ends = {
        event["path"]: event for event in project.events(project.run_id()) if event["type"] == "AttemptEnded"
    }
    lines = ends["prints"]["result"]["text"].splitlines()
    assert len(lines) == len(encodings(SECRET))
    assert all("***" in line for line in lines)
    assert "***" in ends["plays"]["result"]["text"]
    assert "***" in ends["breaks"]["result"]["message"]


@pytest.mark.req("R184")
def test_no_file_of_ours_holds_any_shape_of_it(place: tuple[Project, Ended, list[bytes]]) -> None:
    project, _, _ = place
    files = [
        path
        for folder in (project.root / ".podium", project.home)
        for path in folder.rglob("*")
        if path.is_file()
    ]
    assert len(files) > 20

    assert {
        str(path.relative_to(project.folder)): shapes_in(path.read_bytes())
        for path in files
        if shapes_in(path.read_bytes())
    } == {}


@pytest.mark.req("R184")
def test_the_terminal_shows_no_shape_of_it(place: tuple[Project, Ended, list[bytes]]) -> None:
    project, done, _ = place
    run = project.run_id()
    commands = (
        ("show", run),
        ("show", run, "--json"),
        ("logs", run),
        ("logs", run, "--failed"),
        ("events", run, "--json"),
        ("runs", "--json"),
    )
    said = {command: project.podium(*command) for command in commands}

    assert shapes_in((done.out + done.err).encode()) == []
    assert {command: end.code for command, end in said.items() if end.code != 0} == {}
    assert {
        command: shapes_in((end.out + end.err).encode())
        for command, end in said.items()
        if shapes_in((end.out + end.err).encode())
    } == {}


@pytest.mark.req("R184")
def test_no_page_download_or_report_shows_any_shape_of_it(
    place: tuple[Project, Ended, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    project, _, _ = place
    monkeypatch.setenv("XDG_STATE_HOME", str(project.home / "state"))
    monkeypatch.setenv("TOKEN", SECRET)  # As for the person who starts the server.
    run = project.run_id()
    pages = list(all_pages(project.root))
    paths = {path for path, *_ in pages}

    assert {f"/runs/{run}{rest}" for rest in ("", "/diff", "/logs", "/logs/0", "/report", "/events")} <= paths
    assert len([path for path in paths if "/steps/" in path]) >= 5
    assert any("/raw?" in path for path in paths)
    assert {path: status for path, status, *_ in pages if status != 200} == {}
    assert {path: shapes_in(body) for path, _, _, body in pages if shapes_in(body)} == {}
    assert any(b"***" in body for *_, body in pages)


@pytest.mark.req("R184")
def test_the_list_of_processes_shows_no_shape_of_it(place: tuple[Project, Ended, list[bytes]]) -> None:
    _, _, seen = place
    assert any(b"leak.py" in line for line in seen)

    assert [line for line in seen if shapes_in(line)] == []


@pytest.mark.req("R184")
def test_a_step_that_does_not_name_the_secret_does_not_get_it(
    place: tuple[Project, Ended, list[bytes]],
) -> None:
    project, _, _ = place
    [end] = [
        event
        for event in project.events(project.run_id())
        if event["type"] == "AttemptEnded" and event["path"] == "innocent"
    ]

    assert "PATH=" in end["result"]["text"]
    assert "TOKEN" not in end["result"]["text"]


@pytest.mark.req("R185")
def test_a_secret_wins_over_a_variable_of_the_same_name(tmp_path: Path) -> None:
    workflow = """\
podium: 1
name: wins
secrets: [TOKEN]
steps:
  shows:
    run: {script: 'test "${#TOKEN}" = 29'}
    secrets: [TOKEN]
    env: ["TOKEN=something else"]
"""
    with closing(new_project(tmp_path, {FILE: workflow}, TOKEN=SECRET)) as project:
        done = project.podium("run", FILE)

        assert done.code == 0, done.err


@pytest.mark.req("R184")
def test_a_secret_without_a_value_is_said_before_anything_starts(tmp_path: Path) -> None:
    with closing(
        new_project(tmp_path, {FILE: "podium: 1\nname: x\nsecrets: [TOKEN]\nsteps:\n  a: {run: [env]}\n"})
    ) as project:
        done = project.podium("run", FILE)

        assert done.code == 2
        assert "TOKEN" in done.err


ASKING = """\
podium: 1
name: asking
inputs: {word: {type: string, default: none}}
vars: {held: none}
env: [AROUND]
secrets: [TOKEN]
steps:
  ask: {human: "Which word?", output: json}
  shows: {run: [echo, "${{ env.AROUND }}", "${{ steps.ask.output }}"]}
"""


@pytest.mark.req("R184")
@pytest.mark.parametrize(
    ("option", "named"),
    [("-i", 'input "word"'), ("--var", 'variable "held"')],
)
def test_a_secret_is_refused_among_the_values_that_are_kept_with_a_run(
    tmp_path: Path, option: str, named: str
) -> None:
    name = named.split('"')[1]
    with closing(new_project(tmp_path, {FILE: ASKING}, TOKEN=SECRET)) as project:
        done = project.podium("run", FILE, option, f"{name}=so {SECRET}")

        assert (done.code, done.err.split(",")[0]) == (2, f"{named} contains a secret")
        assert "under `secrets`" in done.err
        assert project.podium("runs").out == ""


@pytest.mark.req("R184")
def test_a_secret_that_a_person_or_a_variable_tells_is_masked_in_the_log(tmp_path: Path) -> None:
    with closing(
        new_project(tmp_path, {FILE: ASKING}, TOKEN=SECRET, AROUND=f"before {SECRET} after")
    ) as project:
        assert project.podium("run", FILE).code == 6

        done = project.podium("answer", json.dumps([SECRET, "and more"]))

        assert done.code == 0, done.err
        ask, shows = project.podium("show", "--json").data()["steps"]
        assert ask["output"] == ["***", "and more"]
        assert shows["output"] == "before *** after *** and more"
        told = "".join(record.body for record in project.records(project.run_id()))
        assert shapes_in(told.encode()) == []
