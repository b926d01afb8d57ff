"""Carries out a step that is a run of its own in another repository: starts it, or finds it again, and waits for its end.

The name of the run follows from the attempt. After a crash the repeated attempt therefore goes on with the same run.
"""

from __future__ import annotations

import hashlib
from functools import partial

import anyio

from podium.attempt.file_facts import known_names
from podium.attempt.host import Host
from podium.attempt.result import attempt_ended
from podium.attempt.reuse import reuse_or
from podium.core.events import AttemptEnded, AttemptStarted
from podium.core.expressions.templates import fill
from podium.core.step_settings import ChildRun
from podium.core.types import AnswerKind
from podium.errors import ConfigurationError
from podium.fast_dataclass import replace
from podium.ports.agent import Progress
from podium.ports.child_runs import ChildEnd, ChildOrder
from podium.tasks.prior_results import request_key
from podium.tasks.report import AttemptResult
from podium.tasks.task import AttemptTask, ChildRunWork


async def work(task: AttemptTask, host: Host) -> AttemptEnded:
    order = await _order(task, host)
    verb = _verb(task)
    key = request_key(task.started, "child_run", verb.place.folder, verb.place.file, order.inputs)
    return await reuse_or(host, task, key, partial(_run, task, host, order))


async def cancel(task: AttemptTask, host: Host) -> AttemptEnded:
    """The end of an attempt that was stopped, with what its run has used; the run is cancelled as well."""
    end = await host.child_runs.cancel(_named(task, host))
    return _ended(task, host, "cancelled", "cancelled", end, "it was cancelled")


async def _run(task: AttemptTask, host: Host, order: ChildOrder) -> AttemptEnded:
    limit = task.started.timeout
    with anyio.move_on_after(None if limit is None else limit / 1000):
        end = await host.child_runs.run(order, partial(_tell, task, host))
        if end.status == "passed":
            return _ended(task, host, "ok", "", end, "passed")
        # A failure that the run did not route; what it says is the reason here, too.
        words = f"{end.status}: {end.message}" if end.message else end.status
        return _ended(task, host, "failed", "child", end, words)
    stopped = await host.child_runs.cancel(order)
    return _ended(task, host, "timeout", "timeout", stopped, "cancelled at the timeout of this step")


def _tell(task: AttemptTask, host: Host, line: str) -> None:
    host.on_progress(task.started.path, Progress("note", host.mask.text(line)))


async def _order(task: AttemptTask, host: Host) -> ChildOrder:
    verb, work = _verb(task), task.work
    assert isinstance(work, ChildRunWork)
    names = await known_names(host, task.names(), tuple(value for _, value in verb.values), task.view)
    inputs = {name: fill(value, names) for name, value in verb.values}
    limits = task.started.reserve
    return replace(_named(task, host), inputs=inputs, limits=limits, no_human=work.no_human)


def _named(task: AttemptTask, host: Host) -> ChildOrder:
    place = _verb(task).place
    folder = (host.project / place.folder).resolve()
    if not folder.is_dir():
        raise ConfigurationError(f"{place.folder} does not exist", hint="clone the repository to that folder")
    parent = f"{host.run} of {host.project.name}, step {task.started.path}"
    return ChildOrder(
        name=run_name(host.run, task.started),
        parent=parent,
        folder=folder,
        file=place.file,
        inputs={},
        limits=task.started.reserve,
    )


def run_name(run: str, started: AttemptStarted) -> str:
    tail = hashlib.sha256(f"{started.path}\0{started.attempt}".encode()).hexdigest()[:6]
    return f"{run}-{tail}"


def _ended(
    task: AttemptTask, host: Host, kind: AnswerKind, reason: str, end: ChildEnd | None, words: str
) -> AttemptEnded:
    started, place = task.started, _verb(task).place
    text = host.mask.text(f"run {run_name(host.run, started)} of {place.file} in {place.folder}: {words}")
    result: AttemptResult = {"text": text}
    if kind == "ok" and end is not None:
        result["output"] = dict(end.outputs)
    else:
        result["message"] = text
    ended = attempt_ended(host, started, kind, reason, result=result, tree=started.start)
    return ended if end is None else replace(ended, used=end.used)


def _verb(task: AttemptTask) -> ChildRun:
    assert isinstance(task.step.verb, ChildRun)
    return task.step.verb
