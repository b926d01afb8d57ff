"""Writes the exchange of an attempt with its agent into the folder of `podium run --record` (X16)."""

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


def write_recording(attempt: AgentAttempt, request: AgentRequest, end: AttemptEnded) -> None:
    """Everything is masked. An attempt without an answer is not recorded."""
    folder, worker, result = attempt.host.record, attempt.exchange.worker, attempt.exchange.result
    if folder is None or worker is None or result is None:
        return
    mask = attempt.host.mask
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
        files=_files(attempt, end),
    )
    # Mask the encoded recording too: an object key or a file name may contain a secret.
    write_bytes(folder / file_name(request.path, request.attempt), mask.apply(encode_recording(recording)))


def _result(request: AgentRequest, end: AttemptEnded, result: AgentResult) -> AgentResult:
    if end.reason == "capture" and result.trouble is None:
        # Refused files are not stored, so a replay can only repeat the message about them.
        message = str((end.result or {}).get("message", ""))
        result = replace(result, trouble="failed", detail=message)
    return without_run_ids(result, request)


def _files(attempt: AgentAttempt, end: AttemptEnded) -> dict[str, RecordedFile | None]:
    repository = attempt.host.repository
    if repository is None or end.tree is None or attempt.verb.judge:
        return {}
    start = start_of(attempt.host, repository, attempt.started)
    return {
        path: None if mode not in MODES else RecordedFile(attempt.host.mask.apply(content), MODES[mode])
        for path, mode, content in changed_contents(repository, start, end.tree)
    }
