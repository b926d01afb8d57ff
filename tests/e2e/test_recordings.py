"""A run that is recorded and played back (X16): the same path without any agent, and no play where the prompt changed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kit import Project, closing, new_project

SECRET = "T0ken-with-canary-4711"
KEY = "sk-canary-key-0815-4711"
FILE = "workflows/w.yaml"

# It works for real: writes what differs from run to run, changes, removes, links, and says its secret aloud.
WORKER = r"""
import os, pathlib, sys
prompt = sys.stdin.read()
if "Judge" in prompt:
    nonce, tree = (line.split(": ")[1] for line in prompt.splitlines() if line.startswith(("nonce: ", "tree: ")))
    print('{"decision": "approve", "score": 8, "findings": [], "summary": "fine",'
          f' "nonce": "{nonce}", "tree": "{tree}"}}')
    sys.exit()
pathlib.Path("sub").mkdir(exist_ok=True)
tries = "feedback" in prompt.lower()
pathlib.Path("sub/made.txt").write_text("good\n" if tries else "bad\n")
pathlib.Path("raw.bin").write_bytes(b"\x00\xff" + os.environ["TOKEN"].encode())
pathlib.Path("tool.sh").write_text("#!/bin/sh\n")
pathlib.Path("tool.sh").chmod(0o755)
if not pathlib.Path("way").is_symlink():
    pathlib.Path("way").symlink_to("sub/made.txt")
pathlib.Path("old.txt").unlink(missing_ok=True)
print("done with " + os.environ["TOKEN"])
"""
WORKFLOW = f"""\
podium: 1
name: w
secrets: [TOKEN]
limits: {{{{unknown_cost: count_tokens}}}}
agents:
  worker: {{{{type: command, command: [{json.dumps(sys.executable)}, -I, {{worker}}]}}}}
steps:
  make:
    agent: worker
    prompt: "Make it ({{{{{{{{ run.id }}}}}}}} of {{{{{{{{ run.date }}}}}}}}, from {{{{{{{{ run.base }}}}}}}})."
    secrets: [TOKEN]
    touches: ["**"]
    gates: [{{{{name: proof, run: {{{{script: "echo it took 0.$$ s; grep -q good sub/made.txt"}}}}}}}}]
  look:
    review: worker
    of: make
  last: {{{{run: [grep, -q, good, way]}}}}
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("recordings")
    worker = folder / "worker.py"
    worker.write_text(WORKER, "utf-8")
    files = {FILE: WORKFLOW.format(worker=json.dumps(str(worker))), "old.txt": "old\n"}
    with closing(new_project(folder / "p", files, TOKEN=SECRET, ANTHROPIC_API_KEY=KEY)) as project:
        project.put({".podium/config.yaml": "sandbox: limits\n"})
        # Without one of its own a project takes over no links.
        (project.root / "kept").symlink_to(FILE)
        project.commit({}, "a link")
        done = project.podium("run", FILE, "--record", "tapes")
        assert done.code == 0, done.err
        # From now on there is nobody but the recordings.
        worker.unlink()
        yield project


def tape(project: Project, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((project.root / "tapes" / name).read_text("utf-8"))
    return found


def ends(project: Project) -> list[tuple[str, str, str]]:
    """Of the newest run."""
    with project.store() as store:
        run = store.heads()[0].run
    return [
        (event["path"], event["kind"], (event.get("result") or {}).get("text", ""))
        for event in project.events(run)
        if event["type"] == "AttemptEnded"
    ]


@pytest.mark.req("X16")
def test_every_exchange_is_a_readable_file_with_a_steady_name(recorded: Project) -> None:
    names = sorted(path.name for path in (recorded.root / "tapes").iterdir())
    made = tape(recorded, "make.2.json")

    assert names == ["look+worker.1.json", "make.1.json", "make.2.json"]
    assert made["prompt"][0] == "Make it (<run> of <date>, from <id>)."
    assert "it took <time>" in "\n".join(made["prompt"])
    assert made["result"]["trouble"] is None
    assert made["result"]["cost_usd"] is None
    assert tape(recorded, "make.1.json")["files"]["old.txt"] is None
    assert tape(recorded, "make.1.json")["files"]["tool.sh"]["mode"] == "program"
    assert tape(recorded, "make.1.json")["files"]["way"] == {"mode": "link", "text": "sub/made.txt"}
    assert list(made["files"]) == ["sub/made.txt"]
    assert tape(recorded, "look+worker.1.json")["result"]["value"]["nonce"] == "<nonce>"
    assert tape(recorded, "look+worker.1.json")["result"]["value"]["tree"] == "<tree>"


@pytest.mark.req("X16", "R187")
def test_no_secret_and_no_key_stands_in_a_recording(recorded: Project) -> None:
    for path in (recorded.root / "tapes").iterdir():
        data = path.read_bytes()
        assert SECRET.encode() not in data
        assert KEY.encode() not in data
    assert tape(recorded, "make.1.json")["result"]["text"] == ["done with ***", ""]


@pytest.mark.req("X16")
def test_what_was_recorded_is_played_without_its_agent(recorded: Project) -> None:
    """Binary files, programs, links and removals included: the last step reads through the link."""
    before = ends(recorded)

    done = recorded.podium("run", FILE, "--replay", "tapes", "--json")

    assert done.code == 0, done.err
    after = ends(recorded)
    assert [(path, kind) for path, kind, _ in after] == [(path, kind) for path, kind, _ in before]
    assert after[0][2] == "done with ***\n"


@pytest.mark.req("X16")
def test_a_prompt_that_has_changed_is_not_played_and_shown_as_a_difference(recorded: Project) -> None:
    text = (recorded.root / FILE).read_text("utf-8")
    recorded.put({"workflows/other.yaml": text.replace('"Make it (', '"Make it well (')})

    done = recorded.podium("run", "workflows/other.yaml", "--replay", "tapes", "--no-human")

    assert done.code == 1
    assert "-Make it (<run> of <date>, from <id>)." in done.err
    assert "+Make it well (<run> of <date>, from <id>)." in done.err
    assert "record again" in done.err


def test_a_recording_that_is_missing_is_named_with_those_that_are_there(recorded: Project) -> None:
    few = recorded.root / "few"
    few.mkdir(exist_ok=True)
    (few / "make.1.json").write_bytes((recorded.root / "tapes/make.1.json").read_bytes())

    done = recorded.podium("run", FILE, "--replay", "few", "--no-human")

    assert done.code == 1
    assert "recording make.2.json not found in few; available: make.1" in done.err


def test_an_agent_of_type_recorded_plays_its_own_folder(recorded: Project) -> None:
    text = (recorded.root / FILE).read_text("utf-8")
    start, end = text.index("{type: command"), text.index("\nsteps:")
    # Under the same name: it stands in the prompt, among the files to leave alone.
    recorded.put({FILE: text[:start] + "{type: recorded, dir: tapes}" + text[end:]})

    done = recorded.podium("run", FILE)
    recorded.put({FILE: text})

    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        (("--record", "tapes"), "holds recordings already"),
        (("--replay", "nowhere"), "holds no recordings"),
        (("--record", "a", "--replay", "tapes"), "exclude each other"),
    ],
)
def test_folders_that_cannot_be_used_are_refused_before_a_run_exists(
    recorded: Project, arguments: tuple[str, ...], fact: str
) -> None:
    done = recorded.podium("run", FILE, *arguments)

    assert done.code == 2
    assert fact in done.err


def test_a_run_outside_of_git_cannot_be_recorded(tmp_path: Path) -> None:
    flow = (
        "podium: 1\nname: w\nagents: {a: {type: scripted}}\nsteps: {s: {agent: a, prompt: x, touches: []}}\n"
    )
    with closing(new_project(tmp_path / "p", {FILE: flow}, git=False)) as project:
        done = project.podium("run", FILE, "--record", "tapes")

    assert done.code == 2
    assert "--record needs a git repository" in done.err
