"""Send a command to a run: its owner follows it at once; if it has none, this process drives the run."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import anyio

from podium.app.decide.judge import judge
from podium.app.query.runs import ENDED, definition_of
from podium.app.run.drive import NO_OBSERVER, Observer, drive
from podium.app.run.series import newest_of
from podium.core.events import AttemptGuided, Event, GuidanceGiven
from podium.core.evolve.evolve import fold
from podium.core.guidance import guidable
from podium.core.hash_chain import RunId
from podium.core.messages import Guide, Jump, Refusal
from podium.core.model import Block, Call, Workflow
from podium.core.queries.graph import body_of, order_of
from podium.core.state import Scope, State
from podium.core.types import Address
from podium.errors import ConfigurationError, PodiumError
from podium.fast_dataclass import dataclass
from podium.ports.runtime import (
    Accepted,
    AlreadyOwned,
    DrivenRun,
    NoOwner,
    OnTurn,
    RunCommand,
    check_unchanged,
)
from podium.runtime.records import events_of
from podium.views.evidence.decisions import Channel
from podium.views.run.labels import label_address, native_address

if TYPE_CHECKING:
    from podium.app.project import Project


LOOK_S: Final = 0.05
ANSWER_S: Final = 1.0
"""How long a working agent's reply is waited for: one that can take the text does so with its next call of its model."""
VISIT: Final = re.compile(r"~\d+")


@dataclass(frozen=True, slots=True)
class SendResult:
    """`state` is how far this process has driven the run; None if another one drives it."""

    state: State | None


async def send(  # noqa: PLR0913  # each is one thing that a sender decides
    project: Project,
    run: RunId,
    command: RunCommand,
    *,
    drives: bool = True,
    park: bool = True,
    observer: Observer = NO_OBSERVER,
    on_accepted: Callable[[], None] | None = None,
    signals: bool = True,
    channel: Channel = "cli",
) -> SendResult:
    """Leaves the command to the owner of the run, or becomes the owner. Raises with the reason if it is refused.

    `on_accepted` is called as soon as the run has followed the command, before it continues.
    Without `drives` a run that has no owner is left as it is, and follows the command when it is resumed.
    """
    head = project.run(run)
    if head.status in ENDED:
        newest = newest_of(project.runtime, head).run
        message, hint = f"run {run} has ended: {head.status}", f"see: podium show {run}"
        if newest != run:
            message, hint = f"run {run} has passed and continues as run {newest}", f"name that run: {newest}"
        raise ConfigurationError(message, hint=hint, code="run_ended")
    key = f"{channel}-{uuid.uuid4().hex}"
    notice = _Notice(key, observer.on_turn, on_accepted)
    observer = observer._replace(on_turn=notice.on_turn)
    state: State | None = None
    while isinstance(reply := await project.runtime.send(run, command, key=key), NoOwner):
        try:
            if not drives:
                prepared = await anyio.to_thread.run_sync(
                    project.prepare, head
                )  # It calls git, which blocks.
                check_unchanged(head, prepared.workflow)
                check_accepted(project, run, prepared.workflow, command)
                return SendResult(None)
            state = await drive(project, run, park=park, observer=observer, signals=signals)
        except AlreadyOwned:
            continue  # Another process was faster, and follows the command.
        except PodiumError:
            if notice.is_given or project.runtime.withdraw(run, key):
                raise
    if isinstance(reply, Refusal):
        raise ConfigurationError(reply.message, code="refused")
    notice.give()
    return SendResult(state)


def check_accepted(project: Project, run: RunId, workflow: Workflow, command: RunCommand) -> None:
    """Raises if the run would refuse the command; its sender does not wait until another process reads it."""
    refusal = judge(workflow, events_of(project.runtime.events(run)), command)
    if refusal is not None:
        raise ConfigurationError(refusal.message, code="refused")


@dataclass(frozen=True, slots=True)
class GuidanceReply:
    """The attempts that are working: what each of them does with the guidance."""

    reached: tuple[Address, ...] = ()
    waiting: tuple[Address, ...] = ()
    """They were sent it and have not confirmed it yet, or their agent has not started yet."""
    refused: tuple[tuple[Address, str], ...] = ()
    """Those that cannot take it, with the reason."""


async def guide(project: Project, run: RunId, command: Guide, *, channel: Channel = "cli") -> GuidanceReply:
    """Send guidance, and find out which of the agents that are working get it."""
    head = project.run(run)
    before = head.last_seq
    await send(project, run, command, drives=False, channel=channel)
    workflow = definition_of(project, head)
    deadline = time.monotonic() + ANSWER_S
    while True:
        is_owned = project.runtime.is_owned(run)
        reply = _reply(events_of(project.runtime.events(run)), before, workflow if is_owned else None)
        if not reply.waiting or time.monotonic() > deadline:
            return reply
        await anyio.sleep(LOOK_S)


def _reply(events: Sequence[Event], before: int, workflow: Workflow | None) -> GuidanceReply:
    # As the run has stored it: secrets are masked.
    text = next((event.text for event in events[before:] if isinstance(event, GuidanceGiven)), "")
    guided = [event for event in events[before:] if isinstance(event, AttemptGuided) and event.text == text]
    answered = {event.path for event in guided}
    lacking = () if workflow is None else guidable(fold(workflow, events), text)
    return GuidanceReply(
        reached=tuple(event.path for event in guided if not event.refused),
        waiting=tuple(leaf.place.path for leaf in lacking if leaf.place.path not in answered),
        refused=tuple((event.path, event.refused) for event in guided if event.refused),
    )


def jump_to(project: Project, run: RunId, step: str, *, by: str, why: str) -> Jump:
    """The command that returns a run to a step, which may be written as in a file of another format."""
    head = project.run(run)
    if head.status in ENDED:
        raise ConfigurationError(
            f"run {run} has ended: {head.status}", hint=f"podium rerun {run} {step}", code="run_ended"
        )
    workflow = project.prepare(head).workflow
    state = fold(workflow, events_of(project.runtime.events(run)))
    path = native_address(step, workflow.labels.steps)
    block, _, name = path.rpartition("/")
    targets = dict(_entered_steps(state))
    scopes = [
        scope
        for scope, names in targets.items()
        if name in names and (not block or block in (scope, VISIT.sub("", scope)))
    ]
    if len(scopes) == 1:
        return Jump(scopes[0], name, by, why)
    labels = workflow.labels.steps
    possible = [
        label_address(Address(f"{scope}/{each}".lstrip("/")), labels)
        for scope, names in targets.items()
        for each in names
    ]
    fact = (
        "is a step of several open blocks"
        if scopes
        else "is not a step that this run has entered and can return to"
    )
    raise ConfigurationError(f'"{step}" {fact}', hint=f"choose from {', '.join(possible)}", code="refused")


def _entered_steps(state: State) -> Iterator[tuple[Address, tuple[str, ...]]]:
    """Each open sequence with the steps that it has entered."""
    for path, scope in state.instances.items():
        if not isinstance(scope, Scope) or scope.phase != "open" or scope.closing or order_of(scope) != "seq":
            continue
        verb = scope.place.step.verb
        body = body_of(verb) if isinstance(verb, Block | Call) else None
        if body is not None:
            yield path, tuple(name for name, index in body.index.items() if index < scope.next)


class _Notice:
    """Tells once that the command was accepted."""

    def __init__(self, key: str, on_turn: OnTurn | None, on_accepted: Callable[[], None] | None) -> None:
        self._key = key
        self._on_turn = on_turn
        self._on_accepted = on_accepted
        self.is_given = False

    def on_turn(self, driven: DrivenRun) -> None:
        if isinstance(driven.replies.get(self._key), Accepted):
            self.give()
        if self._on_turn is not None:
            self._on_turn(driven)

    def give(self) -> None:
        if not self.is_given and self._on_accepted is not None:
            self._on_accepted()
        self.is_given = True
