"""Writes what passed between an attempt and its agent into the folder of `podium run --record` (X16)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from podium.attempt.agent.agent_attempt import AgentAttempt
from podium.attempt.artifacts import write_bytes
from podium.attempt.workspace.workspace import start_of
from podium.core.events import AttemptEnded
from podium.git.trees.diff import changed_contents
from podium.ports.agent import AgentRequest, AgentResult
from podium.recording import (
    Mode,
    RecordedFile,
    Recording,
    encode_recording,
    file_name,
    without_run_ids,
    without_run_values,
)

MODES: Final[Mapping[str, Mode]] = {"100644": "file", "100755": "program", "120000": "link"}


def write_recording(asking: AgentAttempt, request: AgentRequest, end: AttemptEnded) -> None:
    """Through the mask, all of it. What has no answer was no exchange."""
    folder, worker, result = asking.host.record, asking.story.worker, asking.story.result
    if folder is None or worker is None or result is None:
        return
    mask = asking.host.mask
    recording = Recording(
        path=request.path,
        attempt=request.attempt,
        agent=worker.agent,
        type=worker.type,
        model=worker.model,
        role=worker.role,
        system=mask.text(without_run_values(request.system, request)),
        prompt=mask.text(without_run_values(request.prompt, request)),
        schema=request.schema,
        result=_result(request, end, result),
        files=_files(asking, end),
    )
    # Once more as a whole: a key of an object or the name of a file may hold a secret too.
    write_bytes(folder / file_name(request.path, request.attempt), mask.apply(encode_recording(recording)))


def _result(request: AgentRequest, end: AttemptEnded, result: AgentResult) -> AgentResult:
    if end.reason == "capture" and result.trouble is None:
        # Files that may not be taken over are not kept, so that only what was said of them can be played.
        message = str((end.result or {}).get("message", ""))
        result = replace(result, trouble="failed", detail=message)
    return without_run_ids(result, request)


def _files(asking: AgentAttempt, end: AttemptEnded) -> dict[str, RecordedFile | None]:
    repository = asking.host.repository
    if repository is None or end.tree is None or asking.verb.judge:
        return {}
    start = start_of(asking.host, repository, asking.asked)
    return {
        path: None if mode not in MODES else RecordedFile(asking.host.mask.apply(content), MODES[mode])
        for path, mode, content in changed_contents(repository, start, end.tree)
    }
