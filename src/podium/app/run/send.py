"""Say something to a run, whoever owns it: a living process hears it at once, else this one carries the run on."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import anyio

from podium.app.project import Office
from podium.app.query.inbox import ENDED
from podium.app.query.runs import find_run, rebuild
from podium.app.run.start import drive_async, open_run
from podium.attempt.site import Site, wall_clock
from podium.attempt.workspace.checkout_pool import discard_workspace
from podium.core.events import RunEnded
from podium.core.hash_chain import RunId
from podium.core.messages import Cancel, Guide, Pause, Refusal
from podium.core.state import State
from podium.core.types import ABANDONED
from podium.engine.inbox_files import clear
from podium.engine.lease import AlreadyOwned, is_owned, lease
from podium.engine.log import DONE, Log, check_unchanged, open_log, to_text
from podium.errors import EXIT_CANCELLED, ConfigurationError, PodiumError
from podium.process.sweep import sweep
from podium.runtime.commands import RunCommand, encode_command
from podium.runtime.records import read_events

LOOK_S: Final = 0.02
PATIENCE_S: Final = 30.0
WITHDRAWN: Final = "withdrawn: whoever said it could not carry the run on"


@dataclass(frozen=True, slots=True)
class SendResult:
    """`state` is how far the run has come if this process carried it on; None if another one does."""

    state: State | None


async def send(
    office: Office,
    run: RunId,
    message: RunCommand,
    *,
    carry_on: bool = True,
    park: bool = True,
    on_turn: Callable[[Log], None] | None = None,
    on_heard: Callable[[], None] | None = None,
    signals: bool = True,
) -> SendResult:
    """Leaves the message for the owner of the run, or becomes the owner. Raises with the reason if it is refused.

    `on_heard` is called as soon as it has been followed, before the run goes on.
    Without `carry_on` a run that nobody owns is left as it is, and hears the message when it is carried on.
    """
    head = office.store.head(run)
    if head is None:
        raise ConfigurationError(f"there is no run {run}", hint="podium runs lists them")
    if head.status in ENDED:
        raise ConfigurationError(f"run {run} has ended: {head.status}", hint=f"see: podium show {run}")
    if isinstance(message, Pause | Guide) and not is_owned(office.run_dir(run)):
        return await anyio.to_thread.run_sync(_note, office, run, message)
    name = uuid.uuid4().hex
    office.store.post(run, name, encode_command(message))
    deadline = time.monotonic() + PATIENCE_S
    state: State | None = None
    news = _News(office, run, name, on_turn, on_heard)
    while (reply := office.store.reply(run, name)) is None:
        if not is_owned(office.run_dir(run)):
            try:
                site = await anyio.to_thread.run_sync(open_run, office, run)  # It calls git, which blocks.
                if not carry_on:
                    check_unchanged(head, site.workflow)
                    return SendResult(None)
                state = await _carry(office, site, park=park, on_turn=news.on_turn, signals=signals)
            except PodiumError:
                if news.is_heard_here or _withdraw(office, run, name):
                    raise
        elif time.monotonic() > deadline:
            raise PodiumError(
                f"the owner of run {run} has not answered for {PATIENCE_S:.0f} s",
                hint="the message stays in its inbox",
            )
        else:
            await anyio.sleep(LOOK_S)
    if reply != DONE:
        raise ConfigurationError(reply)
    news.tell()
    return SendResult(state)


class _News:
    """Tells once that the letter was followed."""

    def __init__(
        self,
        office: Office,
        run: RunId,
        name: str,
        on_turn: Callable[[Log], None] | None,
        on_heard: Callable[[], None] | None,
    ) -> None:
        self._office = office
        self._letter = (run, name)
        self._on_turn = on_turn
        self._on_heard = on_heard
        self.is_heard_here = False

    def on_turn(self, log: Log) -> None:
        if not self.is_heard_here and self._office.store.reply(*self._letter) == DONE:
            self.is_heard_here = True
            self.tell()
        if self._on_turn is not None:
            self._on_turn(log)

    def tell(self) -> None:
        heard, self._on_heard = self._on_heard, None
        if heard is not None:
            heard()


def _withdraw(office: Office, run: RunId, name: str) -> bool:
    """Whether nobody has heard the letter or ever will: what was refused is not followed by the next owner either.

    Only an owner reads letters, so none is half read while the lease is ours; another owner gives its own reply.
    """
    try:
        with lease(office.run_dir(run)):
            for letter in office.store.letters(run):
                if letter.name == name:
                    office.store.answer(letter, WITHDRAWN)
    except AlreadyOwned:
        return False
    return office.store.reply(run, name) == WITHDRAWN


async def _carry(
    office: Office, site: Site, *, park: bool, on_turn: Callable[[Log], None] | None, signals: bool
) -> State | None:
    try:
        return await drive_async(office, site, park=park, on_turn=on_turn, signals=signals)
    except AlreadyOwned:
        # Somebody was faster; that process will hear the letter.
        return None


def _note(office: Office, run: RunId, message: Pause | Guide) -> SendResult:
    """Nobody works on the run and nothing has to be done about this now: it is written down and that is all."""
    site = open_run(office, run)
    with lease(site.run_dir):
        log = open_log(office.store, run, site.workflow, site.run_dir)
        try:
            said = log.say(message, site.now(), cause="note")
        finally:
            log.close()
    if isinstance(said, Refusal):
        raise ConfigurationError(said.message)
    return SendResult(log.state)


def abandon(office: Office, run: RunId, message: Cancel) -> None:
    """Ends a run that nobody can carry on, as its definition is another one or gone: its log is closed, and what its
    last owner left is cleared away."""
    with lease(office.run_dir(run)):
        epoch = office.store.claim(run)
        events = read_events(office.store, run)
        if events and isinstance(events[-1], RunEnded):
            raise ConfigurationError(f"run {run} has ended: {events[-1].status}")
        at = wall_clock()
        words = message.reason or "its definition has changed, so it could not be carried on"
        end = RunEnded(at, "cancelled", "cancelled", ABANDONED, EXIT_CANCELLED, {}, words)
        body = [(RunEnded.__name__, to_text(end))]
        cause = f"abandoned by {message.by}"
        office.store.append(run, body, after=len(events), epoch=epoch, cause=cause, status="cancelled")
        sweep(office.paths.marker(run))
        discard_workspace(office.paths.work_dir(run))
        clear(office.state_dir, run)
        rebuild(office.store, office.project, find_run(office.store, run), office.exporters_for)
