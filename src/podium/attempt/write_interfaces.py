"""Writes the interfaces of a feature into the tree, before its components are built against them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anyio import to_thread

from podium.attempt.file_facts import known_names
from podium.attempt.host import Host
from podium.attempt.result import attempt_ended
from podium.attempt.reuse import reuse_or
from podium.attempt.workspace.workspace import CaptureRefused, Workspace, capture_change, open_workspace
from podium.core.events import AttemptEnded, AttemptStarted
from podium.core.expressions.nodes import Names
from podium.core.expressions.templates import fill
from podium.core.expressions.values import WrongType, is_map
from podium.core.model import Step, Write
from podium.files.inside import open_inside
from podium.tasks.prior_results import request_key
from podium.tasks.report import AttemptResult
from podium.tasks.task import AttemptTask


async def work(task: AttemptTask, host: Host) -> AttemptEnded:
    started, step = task.started, task.step
    verb = step.verb
    assert isinstance(verb, Write)
    names = await known_names(host, task.names(), (verb.files,), task.view)
    texts = _texts(fill(verb.files, names))
    key = request_key(started, "write", texts)
    return await reuse_or(host, task, key, lambda: _write_and_capture(started, host, step, names, texts))


async def _write_and_capture(
    started: AttemptStarted, host: Host, step: Step, names: Names, texts: Mapping[str, str]
) -> AttemptEnded:
    async with open_workspace(host, started, step, kind="checkout", names=names) as workspace:
        await to_thread.run_sync(_write, workspace, texts)
        change = await capture_change(host, workspace, started)
    if isinstance(change, CaptureRefused):
        refused: AttemptResult = {"text": "", "message": change.message}
        return attempt_ended(host, started, "failed", change.reason, result=refused, tree=started.start)
    written = list(change.files) if host.repository is not None else list(texts)
    text = "\n".join(texts)
    result: AttemptResult = {"text": text, "output": text, "files": written}
    return attempt_ended(
        host, started, "ok", result=result, tree=change.tree or started.start, change=change.change
    )


def _texts(interfaces: Any) -> dict[str, str]:
    """The text of each interface by file; an interface without a text is not written."""
    if not is_map(interfaces):
        raise WrongType("interfaces must be a map of names")
    texts: dict[str, str] = {}
    for name, entry in interfaces.items():
        if not isinstance(entry, Mapping):
            raise WrongType(f"interface {name} must be a map with file and text")
        if entry.get("file") and entry.get("text") is not None:
            texts[str(entry["file"])] = str(entry["text"])
    return texts


def _write(workspace: Workspace, texts: Mapping[str, str]) -> None:
    for path, text in texts.items():
        with open_inside(workspace.folder, path, "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
