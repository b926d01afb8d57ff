"""`podium guide` while an agent works: what reaches it, what is recorded, and what a crash leaves (issue 17, point 7).

The stand-in for claude works until the person's files let it go on; the real program is in tests/live/test_guide.py.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podium.core.hash_chain import RunId
from tests.e2e.kit import Project, closing, new_project, until, until_exit

pytestmark = pytest.mark.slow
TEXT = "Paint it blue"
CLAUDE = """\
#!@PYTHON@
import json, os, select, sys, time
from pathlib import Path

PLACE = Path("@PLACE@")
tell = lambda **record: print(json.dumps(record), flush=True)
number = len([*PLACE.glob("prompt*")]) + 1
tell(type="system", subtype="init", session_id="s", model="claude-sonnet-5")
rest = b""
while b"\\n" not in rest:
    rest += os.read(0, 65536)
line, _, rest = rest.partition(b"\\n")
first = json.loads(line)
(PLACE / f"prompt{number}").write_text(first["message"]["content"])
heard = [first["message"]["content"]]
pending = []
while not (PLACE / f"answer{number}").exists():
    if b"\\n" in rest or select.select([0], [], [], 0.02)[0]:
        rest += b"" if b"\\n" in rest else os.read(0, 65536)
        *lines, rest = rest.split(b"\\n")
        pending += [json.loads(line) for line in lines]
        (PLACE / f"sent{number}").write_text("".join(one["message"]["content"] for one in pending))
    if (PLACE / f"read{number}").exists():
        for message in pending:
            heard.append(message["message"]["content"])
            tell(type="user", message=message["message"], uuid=message["uuid"], isReplay=True)
        pending = []
(PLACE / f"heard{number}").write_text("\\n".join(heard))
Path("src/paint.py").write_text("colour = " + repr("blue" if any("Paint it blue" in one for one in heard) else "red"))
tell(type="result", subtype="success", is_error=False, result="painted", total_cost_usd=0.1,
     modelUsage={"claude-sonnet-5": {"inputTokens": 1, "outputTokens": 1}})
"""
FLOW = """\
podium: 1
name: paint
agents: {claude: {command: @PROGRAM@}}
steps:
  paint:
    agent: claude
    prompt: Paint the shed
    touches: ["src/**"]
    retry: {attempts: 2, on_exhausted: fail}
    gates: [{run: [grep, -q, @WANTED@, src/paint.py]}]
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "signs"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path, place: Path) -> Iterator[Project]:
    program = tmp_path / "claude"
    program.write_text(
        CLAUDE.replace("@PLACE@", str(place)).replace("@PYTHON@", sys.executable), encoding="utf-8"
    )
    program.chmod(0o755)
    flow = FLOW.replace("@PROGRAM@", str(program)).replace("@WANTED@", "blue")
    made = new_project(tmp_path / "place", {"flow.yaml": flow, "src/app.py": "x = 1\n"})
    made.env["ANTHROPIC_API_KEY"] = "dummy-key"
    with closing(made):
        yield made


def begin(project: Project, place: Path, *words: str) -> subprocess.Popen[bytes]:
    number = len([*place.glob("prompt*")]) + 1
    child = project.start(*(words or ("run", "flow.yaml", "--sandbox", "none")))
    until((place / f"prompt{number}").exists, "the agent's start")
    return child


def guided(project: Project, run: RunId) -> list[tuple[Any, ...]]:
    events = [event for event in project.events(run) if event["type"] == "AttemptGuided"]
    return [(one["path"], one["attempt"], one["text"], one["by"], one.get("refused", "")) for one in events]


@pytest.mark.req("R198")
def test_a_working_agent_gets_guidance_once_and_the_log_says_who_gave_it_and_who_got_it(
    project: Project, place: Path
) -> None:
    child = begin(project, place)
    run = project.run_id()
    (place / "read1").touch()

    reply = project.podium("guide", run, TEXT, "--by", "ada").err

    assert "paint has got this guidance" in reply
    live = project.podium("show", run).out
    assert f'guided by ada: "{TEXT}"' in live
    (place / "answer1").touch()
    assert until_exit(child) == 0, project.talk()
    assert guided(project, run) == [("paint", 1, TEXT, "ada", "")]
    assert (place / "heard1").read_text().count(TEXT) == 1
    assert f'guided    paint attempt 1 by ada: "{TEXT}"' in (
        project.root / ".podium/runs" / run / "audit.log"
    ).read_text("utf-8")


def test_guidance_that_an_agent_did_not_read_before_its_answer_goes_to_its_next_attempt(
    project: Project, place: Path
) -> None:
    child = begin(project, place)
    run = project.run_id()

    reply = project.podium("guide", run, TEXT).err

    assert "paint gets this guidance with the next call of its model; if it ends before, the next" in reply
    (place / "answer1").touch()
    until((place / "prompt2").exists, "the second attempt")
    (place / "answer2").touch()
    assert until_exit(child) == 0, project.talk()
    assert guided(project, run) == []
    assert (place / "prompt2").read_text().count(TEXT) == 1


@pytest.mark.parametrize("is_read", [True, False], ids=["read", "sent"])
def test_guidance_survives_a_killed_engine_and_the_repeated_attempt_gets_it_once(
    project: Project, place: Path, is_read: bool
) -> None:
    child = begin(project, place)
    run = project.run_id()
    if is_read:
        (place / "read1").touch()
    project.podium("guide", run, TEXT, "--by", "ada")
    until((place / "sent1").exists, "the guidance at the agent")
    child.send_signal(signal.SIGKILL)
    until_exit(child)

    (place / "read2").touch()
    again = begin(project, place, "resume", run)
    project.until_event(run, "AttemptGuided", "paint")
    (place / "answer2").touch()
    assert until_exit(again) == 0, project.talk()

    assert guided(project, run) == [("paint", 1, TEXT, "ada", "")]
    assert (place / "heard2").read_text().count(TEXT) == 1
    assert (TEXT in (place / "prompt2").read_text()) is is_read


def test_an_attempt_that_failed_after_it_got_guidance_leaves_it_to_the_next_one_and_to_a_later_run(
    project: Project, place: Path
) -> None:
    flow = (project.root / "flow.yaml").read_text().replace("blue", "green")
    project.commit({"flow.yaml": flow}, "never satisfied")
    child = begin(project, place)
    run = project.run_id()
    (place / "read1").touch()
    project.podium("guide", run, TEXT)
    (place / "answer1").touch()
    (place / "answer2").touch()
    assert until_exit(child) == 1, project.talk()
    assert (place / "prompt2").read_text().count(TEXT) == 1

    (place / "answer3").touch()
    (place / "answer4").touch()
    project.podium("resume", run, "--yes")

    assert (place / "prompt3").read_text().count(TEXT) == 1
