"""An agent that replays recordings of another one (X16), without its program, its network or its cost.

    agents: {claude: {type: recorded, dir: tests/recordings/fix}}

It answers only the recorded request: a changed prompt ends the step with the difference. Like a cast, a recording is
played by a real process (scripted/player.py), which writes the recorded files.
"""

from __future__ import annotations

import json
import os
import sys
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

from podium.adapters.agents.scripted.agent import PLAYER, ScriptedConversation
from podium.errors import ConfigurationError
from podium.files.inside import inside, read_file
from podium.files.path_rules import path_fault
from podium.ports.agent import AgentRequest, AgentResult, ProgramSpec
from podium.process.launch import Finished
from podium.recording import MAX_RECORDING, Recording, decode_recording, difference, file_name, result_for

RECORD_AGAIN = "if the change is meant, record again: podium run FILE --record FOLDER"


class Recorded:
    """`folder` has the recordings of all agents; without it, each agent's `dir` has its own."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def prepare(self, request: AgentRequest) -> tuple[ProgramSpec, RecordedConversation]:
        recording = _read(self._folder or _folder(request), request)
        changed = difference(recording, request)
        if changed:
            raise ConfigurationError(
                f"{request.path}, attempt {request.attempt}: the request differs from the recorded one\n{changed}",
                hint=RECORD_AGAIN,
            )
        task = json.dumps(_task(recording, request)).encode("ascii")
        argv = (sys.executable, "-I", "-S", str(PLAYER))
        program = ProgramSpec(argv=argv, stdin=task, reads=(PLAYER,))
        return program, RecordedConversation(result_for(recording.result, request))


class RecordedConversation(ScriptedConversation):
    """Returns the recorded result if the player succeeded."""

    def __init__(self, result: AgentResult) -> None:
        super().__init__()
        self._result = result

    def finish(self, finished: Finished) -> AgentResult:
        played = super().finish(finished)
        return replace(self._result, simulated=True) if played.trouble is None else played


def _folder(request: AgentRequest) -> Path:
    name = request.config.get("dir")
    if not isinstance(name, str):
        raise ConfigurationError(
            f"agents.{request.agent}.dir is missing",
            hint="name the folder that `podium run --record` wrote",
        )
    folder = inside(request.project, name)
    if not folder.is_dir():
        raise ConfigurationError(
            f'agents.{request.agent}.dir names "{name}", which is not a folder in the project'
        )
    return folder


def _read(folder: Path, request: AgentRequest) -> Recording:
    name = file_name(request.path, request.attempt)
    try:
        return decode_recording(read_file(folder / name, MAX_RECORDING), name)
    except FileNotFoundError:
        names = ", ".join(sorted(path.stem for path in folder.glob("*.json"))) or "none"
        raise ConfigurationError(
            f"recording {name} not found in {folder.name}; available: {names}", hint=RECORD_AGAIN
        ) from None


def _task(recording: Recording, request: AgentRequest) -> dict[str, Any]:
    for path in recording.files:
        if fault := path_fault(path):
            raise ConfigurationError(f'{file_name(request.path, request.attempt)}: path "{path}" {fault}')
    files = {path: file for path, file in recording.files.items() if file is not None}
    return {
        "root": "." if request.root is None else os.path.relpath(request.root, request.cwd),
        "delay_s": 0,
        "write": {
            path: {"base64": b64encode(file.content).decode("ascii"), "mode": file.mode}
            for path, file in files.items()
        },
        "delete": [path for path in recording.files if path not in files],
        "error": None,
        "exit": 0,
        "answer": {"text": recording.result.text},
    }
