"""Drives one run: messages in, turns stored, effects performed, their reports the next messages.

One task takes turns; every effect that takes time has a task of its own, which ends by posting its report. What other
processes say comes through letters; timers are absolute. Nothing here decides: that is the core's.
"""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, Literal, NamedTuple, TypeAlias

import anyio
from anyio.abc import TaskGroup

from podium.attempt.artifacts import publish
from podium.attempt.reuse import prior_approvals
from podium.attempt.site import Site
from podium.core.effects import AskPerson, CancelAttempt, Effect, EffectKey, RunAttempt
from podium.core.events import AttemptEnded, Event, StepEnded
from podium.core.messages import Approve, Message, Recover, Refusal, Report
from podium.core.state import State, is_parkable
from podium.engine import effects as perform
from podium.engine.effects import Work
from podium.engine.inbox_files import InboxFiles
from podium.engine.log import Log
from podium.errors import disk_fault
from podium.ports.exporter import RunExporter
from podium.ports.store import QueuedCommand, Store
from podium.recording import each_text
from podium.runtime import commands
from podium.runtime.commands import ManualWorkDone
from podium.runtime.question_text import question_renderer
from podium.runtime.status import waits_for_person
from podium.runtime.timers import Timers

LISTEN_S: Final = 0.1
"""How often letters are looked for: a person's answer is heard well within 300 ms, for a tenth of a percent of a core."""

SHORT: Final = 5000
"""Milliseconds for which it is not worth letting go of a run."""

INBOX: Final = "inbox"

Park: TypeAlias = bool | Literal["clock"]
"""Whether to let go of a run that only a person or a signal can move on; "clock": also if the time can."""

OnTurn: TypeAlias = Callable[[Log], None]


class _Mail(NamedTuple):
    message: Message
    cause: str
    letter: QueuedCommand | None = None


class RunLoop:
    def __init__(
        self,
        log: Log,
        site: Site,
        store: Store,
        *,
        park: Park,
        on_turn: OnTurn | None = None,
        exporters: Sequence[RunExporter] = (),
    ) -> None:
        self._log = log
        self._site = site
        self._store = store
        self._park = park
        self._on_turn = on_turn
        self._mail: deque[_Mail] = deque()
        self._wake = anyio.Event()
        self._timers = Timers()
        self._inbox = InboxFiles(site.state_dir, site.run, question_renderer(site.project), exporters)
        self._running: dict[anyio.CancelScope, EffectKey] = {}
        """Work of a person may be laid out and taken in at the same time, so a key can stand here twice."""
        self._read: set[int] = set()
        self._stamp = -1
        self._group: TaskGroup

    async def drive(self, *first: Message) -> State:
        """Until the run has ended, or stands and nobody here can move it on."""
        async with anyio.create_task_group() as self._group:
            for message in first:
                self._post(message, "engine")
            self._collect()
            self._group.start_soon(self._listen)
            while (mail := await self._next()) is not None:
                self._take(mail)
            self._group.cancel_scope.cancel()
        return self._log.state

    async def _next(self) -> _Mail | None:
        while True:
            now = self._site.now()
            fired = self._timers.due(now)
            if fired is not None:
                return _Mail(fired, "timer")
            if self._mail:
                return self._mail.popleft()
            if self._stands():
                return None
            due = self._timers.next()
            with anyio.move_on_after(None if due is None else max(0, due - now) / 1000):
                await self._wake.wait()
            self._wake = anyio.Event()

    def _stands(self) -> bool:
        state = self._log.state
        if state.ended is not None:
            return True
        if state.started is None or not is_parkable(state) or self._running:
            return False
        if not (state.paused or (self._park and waits_for_person(state, or_time=self._park == "clock"))):
            return False
        due = self._timers.next()
        if self._park == "clock" and due is not None and due - self._site.now() < SHORT:
            return False
        self._collect()
        return not self._mail

    def _take(self, mail: _Mail) -> None:
        known = len(self._log.events)
        effects = self._log.say(mail.message, self._site.now(), cause=mail.cause, letter=mail.letter)
        if isinstance(effects, Refusal):
            self._refused(mail, effects)
            return
        # A new owner takes up everything that was asked for and has no answer yet, not only what it just asked for.
        taken_over = isinstance(mail.message, Recover)
        publish_passed(self._site, self._log.events[0 if taken_over else known :])
        for effect in tuple(self._log.state.pending.values()) if taken_over else effects:
            self._perform(effect)
        self._drop_unwanted()
        self._inbox.sync(self._log.state)
        if self._on_turn is not None:
            self._on_turn(self._log)

    def _refused(self, mail: _Mail, why: Refusal) -> None:
        """A letter has its reply; who wrote a file is told beside it, and by whoever carries the run on."""
        if mail.cause != INBOX or not isinstance(mail.message, Approve) or why.code == "answered":
            return  # A file stays as it is until the last of several has answered.
        path = mail.message.path
        self._inbox.refuse(path, why.message)
        self._log.refused.append(f"the answer to {path} in the inbox was not taken: {why.message}")
        if self._on_turn is not None:
            self._on_turn(self._log)

    def _perform(self, effect: Effect) -> None:
        self._timers.of(effect)
        if isinstance(effect, CancelAttempt):
            self._cancel(effect)
            return
        if isinstance(effect, AskPerson):
            for given in prior_approvals(self._site, effect.asked):
                self._post(commands.approval(given), "past")
        work = perform.work_for(effect, self._log.state, self._site)
        if work is not None:
            key: EffectKey = (perform.kind_of(effect), effect.asked.path)  # type: ignore[union-attr]  # no timer
            self._start(key, effect, work)

    def _start(self, key: EffectKey, effect: Effect, work: Work) -> None:
        # Known from here on, and not only when its task first runs: else the run might seem to stand.
        scope = anyio.CancelScope()
        self._running[scope] = key
        self._group.start_soon(self._work, effect, work, scope)

    async def _work(self, effect: Effect, work: Work, scope: anyio.CancelScope) -> None:
        """One effect; whatever becomes of it is reported, and a bug of ours is no reason to lose the run."""
        report: Report | None = None
        with scope:
            try:
                report = await work()
            except Exception as error:
                if disk_fault(error) is not None:
                    raise  # Whatever is tried next would fail as well; the run goes on when there is room.
                report = perform.broken(effect, error, self._site)
                self._note(traceback.format_exc())
        del self._running[scope]
        if scope.cancelled_caught and isinstance(effect, RunAttempt):
            report = AttemptEnded(self._site.now(), effect.asked.path, effect.asked.attempt, "cancelled")
        if report is not None:
            self._post(report, "world")
        else:
            self._wake.set()

    def _cancel(self, effect: CancelAttempt) -> None:
        if self._stop(("attempt", effect.asked.path)):
            return
        # It never began in this process, or its report is on the way and will be taken instead.
        path, attempt = effect.asked.path, effect.asked.attempt
        self._post(AttemptEnded(self._site.now(), path, attempt, "cancelled"), "engine")

    def _drop_unwanted(self) -> None:
        """A look-out whose wait is over, by its time or by a jump."""
        pending = self._log.state.pending
        for key in {key for key in self._running.values() if key[0] != "attempt" and key not in pending}:
            self._stop(key)

    def _stop(self, key: EffectKey) -> bool:
        """Whether there was something to stop."""
        scopes = [scope for scope, known in self._running.items() if known == key]
        for scope in scopes:
            scope.cancel()
        return bool(scopes)

    def _post(self, message: Message, cause: str, letter: QueuedCommand | None = None) -> None:
        self._mail.append(_Mail(message, cause, letter))
        self._wake.set()

    async def _listen(self) -> None:
        while True:
            await anyio.sleep(LISTEN_S)
            self._collect()

    def _collect(self) -> None:
        """What has come since. Each letter is taken up once here, and answered when its turn has been stored."""
        for answer in self._inbox.collect():
            self._post(answer, INBOX)
        stamp = self._store.stamp()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        for letter in self._store.letters(self._log.run):
            if letter.number not in self._read:
                self._read.add(letter.number)
                self._open(letter)

    def _open(self, letter: QueuedCommand) -> None:
        # People say secrets as well, by mistake or to hand them on; what they say is kept.
        body = each_text(letter.body, self._site.mask.text)
        said = commands.decode_command(replace(letter, body=body))
        if isinstance(said, str):
            self._store.answer(letter, said)
        elif isinstance(said, ManualWorkDone):
            self._done(letter, said)
        else:
            self._post(said, f"letter {letter.name}", letter)

    def _done(self, letter: QueuedCommand, said: ManualWorkDone) -> None:
        """A person's own work is looked at like anybody's; the letter is answered as soon as that has begun."""
        effect = self._log.state.pending.get(("attempt", said.path))
        if not (isinstance(effect, RunAttempt) and effect.by_hand):
            self._store.answer(letter, f"{said.path} is not a step that somebody does by hand just now")
            return
        self._store.answer(letter, "done")
        work = perform.handed_in(effect, said, self._log.state, self._site)
        self._start(("attempt", said.path), effect, work)

    def _note(self, text: str) -> None:
        folder = self._site.run_dir
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "internal_errors.log").open("a", encoding="utf-8") as file:
            file.write(self._site.mask.text(text))


def publish_passed(site: Site, events: Iterable[Event]) -> None:
    """Artifacts of what has passed, before anything starts that may read them."""
    for event in events:
        if isinstance(event, StepEnded) and event.outcome == "passed" and event.result:
            publish(site, event.path, event.result)
