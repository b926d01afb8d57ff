"""Watches for what a `wait` step waits for: a file, a commit, a step of another run, or a command that passes.

The engine handles signals and timers. Watching keeps no state: after a crash it starts again.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import anyio
from anyio import to_thread

from podium.attempt.command.checkout import run_in
from podium.attempt.command.result import CommandResult
from podium.attempt.file_facts import known_names
from podium.attempt.host import Host
from podium.attempt.workspace.workspace import open_workspace
from podium.core.events import AttemptStarted, WaitEnded
from podium.core.expressions.nodes import ExprError, Names
from podium.core.expressions.templates import fill
from podium.core.expressions.values import Meter, as_text
from podium.core.model import Command, Step, Wait
from podium.core.payloads import Amounts
from podium.core.types import Address, Millis
from podium.errors import ConfigurationError, PathViolation, PodiumError
from podium.files import atomic, bounded_json
from podium.files.inside import inside, open_inside
from podium.git.command import run
from podium.git.repository import Repository, commit_of, refs
from podium.tasks.task import WatchTask

POLL_S: Final = 0.2
POLL_RUNS_S: Final = 1.0
POLL_TIMEOUT: Final = Millis(300_000)
MAX_BYTES: Final = 1 << 20

Observation = Mapping[str, Any] | None


async def watch(task: WatchTask, host: Host) -> WaitEnded:
    """Returns when the condition holds; the engine cancels it at the step's timeout."""
    path, verb = task.started.path, task.step.verb
    assert isinstance(verb, Wait)
    try:
        names = await known_names(host, task.names(), tuple(verb.detail.values()), task.view)
        if verb.what == "poll":
            return _wait_ended(path, await _poll(host, verb, names, task.step, _poll_start(task, host)), host)
        look, every_s = _watcher(verb, names, task.run_branch, host)
        return WaitEnded(host.now(), path, "ok", await _until(look, every_s))
    except (PodiumError, ExprError) as error:
        reason = "path" if isinstance(error, PathViolation) else "error"
        message = host.mask.text(error.message if isinstance(error, PodiumError) else str(error))
        return WaitEnded(host.now(), path, "error", {"text": "", "message": message}, reason)


class SignalPlace(NamedTuple):
    """Where the signal of a person may be."""

    folder: Path
    """The worktree of the step; a file may also be in the project."""
    branches: tuple[str, ...]
    seen: Path
    """Stores what was there when the person began: a signal is about one attempt only."""
    started: AttemptStarted
    step: Step


def watch_for_person(
    wait: Wait, names: Names, place: SignalPlace, host: Host
) -> Callable[[], Awaitable[Mapping[str, Any]]]:
    """Notes what is there before the person begins, and returns what waits for the end of work done by hand."""
    due = _due(wait, place.started.at)
    if due is not None:
        return lambda: _pause_until(due, host)
    if wait.what == "poll":
        return lambda: _poll_for_person(wait, names, place, host)
    if wait.what == "step":
        look, every_s = _watcher(wait, names, "", host)
        return lambda: _until(look, every_s)
    text = as_text(fill(wait.detail[wait.what], names), Meter())
    if wait.what == "file":
        inside(host.project, text)
        look = _NewFile(host.project, place, text).look
    else:
        branch = fill(wait.detail.get("branch"), names)
        branches = place.branches if branch is None else (as_text(branch, Meter()),)
        look = _new_commits(text, branches, place.seen, host)
    return lambda: _until(look, POLL_S)


def _due(wait: Wait, start: Millis) -> Millis | None:
    """When work by hand that began at `start` is over; None if no clock decides it."""
    if wait.timer is not None:
        return Millis(start + wait.timer)
    if wait.minute_of_day is None:
        return None
    began = datetime.fromtimestamp(start / 1000).astimezone()
    hour, minute = divmod(wait.minute_of_day, 60)
    due = began.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return Millis(int((due if due > began else due + timedelta(days=1)).timestamp() * 1000))


async def _pause_until(due: Millis, host: Host) -> Mapping[str, Any]:
    await anyio.sleep(max(0, due - host.now()) / 1000)
    return {}


async def _poll_for_person(wait: Wait, names: Names, place: SignalPlace, host: Host) -> Mapping[str, Any]:
    """What the command printed when it passed; `failed` says that it ended with an exit code that is not pending."""
    result = await _poll(host, wait, names, place.step, replace(place.started, timeout=POLL_TIMEOUT))
    message = str(result.result.get("message") or "")
    text = str(result.result["text"]).rstrip("\n")
    return {"text": text or message, "failed": result.kind != "ok"}


async def _until(look: Callable[[], Awaitable[Observation]], every_s: float) -> Mapping[str, Any]:
    while True:
        observation = await look()
        if observation is not None:
            return observation
        await anyio.sleep(every_s)


def _watcher(
    verb: Wait, names: Names, run_branch: str, host: Host
) -> tuple[Callable[[], Awaitable[Observation]], float]:
    pattern = as_text(fill(verb.detail[verb.what], names), Meter())
    match verb.what:
        case "file":
            # Raises for a path outside the project, once and before the first check.
            inside(host.project, pattern)
            return _File(host.project, pattern).look, POLL_S
        case "commit":
            branch = fill(verb.detail.get("branch"), names)
            branch = run_branch if branch is None else as_text(branch, Meter())
            return _commits(pattern, branch, host), POLL_S
        case "step":
            return _step(pattern, host), POLL_RUNS_S
        case _:
            raise AssertionError(f"{verb.what} is not looked for here")


class _File:
    """A file counts if it did not change between two checks; otherwise its writer may not be done."""

    def __init__(self, project: Path, path: str) -> None:
        self._project = project
        self._path = path
        self._sign: tuple[int, int] | None = None

    async def look(self) -> Observation:
        return await to_thread.run_sync(self.look_once)

    def stamp(self) -> list[int] | None:
        """None if there is no such file."""
        try:
            status = inside(self._project, self._path).stat()
        except OSError:
            return None
        return [status.st_ino, status.st_size, status.st_mtime_ns]

    def look_once(self) -> Observation:
        try:
            status = inside(self._project, self._path).stat()
        except OSError:
            return None
        sign = (status.st_size, status.st_mtime_ns)
        if self._sign != sign:
            self._sign = sign
            return None
        return {"output": self._read(), "text": self._path}

    def _read(self) -> Any:
        try:
            with open_inside(self._project, self._path, "rb") as file:
                text = file.read(MAX_BYTES).decode("utf-8", "replace")
        except OSError as error:
            raise ConfigurationError(f'"{self._path}" is there, but cannot be read: {error}') from error
        try:
            value = bounded_json.loads(text)
            json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        except (ValueError, RecursionError):
            return text
        return value


class _NewFile:
    """A file in the worktree of the step or in the project, if it is not as it was when the person began."""

    def __init__(self, project: Path, place: SignalPlace, path: str) -> None:
        self._files = {str(root): _File(root, path) for root in (place.folder, project)}
        self._before = _stored(place.seen, {root: file.stamp() for root, file in self._files.items()})

    async def look(self) -> Observation:
        return await to_thread.run_sync(self._look)

    def _look(self) -> Observation:
        for root, file in self._files.items():
            stamp = file.stamp()
            # As JSON has it: without tuples.
            if stamp is not None and stamp != self._before.get(root):
                observation = file.look_once()
                if observation is not None:
                    return observation
        return None


def _stored(file: Path, value: dict[str, Any]) -> dict[str, Any]:
    """The value as it was stored first; a crash does not change what was there before."""
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        atomic.write(file, json.dumps(value).encode())
    stored: dict[str, Any] = json.loads(file.read_bytes())
    return stored


def _new_commits(
    pattern: str, branches: tuple[str, ...], seen: Path, host: Host
) -> Callable[[], Awaitable[Observation]]:
    repository = host.repository
    if repository is None:
        raise ConfigurationError("not a git repository: cannot wait for a commit")
    references = [f"refs/heads/{branch}" if branch else "HEAD" for branch in dict.fromkeys(branches)]

    def tips() -> dict[str, str | None]:
        return {reference: commit_of(refs(repository), reference) for reference in references}

    before = _stored(seen, tips())
    earlier = tuple(tip for tip in before.values() if tip is not None)

    def look() -> Observation:
        for reference, tip in tips().items():
            if tip is not None and tip not in earlier:
                observation = _commit_with(repository, pattern, tip, host.base_commit, *earlier)
                if observation is not None:
                    # What was on the branch before is not the work of this attempt.
                    return {
                        **observation,
                        "output": {**observation["output"], "since": before.get(reference)},
                    }
        return None

    async def looking() -> Observation:
        return await to_thread.run_sync(look)

    return looking


def _commits(pattern: str, branch: str, host: Host) -> Callable[[], Awaitable[Observation]]:
    repository = host.repository
    if repository is None:
        raise ConfigurationError("not a git repository: cannot wait for a commit")
    ref = f"refs/heads/{branch}" if branch else "HEAD"
    last_tip: list[str | None] = [None]

    def look() -> Observation:
        tip = commit_of(refs(repository), ref)
        if tip is None or tip == last_tip[0]:
            return None
        last_tip[0] = tip
        return _commit_with(repository, pattern, tip, host.base_commit)

    async def looking() -> Observation:
        return await to_thread.run_sync(look)

    return looking


def _commit_with(repository: Repository, pattern: str, tip: str, base: str | None, *seen: str) -> Observation:
    """The newest commit since the run started whose message contains the text."""
    since = tuple(f"^{commit}" for commit in (base, *seen) if commit is not None)
    args = ("rev-list", "--no-commit-header", "--max-count=1", "-F", f"--grep={pattern}", "--format=%H%n%s")
    out = run(refs(repository), *args, tip, *since, "--").out.decode("utf-8", "replace")
    if not out.strip():
        return None
    commit, _, subject = out.strip().partition("\n")
    return {"output": {"commit": commit, "message": subject}, "text": subject}


def _step(pattern: str, host: Host) -> Callable[[], Awaitable[Observation]]:
    workflow, sign, step = pattern.partition("/")
    if not (workflow and sign and step):
        raise ConfigurationError(f'wait.step "{pattern}" is not of the form workflow/step')

    async def look() -> Observation:
        # In this thread, which owns the connection to the store.
        passed = host.passed_steps(workflow, step)
        return {"output": pattern, "text": f"{pattern} has passed"} if passed else None

    return look


def _poll_start(task: WatchTask, host: Host) -> AttemptStarted:
    return AttemptStarted(
        host.now(),
        task.started.path,
        1,
        Amounts(),
        base=task.base,
        start=task.start or task.base,
        timeout=POLL_TIMEOUT,
    )


async def _poll(host: Host, verb: Wait, names: Names, owner: Step, start: AttemptStarted) -> CommandResult:
    """The result of the first call whose exit code is not one of `pending`."""
    step = Step(name=owner.name, verb=Command(argv=verb.detail["argv"]), touches=(), settings=owner.settings)
    pending = tuple(verb.detail.get("pending") or ())
    while True:
        async with open_workspace(host, start, step, kind="checkout", names=names) as workspace:
            result = await run_in(host, start, step, names, workspace)
        if result.kind in ("ok", "error") or result.finished.exit_code not in pending:
            return result
        await anyio.sleep(int(verb.detail["every"]) / 1000)


def _wait_ended(path: Address, result: CommandResult, host: Host) -> WaitEnded:
    match result.kind:
        case "ok":
            output = {"output": str(result.result["text"]).rstrip("\n")}
            return WaitEnded(host.now(), path, "ok", {**result.result, **output})
        case "error":
            return WaitEnded(host.now(), path, "error", result.result, result.reason)
        case _:
            return WaitEnded(host.now(), path, "failed", result.result, "poll")
