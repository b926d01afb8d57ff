"""Resume parked runs when they are due: a timer fired, an answer or a command arrived, or their process has died.

It also starts runs for the events of triggers.

Each run gets a process of its own, which releases the run as soon as it only waits; so waiting costs nothing, and
killing the service loses nothing, since it remembers only what is in the logs. Rule: a run that is paused, has ended or
has an owner is left alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from podium.app.run.start import workflow_of
from podium.core.evolve.evolve import fold
from podium.core.hash_chain import RunId
from podium.core.queries.pending import next_due
from podium.core.state import State
from podium.core.types import Millis
from podium.errors import PodiumError
from podium.fast_dataclass import dataclass
from podium.ports.clock import Clock, wall_clock
from podium.ports.store import RunHead
from podium.process.detach import DetachedProcess, start_detached, stop
from podium.runtime.records import events_of
from podium.runtime.status import waits_for_person
from podium.views.format import iso

if TYPE_CHECKING:
    from podium.app.notify.project_messages import ProjectMessages
    from podium.app.project import Project
    from podium.app.triggers.watch import TriggerWatch

LOOK_S: Final = 0.2
OPEN: Final = ("running", "waiting")
PATIENCE_S: Final = 10.0
YOUNG: Final = 10_000
"""Milliseconds in which the process that has created a run starts to drive it."""
RETRY_DELAY: Final = 60_000
MESSAGES_MS: Final = 1_000
"""How often the messages to people are looked at."""


class ServiceLine(NamedTuple):
    """One action for a run, or why it was impossible."""

    at: Millis
    run: RunId
    did: Literal["began", "let_go", "stopped", "refused", "started", "dropped", "held"]
    """Started, dropped, held: what became of the event of a trigger."""
    text: str
    why: str = ""
    """Began: why the run was due. Refused: why it cannot be resumed."""
    pid: int | None = None
    exit: int | None = None
    status: str = ""
    """Let go: the status of the run."""
    trigger: str = ""
    event: str = ""

    def line(self) -> str:
        return f"{iso(self.at)} {self.run} {self.text}" if self.run else f"{iso(self.at)} {self.text}"


@dataclass(slots=True)
class _Observed:
    """What the service knows of a run since it last read its log."""

    seq: int = -1
    answers: frozenset[tuple[str, int, int]] = frozenset()
    due: Millis | None = None
    waits: bool = False
    tried: Millis = Millis(0)
    """Timers up to this time have fired in the run, whether or not they had an effect."""
    not_before: Millis = Millis(0)


@dataclass(slots=True)
class Service:
    project: Project
    tell: Callable[[ServiceLine], None]
    slots: int = 4
    now: Clock = wall_clock
    triggers: TriggerWatch | None = None
    messages: ProjectMessages | None = None
    _observed: dict[RunId, _Observed] = field(default_factory=dict)
    _at_work: dict[RunId, DetachedProcess] = field(default_factory=dict)
    _created: set[RunId] = field(default_factory=set)
    """Runs that this process has created and that no other process will start."""
    _reported: dict[RunId, int] = field(default_factory=dict)
    """Up to which event the messages of a run are stored."""
    _reported_at: Millis = Millis(0)

    def serve(self, is_stopped: Callable[[], bool], *, once: bool = False) -> None:
        """Until it is stopped; with `once`, until no run is due."""
        while not is_stopped():
            self._collect()
            self._look_at_triggers()
            self._look_at_messages()
            began = self._start_ready()
            polls = self.triggers is not None and self.triggers.is_busy
            # A run that has just ended may have held back an event.
            if once and not (began or self._at_work or polls or self._look_at_triggers(anew=True)):
                return
            time.sleep(LOOK_S)
        self._stop()

    def _look_at_triggers(self, *, anew: bool = False) -> bool:
        """Whether a run was created; `anew` looks at once."""
        created = False
        for line in () if self.triggers is None else self.triggers.look(self.now(), anew=anew):
            if line.run is not None:
                self._created.add(line.run)
                created = True
            run = line.run or RunId("")
            self.tell(
                ServiceLine(self.now(), run, line.did, line.text, trigger=line.trigger, event=line.event)
            )
        return created

    def _look_at_messages(self) -> None:
        """Store what a driver that died did not store, and start the process that sends if something is due."""
        if self.messages is None or self.now() - self._reported_at < MESSAGES_MS:
            return
        self._reported_at = self.now()
        for head in self.project.runtime.heads():
            if self._reported.get(head.run) != head.last_seq and not self.project.runtime.is_owned(head.run):
                self._reported[head.run] = head.last_seq
                with suppress(PodiumError):
                    self.messages.catch_up(head)
        self.messages.send_due()

    def _report_stuck(self, head: RunHead, why: str) -> None:
        if self.messages is not None:
            with suppress(PodiumError):
                self.messages.record_stuck(head, why)

    def ready(self) -> tuple[tuple[RunId, str], ...]:
        """Which runs are due, the oldest first, and why."""
        heads = reversed(self.project.runtime.heads())
        reasons = ((head.run, self._why(head)) for head in heads if self._is_free(head))
        return tuple((run, why) for run, why in reasons if why)

    def _is_free(self, head: RunHead) -> bool:
        return (
            head.status in OPEN
            and head.run not in self._at_work
            and not self.project.runtime.is_owned(head.run)
        )

    def _why(self, head: RunHead) -> str:
        observed = self._observed.setdefault(head.run, _Observed())
        if self.now() < observed.not_before or self._is_young(head):
            return ""
        unread = self.project.runtime.unread(head.run)
        if unread.commands:
            return "a command is queued"
        has_new = bool(unread.answers - observed.answers)
        observed.answers = unread.answers
        if has_new:
            return "its inbox has an answer"
        if observed.seq != head.last_seq:
            self._look(head, observed)
            if not observed.waits:
                return "its process is gone"
        if observed.due is not None and observed.due <= self.now():
            return "a timer is due"
        return ""

    def _is_young(self, head: RunHead) -> bool:
        """Whether the process that created the run may still start to drive it; not if the clock was set back since."""
        return not head.last_seq and head.run not in self._created and abs(self.now() - head.created) < YOUNG

    def _look(self, head: RunHead, observed: _Observed) -> None:
        observed.seq = head.last_seq
        try:
            state = self._state(head)
        except PodiumError as error:
            # It cannot be resumed as it is; it is checked again when its log has changed.
            observed.waits, observed.due = True, None
            text = f"cannot be resumed: {error.message}"
            self._report_stuck(head, text)
            self.tell(ServiceLine(self.now(), head.run, "refused", text, why=error.message))
            return
        observed.waits = waits_for_person(state, or_time=True)
        observed.due = next_due(state, after=observed.tried)

    def _state(self, head: RunHead) -> State:
        workflow = workflow_of(self.project, head)
        if workflow.fingerprint != head.fingerprint:
            raise PodiumError("its definition has changed")
        return fold(workflow, events_of(self.project.runtime.events(head.run)))

    def _start_ready(self) -> bool:
        began = False
        for run, why in self.ready():
            if len(self._at_work) >= self.slots:
                break
            output = self.project.paths.run_dir(run) / "engine.log"
            self._observed[run].tried = self.now()
            self._at_work[run] = start_detached(
                "resume", run, "--until-idle", cwd=self.project.root, output=output
            )
            pid = self._at_work[run].pid
            self.tell(
                ServiceLine(self.now(), run, "began", f"{why}; process {pid} drives it", why=why, pid=pid)
            )
            began = True
        return began

    def _collect(self) -> None:
        for run, child in tuple(self._at_work.items()):
            if child.poll() is None:
                continue
            del self._at_work[run]
            head = self.project.runtime.head(run)
            status = "gone" if head is None else head.status
            text = f"process {child.pid} released it with exit code {child.returncode}: {status}"
            exit_code = child.returncode
            self.tell(
                ServiceLine(self.now(), run, "let_go", text, pid=child.pid, exit=exit_code, status=status)
            )
            self.note(run)

    def note(self, run: RunId) -> None:
        """A process has just released the run."""
        head = self.project.runtime.head(run)
        if head is None or head.status not in OPEN:
            return
        observed = self._observed.setdefault(run, _Observed())
        observed.tried = self.now()
        unread = self.project.runtime.unread(run)
        observed.answers = unread.answers
        self._look(head, observed)
        if not observed.waits or unread.commands:
            # It failed; if it were started at once, it would fail again.
            self._report_stuck(head, "the process that drove it has failed; it is tried again every minute")
            observed.seq, observed.not_before = -1, Millis(self.now() + RETRY_DELAY)

    def _stop(self) -> None:
        """Interrupt the active runs without cancelling them: they continue when they are resumed."""
        stop(self._at_work.values(), patience_s=PATIENCE_S)
        for run, child in self._at_work.items():
            text = f"process {child.pid} was stopped; the run is not over"
            self.tell(ServiceLine(self.now(), run, "stopped", text, pid=child.pid))
