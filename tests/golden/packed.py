"""Projects that an old version of Podium wrote, unpacked into a folder of the test, and the answers stored with them.

`tools/golden_projects.py` packs them. The folder is never the one in which the old version worked, so each test also
shows that a project may be moved. An answer that was wrong is corrected in `NAME.corrected.json`, which says why.
"""

from __future__ import annotations

import json
import re
import tarfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from click.testing import CliRunner

from podium.errors import PodiumError
from podium.frontends.cli.main import podium
from tools.golden_driver import read_answer

ARCHIVES: Final = Path(__file__).parent / "projects"
NAMES: Final = tuple(sorted(path.name.removesuffix(".tar.gz") for path in ARCHIVES.glob("*.tar.gz")))


@dataclass(frozen=True, slots=True)
class Answer:
    question: tuple[str, ...]
    exit_code: int
    content: Any


def unpack(name: str, folder: Path) -> Path:
    root = folder / "project"
    with tarfile.open(ARCHIVES / f"{name}.tar.gz") as archive:
        # These archives are ours, and checking each path against links takes longer than writing the file.
        archive.extractall(root, filter="fully_trusted")
    return root


@cache
def stored_answers(name: str) -> tuple[Answer, ...]:
    corrected = {answer.question: answer for answer in _answers(ARCHIVES / f"{name}.corrected.json")}
    stored = _answers(ARCHIVES / f"{name}.json")
    assert corrected.keys() <= {answer.question for answer in stored}
    return tuple(corrected.get(answer.question, answer) for answer in stored)


def _answers(file: Path) -> tuple[Answer, ...]:
    """The answers in a file; none if there is no such file."""
    content = json.loads(file.read_text("utf-8")) if file.exists() else {"answers": ()}
    return tuple(
        Answer(tuple(entry["question"]), entry["exit_code"], entry["answer"]) for entry in content["answers"]
    )


def stored_answer(name: str, *question: str) -> Any:
    return next(stored.content for stored in stored_answers(name) if stored.question == question)


def stored_runs(name: str) -> dict[str, str]:
    """The newest run of each workflow, by the name of the workflow."""
    return {str(run["workflow"]): str(run["run"]) for run in reversed(stored_answer(name, "runs", "--json"))}


def answer_now(*question: str) -> Answer:
    """The answer of the code under test, in the current folder."""
    result = CliRunner().invoke(podium, question, standalone_mode=False)
    if isinstance(result.exception, PodiumError):
        raise result.exception
    assert result.exception is None, f"podium {' '.join(question)}: {result.exception!r}"
    return Answer(question, int(result.return_value or 0), read_answer(question, result.stdout))


def comparable(answer: Answer) -> Any:
    """The content without what may differ: named new fields, the age of open steps, the wording of `verify` for people."""
    match answer.question[0]:
        case "show":
            content = as_before(answer.content)
            steps = [_without_age(step) for step in content["steps"]]
            asked = {
                step["path"].rpartition("#")[0]
                for step in steps
                if step["role"] == "question" and step["outcome"] is None
            }
            return {**content, "steps": [_waiting(step) if step["path"] in asked else step for step in steps]}
        case "runs":
            return [as_before(run) for run in answer.content]
        case "inbox":
            return [_old_question(question) for question in answer.content]
        case "verify" if isinstance(answer.content, str):
            return re.findall(r"[0-9a-f]{64}|[\w-]*\d[\w-]*", answer.content)
        case _:
            return answer.content


def _waiting(step: dict[str, Any]) -> dict[str, Any]:
    """The old version said that a step about which Podium asks is being checked; now it waits."""
    return {**step, "status": "waiting"} if step["status"] == "checking" else step


ADDED_TO_RUN = frozenset({"why", "raised"})
ADDED_TO_STEP = frozenset({"why", "repairs"})
ADDED_TO_QUESTION = frozenset(
    {"choices", "evidence", "exhibits", "leads_to", "presence", "project", "rule", "set_aside", "until"}
)
"""Fields that the old version did not print."""
REWORDED = {"long failed: grep ended with 1": "long: grep ended with 1"}
"""Reasons in questions that are worded in another way now."""


def as_before(run: dict[str, Any]) -> dict[str, Any]:
    """What was printed about a run, without fields that are new by name; everything else has to be equal."""
    parts: dict[str, Any] = {}
    if "steps" in run:
        parts["steps"] = [_old_step(step) for step in run["steps"]]
    if "pending" in run:
        parts["pending"] = [_old_question(question) for question in run["pending"]]
    return {**_without(run, ADDED_TO_RUN), **parts}


def _without(row: dict[str, Any], fields: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in fields}


def _old_question(question: dict[str, Any]) -> dict[str, Any]:
    why = question["why"]
    return {**_without(question, ADDED_TO_QUESTION), "why": REWORDED.get(why, why)}


def _old_step(step: dict[str, Any]) -> dict[str, Any]:
    """The old version printed an artifact as the text of a Python dict."""
    old = _without(step, ADDED_TO_STEP)
    if "artifacts" in step:
        old["artifacts"] = [
            each if isinstance(each, str) else str({"file": each["file"], "hash": each["sha256"]})
            for each in step["artifacts"]
        ]
    return old


def _without_age(step: dict[str, Any]) -> dict[str, Any]:
    """The duration of an open step is the time until now."""
    return step if step["status"] == "ended" else {**step, "duration_s": None}
