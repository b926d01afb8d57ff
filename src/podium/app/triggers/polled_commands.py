"""Runs the commands of triggers, in their sandbox on the committed tree; each line that one prints is an event.

A line is a JSON map with an `id`, or plain text, which is its own id.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio import to_thread

from podium.app.run.baseline import beside
from podium.app.run.start import RunSource, prepare_run
from podium.app.triggers.definitions import DefinedTrigger
from podium.app.triggers.event_sources import new_event
from podium.attempt.command.checkout import CommandAttempt, open_checkout, run_in
from podium.core.events import AttemptStarted
from podium.core.hash_chain import RunId
from podium.core.model import Command, Step
from podium.core.payloads import Amounts
from podium.core.queries.static_names import static_names
from podium.core.types import Address, Millis
from podium.errors import PathViolation, PodiumError
from podium.fast_dataclass import dataclass
from podium.files import bounded_json
from podium.files.inside import read_file
from podium.git.repository import Repository, tree_of
from podium.ports.store import TriggerEvent
from podium.process.detach import DetachedProcess, start_detached, stop
from podium.workflow.compile.values import CompileContext
from podium.workflow.compile.work import command_step
from podium.workflow.schema.reader import read
from podium.workflow.schema.step import Step as RawStep

if TYPE_CHECKING:
    from podium.app.project import Project

MAX_PRINTED: Final = 1 << 20
MAX_LINES: Final = 1000
MAX_ID: Final = 200
PATIENCE_S: Final = 5.0
TIMEOUT: Final = "1m"


@dataclass(slots=True)
class CommandPoller:
    """Starts a process for each command that is due, and looks at what it has printed when it has ended.

    In this process a command would be swept up together with the processes that drive runs.
    """

    project: Project
    _due: dict[tuple[str, str], Millis] = field(default_factory=dict)
    _running: dict[tuple[str, str], tuple[DetachedProcess, Path]] = field(default_factory=dict)

    @property
    def is_busy(self) -> bool:
        return bool(self._running)

    def events(self, defined: DefinedTrigger, now: Millis) -> list[TriggerEvent]:
        """The events of a command that has ended; starts it if it is due. Raises PodiumError if it failed."""
        running = self._running.get(defined.key)
        if running is not None and running[0].poll() is not None:
            del self._running[defined.key]
            return _events(defined, _read_lines(running[1]), now)
        due, every = self._due.get(defined.key), defined.trigger.every or Millis(0)
        # A clock that was set back must not stop the command for long.
        if running is None and (due is None or now >= due or due - now > every):
            self._due[defined.key] = Millis(now + every)
            self._running[defined.key] = self._start(defined)
        return []

    def _start(self, defined: DefinedTrigger) -> tuple[DetachedProcess, Path]:
        name = hashlib.sha256(defined.label.encode()).hexdigest()[:16]
        output = self.project.paths.state_dir / "triggers" / f"{name}.json"
        output.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        output.unlink(missing_ok=True)
        poll = ("serve", "--poll", f"{defined.file}:{defined.name}", "--json")
        return start_detached(*poll, cwd=self.project.root, output=output), output

    def close(self) -> None:
        stop([process for process, _ in self._running.values()], patience_s=PATIENCE_S)


def _read_lines(output: Path) -> list[str]:
    """What `podium serve --poll` printed: lines, or its error."""
    try:
        text = read_file(output, MAX_PRINTED * 2).decode("utf-8", "replace")
        # With an error, a message for people follows.
        answer = bounded_json.loads(text.partition("\n")[0])
    except (OSError, ValueError, PathViolation):
        raise PodiumError("the process that runs its command was ended") from None
    if "error" in answer:
        raise PodiumError(str(answer["error"]["message"]))
    lines: list[str] = answer["lines"]
    return lines


def poll_once(project: Project, repository: Repository, defined: DefinedTrigger, commit: str) -> list[str]:
    """The lines that the command of a trigger prints on the committed tree; raises PodiumError if it failed."""
    printed = anyio.run(_run, project, repository, defined, commit)
    return [line.strip() for line in printed.splitlines() if line.strip()]


async def _run(project: Project, repository: Repository, defined: DefinedTrigger, commit: str) -> str:
    workflow = defined.definition.workflow
    step = _step(defined)
    assert isinstance(step.verb, Command)
    run, source = RunId(f"trigger-{defined.name}"), RunSource(file=defined.file)
    prepared = await to_thread.run_sync(prepare_run, project, run, workflow, source)
    tree = await to_thread.run_sync(tree_of, repository, commit)
    started = AttemptStarted(
        at=prepared.host.now(),
        path=Address("trigger"),
        attempt=1,
        reserve=Amounts(),
        base=tree,
        start=tree,
        timeout=step.timeout,
    )
    names = static_names(workflow, {})
    async with beside(prepared.host) as host:
        attempt = CommandAttempt(host, started, step, step.verb, names, tree, is_gate=False)
        async with open_checkout(attempt, tree) as workspace:
            outcome = await run_in(host, started, step, names, workspace)
    if outcome.kind != "ok":
        raise PodiumError(f"its command failed: {outcome.first_line}")
    return outcome.finished.stdout.tail(MAX_PRINTED)


def _events(defined: DefinedTrigger, lines: list[str], now: Millis) -> list[TriggerEvent]:
    if len(lines) > MAX_LINES:
        raise PodiumError(f"its command printed {len(lines)} lines; at most {MAX_LINES} are events")
    return [_event(defined, line, now) for line in lines]


def _step(defined: DefinedTrigger) -> Step:
    command = defined.trigger.command
    assert command is not None
    keys = {key: command.get(key) for key in command.written_keys()}
    plain = {key: list(value) if isinstance(value, tuple) else value for key, value in keys.items()}
    plain["timeout"] = TIMEOUT if command.timeout is None else f"{command.timeout // 1000}s"
    raw = read(RawStep, plain).value
    assert raw is not None
    return command_step(CompileContext(defined.definition.context), "trigger", raw)


def _event(defined: DefinedTrigger, line: str, now: Millis) -> TriggerEvent:
    value: Any = line
    if line.startswith("{"):
        try:
            value = bounded_json.loads(line)
        except ValueError as error:
            raise PodiumError(f"its command printed a line that is not JSON: {error}") from error
    name = value.get("id") if isinstance(value, dict) else line
    if not isinstance(name, str | int) or not str(name) or len(str(name)) > MAX_ID:
        raise PodiumError(
            f"its command printed an event without an id of at most {MAX_ID} characters: {json.dumps(value)[:100]}"
        )
    try:
        return new_event(defined, str(name), now, {"value": value})
    except ValueError as error:
        raise PodiumError(f"its command printed a line that cannot be stored: {error}") from error
