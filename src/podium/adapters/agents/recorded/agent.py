"""An agent that plays recordings of another one (X16), without its program, its network or its price.

    agents: {claude: {type: recorded, dir: tests/recordings/fix}}

It answers only what was asked then: a prompt that has changed since ends the step with the difference. Like a script,
a recording is played by a real process (scripted/player.py), which leaves the files as they were left.
"""

from __future__ import annotations

import json
import os
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

from podium.adapters.agents.scripted.agent import PLAYER, ScriptedConversation
from podium.errors import ConfigurationError
from podium.files.inside import inside
from podium.files.path_rules import path_fault
from podium.ports.agent import AgentRequest, AgentResult, ProgramSpec
from podium.process.launch import Finished
from podium.recording import Recording, decode_recording, difference, file_name, result_for

AGAIN = "if the change is meant, record again: podium run FILE --record FOLDER"


class Recorded:
    """`folder` has the recordings of all agents; without it, each agent's `dir` has its own."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def prepare(self, request: AgentRequest) -> tuple[ProgramSpec, RecordedConversation]:
        recording = _read(self._folder or _named(request), request)
        changed = difference(recording, request)
        if changed:
            raise ConfigurationError(
                f"{request.path}, attempt {request.attempt}: what is asked is not what was recorded\n{changed}",
                hint=AGAIN,
            )
        part = json.dumps(_part(recording, request)).encode("ascii")
        argv = (sys.executable, "-I", "-S", str(PLAYER))
        program = ProgramSpec(argv=argv, stdin=part, reads=(PLAYER,))
        return program, RecordedConversation(result_for(recording.result, request))


class RecordedConversation(ScriptedConversation):
    """What was said is known; the process only has to have played it to the end."""

    def __init__(self, result: AgentResult) -> None:
        super().__init__()
        self._result = result

    def finish(self, finished: Finished) -> AgentResult:
        played = super().finish(finished)
        return self._result if played.trouble is None else played


def _named(request: AgentRequest) -> Path:
    named = request.config.get("dir")
    if not isinstance(named, str):
        raise ConfigurationError(
            f"agents.{request.agent}.dir is missing",
            hint="name the folder that `podium run --record` has filled",
        )
    folder = inside(request.project, named)
    if not folder.is_dir():
        raise ConfigurationError(
            f'agents.{request.agent}.dir names "{named}", which is no folder of the project'
        )
    return folder


def _read(folder: Path, request: AgentRequest) -> Recording:
    name = file_name(request.path, request.attempt)
    try:
        return decode_recording((folder / name).read_bytes(), name)
    except FileNotFoundError:
        there = ", ".join(sorted(path.stem for path in folder.glob("*.json"))) or "none"
        raise ConfigurationError(
            f"there is no recording {name} in {folder.name}; there are: {there}", hint=AGAIN
        ) from None


def _part(recording: Recording, request: AgentRequest) -> dict[str, Any]:
    for path in recording.files:
        if fault := path_fault(path):
            raise ConfigurationError(f'{file_name(request.path, request.attempt)}: path "{path}" {fault}')
    left = {path: found for path, found in recording.files.items() if found is not None}
    return {
        "root": "." if request.root is None else os.path.relpath(request.root, request.cwd),
        "delay_s": 0,
        "write": {
            path: {"base64": b64encode(found.content).decode("ascii"), "mode": found.mode}
            for path, found in left.items()
        },
        "delete": [path for path in recording.files if path not in left],
        "error": None,
        "exit": 0,
        "answer": {"text": recording.result.text},
    }
