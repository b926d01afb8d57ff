"""Drives one run: messages in, turns stored, effects performed, their reports the next messages.

One task takes turns; every effect that takes time has a task of its own, which ends by posting its report. Commands of
other processes are queued in the store; timers are absolute. Nothing is decided here, but in the core.
"""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio
from anyio.abc import TaskGroup

from podium.core.effects import AskPerson, CancelAttempt, Effect, EffectKey, RunAttempt, effect_key
from podium.core.events import GuidanceGiven
from podium.core.guidance import guidable
from podium.core.ledger import cancelled_attempt
from podium.core.messages import Approve, Message, Recover, Refusal, Report, Signal
from podium.core.queries.pending import is_parkable
from podium.core.queries.tool_calls import decision_of
from podium.core.state import Leaf, State
from podium.core.types import Address, Millis
from podium.engine.inbox_files import InboxFiles, UnreadableAnswer
from podium.engine.log import Log
from podium.engine.published_files import publish_results
from podium.engine.team_files import TeamFiles
from podium.errors import disk_fault
from podium.ports.exporter import RunExporter
from podium.ports.runtime import ManualWorkDone, OnTurn, Park
from podium.ports.store import QueuedCommand, Store
from podium.recording import each_text
from podium.runtime import commands
from podium.runtime.prepared_run import PreparedRun
from podium.runtime.question_text import question_renderer
from podium.runtime.status import continues_by_itself, waits_for_person, waits_until_deadline
from podium.runtime.timers import Timers
from podium.tasks.prior_results import prior_approvals

if TYPE_CHECKING:
    from podium.runtime.effects import Work

LISTEN_S: Final = 0.1
"""How often queued commands are read: an answer takes effect within 300 ms, for a tenth of a percent of a core."""

SHORT: Final = 5000
"""Milliseconds of waiting for which a run is not released."""

SHORT_WINDOW: Final = 600_000
"""Milliseconds for which a process waits for the end of a veto window, because without a service nobody else would."""

INBOX: Final = "inbox"


class _Incoming(NamedTuple):
    message: Message
    cause: str
    queued: QueuedCommand | None = None


class RunLoop:
    def __init__(
        self,
        log: Log,
        run: PreparedRun,
        store: Store,
        *,
        park: Park,
        on_turn: OnTurn | None = None,
        exporters: Sequence[RunExporter] = (),
    ) -> None:
        self._log = log
        self._run = run
        self._host = host = run.host
        self._store = store
        self._park = park
        self._on_turn = on_turn
        self._incoming: deque[_Incoming] = deque()
        self._wake = anyio.Event()
        self._timers = Timers()
        self._inbox = InboxFiles(host.state_dir, host.run, question_renderer(host.project), exporters)
        self._team = TeamFiles(host.run_dir, host.run, run.workflow, host.project)
        self._running: dict[anyio.CancelScope, EffectKey] = {}
        """Manual work may be prepared and collected at the same time, so a key can occur twice."""
        self._read: set[int] = set()
        self._stamp = -1
        self._group: TaskGroup
        if host.taking is not None:
            host.taking.announce = lambda event: self._post(event, "terminal")
        host.guidance.report = lambda event: self._post(event, "world")
        host.guidance.on_work = self._offer_guidance
        host.approvals.report = lambda event: self._post(event, "world")

    async def drive(self, *first: Message) -> State:
        """Until the run has ended, or waits and may be released."""
        async with anyio.create_task_group() as self._group:
            for message in first:
                self._post(message, "engine")
            self._collect()
            self._group.start_soon(self._listen)
            while (incoming := await self._next()) is not None:
                self._handle(incoming)
            self._group.cancel_scope.cancel()
        return self._log.state

    async def _next(self) -> _Incoming | None:
        while True:
            now = self._host.now()
            fired = self._timers.due(now)
            if fired is not None:
                return _Incoming(fired, "timer")
            if self._incoming:
                return self._incoming.popleft()
            if self._is_idle():
                return None
            due = self._timers.next()
            if due is not None and self._skips_to(due):
                continue
            if due is None:
                await self._wake.wait()
            else:
                with anyio.move_on_after(max(0, due - now) / 1000):
                    await self._wake.wait()
            self._wake = anyio.Event()

    def _skips_to(self, due: Millis) -> bool:
        """Put the clock of a test forward, unless something is running or has arrived."""
        if self._host.skip_to is None or self._running or not is_parkable(self._log.state):
            return False
        self._collect()
        if not self._incoming:
            self._host.skip_to(due)
        return True

    def _is_idle(self) -> bool:
        """Whether the run has ended or may be released."""
        state = self._log.state
        if state.ended is not None:
            return True
        if state.started is None or not is_parkable(state) or self._running:
            return False
        if not (state.paused or (self._park and waits_for_person(state, or_time=self._park == "clock"))):
            return False
        if self._host.skip_to is not None and waits_until_deadline(state):
            return False
        due = self._timers.next()
        if self._park == "clock" and due is not None and due - self._host.now() < SHORT:
            return False
        if self._park is True and continues_by_itself(state, before=Millis(self._host.now() + SHORT_WINDOW)):
            return False
        self._collect()
        return not self._incoming

    def _handle(self, incoming: _Incoming) -> None:
        before = len(self._log.events)
        effects = self._log.handle(
            incoming.message, self._host.now(), cause=incoming.cause, queued=incoming.queued
        )
        if isinstance(effects, Refusal):
            self._refused(incoming, effects)
            return
        # A new owner performs every effect that has no answer yet, not only those of this turn.
        recovers = isinstance(incoming.message, Recover)
        publish_results(self._log, self._host, since=0 if recovers else before, republish=recovers)
        for effect in tuple(self._log.state.pending.values()) if recovers else effects:
            self._perform(effect)
        self._stop_unneeded()
        self._offer_guidance()
        self._pass_on_decisions()
        self._inbox.sync(self._log.state)
        self._team.sync(self._log.events)
        if self._on_turn is not None:
            self._on_turn(self._log)

    def _refused(self, incoming: _Incoming, refusal: Refusal) -> None:
        """Report why an answer in a file was refused, next to the file and to the driver; commands have replies."""
        if incoming.cause != INBOX or not isinstance(incoming.message, Approve) or refusal.code == "answered":
            return  # A file stays as it is until the last of several people has answered.
        self._report_refusal(incoming.message.path, refusal.message)

    def _report_refusal(self, path: Address, reason: str) -> None:
        self._inbox.refuse(path, reason)
        self._log.refused.append(f"the answer to {path} in the inbox was refused: {reason}")
        if self._on_turn is not None:
            self._on_turn(self._log)

    def _perform(self, effect: Effect) -> None:
        self._timers.of(effect)
        if isinstance(effect, CancelAttempt):
            self._cancel(effect)
            return
        if isinstance(effect, AskPerson):
            for approval in prior_approvals(self._run.past, effect.request):
                self._post(commands.approval(approval), "past")
        from podium.runtime import effects  # Heavy, and a run may have no effects.

        work = effects.work_for(effect, self._log.state, self._run)
        if work is not None:
            self._start(effect_key(effect), effect, work)

    def _start(self, key: EffectKey, effect: Effect, work: Work, *, cancelled: bool = False) -> None:
        # Register before the task starts; otherwise the loop could see an idle run and park it.
        scope = anyio.CancelScope()
        if cancelled:
            scope.cancel()
        self._running[scope] = key
        self._group.start_soon(self._work, effect, work, scope)

    async def _work(self, effect: Effect, work: Work, scope: anyio.CancelScope) -> None:
        """Perform one effect and post its report; an internal error becomes a report too, so that the run survives."""
        report: Report | None = None
        with scope:
            try:
                report = await work()
            except Exception as error:
                if disk_fault(error) is not None:
                    raise  # Everything tried next would fail too; the run can be resumed when there is room.
                from podium.runtime.effects import broken

                report = broken(effect, error, self._host)
                self._note(traceback.format_exc())
        if scope.cancelled_caught and isinstance(effect, RunAttempt):
            from podium.runtime.effects import cancelled

            report = await cancelled(effect, self._log.state, self._run)
        del self._running[scope]
        if report is not None:
            self._post(report, "world")
        else:
            self._wake.set()

    def _cancel(self, effect: CancelAttempt) -> None:
        if self._stop(("attempt", effect.started.path)):
            return
        from podium.runtime import effects

        undo = effects.undo_for(effect, self._log.state, self._run)
        if undo is not None:
            self._start(("attempt", effect.started.path), RunAttempt(effect.started), undo, cancelled=True)
            return
        # It never started in this process, or its report is already posted and will be handled instead.
        self._post(cancelled_attempt(effect.started, self._host.now()), "engine")

    def _stop_unneeded(self) -> None:
        """Stop effects that are no longer pending, such as a watch whose wait was ended by its time or a jump."""
        pending = self._log.state.pending
        for key in {key for key in self._running.values() if key[0] != "attempt" and key not in pending}:
            self._stop(key)

    def _offer_guidance(self) -> None:
        """Pass open guidance to the agents that are working and have not got it."""
        state = self._log.state
        for text in state.guidance:
            for leaf in guidable(state, text):
                self._host.guidance.offer(leaf.place.path, text, self._giver(text))

    def _pass_on_decisions(self) -> None:
        """Tell agents that hold a call of a tool what was decided about it."""
        for path, call in self._host.approvals.open_calls():
            leaf = self._log.state.instances.get(path)
            decision = decision_of(self._log.state, leaf, call) if isinstance(leaf, Leaf) else None
            if decision is not None:
                self._host.approvals.decide(path, decision)

    def _giver(self, text: str) -> str:
        """Who gave a text; unknown if an earlier run received it."""
        texts = (event for event in reversed(self._log.events) if isinstance(event, GuidanceGiven))
        return next((event.by for event in texts if event.text == text), "")

    def _stop(self, key: EffectKey) -> bool:
        """Whether there was something to stop."""
        scopes = [scope for scope, running in self._running.items() if running == key]
        for scope in scopes:
            scope.cancel()
        return bool(scopes)

    def _post(self, message: Message, cause: str, queued: QueuedCommand | None = None) -> None:
        self._incoming.append(_Incoming(message, cause, queued))
        self._wake.set()

    async def _listen(self) -> None:
        while True:
            await anyio.sleep(LISTEN_S)
            self._collect()

    def _collect(self) -> None:
        """Read new answers and commands. Each command is read once, and answered when its turn has been stored."""
        for answer in self._inbox.collect():
            if isinstance(answer, UnreadableAnswer):
                self._report_refusal(answer.path, answer.reason)
            else:
                self._post(answer, INBOX)
        for dropped in self._team.collect():
            self._store.post(self._log.run, dropped.key, commands.encode_command(dropped.note))
        stamp = self._store.stamp()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        for queued in self._store.commands(self._log.run):
            if queued.number not in self._read:
                self._read.add(queued.number)
                self._read_command(queued)

    def _read_command(self, queued: QueuedCommand) -> None:
        # People write secrets too, by mistake or on purpose; commands are stored, so they are masked first.
        body = each_text(queued.body, self._host.mask.text)
        command = commands.decode_command(replace(queued, body=body))
        if isinstance(command, str):
            self._log.reply(queued, command)
        elif isinstance(command, ManualWorkDone):
            self._collect_manual_work(queued, command)
        elif isinstance(command, Signal) and (ended := self._manual_work_ended_by(command)):
            for work in ended:
                self._collect_manual_work(queued, work)
        else:
            self._post(command, f"letter {queued.name}", queued)

    def _manual_work_ended_by(self, signal: Signal) -> tuple[ManualWorkDone, ...]:
        from podium.runtime.manual_work import manual_work_ended_by

        return manual_work_ended_by(self._log.state, signal)

    def _collect_manual_work(self, queued: QueuedCommand, command: ManualWorkDone) -> None:
        """Check a person's work like an agent's; the command is answered as soon as that has started."""
        effect = self._log.state.pending.get(("attempt", command.path))
        if not (isinstance(effect, RunAttempt) and effect.by_hand):
            from podium.runtime.manual_work import not_by_hand

            self._log.reply(queued, not_by_hand(command))
            return
        self._log.reply(queued, commands.DONE)
        from podium.runtime.effects import handed_in

        work = handed_in(effect, command, self._log.state, self._run)
        self._start(("attempt", command.path), effect, work)

    def _note(self, text: str) -> None:
        folder = self._host.run_dir
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "internal_errors.log").open("a", encoding="utf-8") as file:
            file.write(self._host.mask.text(text))
