"""Carry parked runs on when they are ready: a time has come, somebody has answered, or their process has died.

Each run gets a process of its own, which lets go of it as soon as it only has to wait; so waiting costs nothing, and
whoever kills this one loses nothing: it remembers nothing that is not in the log. Rule: a run that is paused, has ended
or is owned by anybody is left alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from podium.app.run.start import workflow_of
from podium.core.evolve.evolve import fold
from podium.core.hash_chain import RunId
from podium.core.state import State, next_due
from podium.core.types import Millis
from podium.errors import PodiumError
from podium.ports.clock import Clock, wall_clock
from podium.ports.store import RunHead
from podium.process.detach import DetachedProcess, start_detached, stop
from podium.runtime.records import events_of
from podium.runtime.status import waits_for_person
from podium.views.format import iso

if TYPE_CHECKING:
    from podium.app.project import Project

LOOK_S: Final = 0.2
STANDING: Final = ("running", "waiting")
PATIENCE_S: Final = 10.0
YOUNG: Final = 10_000
"""Milliseconds in which whoever has created a run begins to carry it on."""
AGAIN: Final = 60_000


class ServiceLine(NamedTuple):
    """One thing that was done for a run, or could not be."""

    at: Millis
    run: RunId
    did: Literal["began", "let_go", "stopped", "refused"]
    text: str
    why: str = ""
    """Began: why it was ready. Refused: why nobody can carry it on."""
    pid: int | None = None
    exit: int | None = None
    status: str = ""
    """Let go: how the run stands now."""

    def line(self) -> str:
        return f"{iso(self.at)} {self.run} {self.text}"


@dataclass(slots=True)
class _Known:
    """What was seen of a run when it was last looked at closely."""

    seq: int = -1
    answers: frozenset[tuple[str, int, int]] = frozenset()
    due: Millis | None = None
    stands: bool = False
    tried: Millis = Millis(0)
    """Until then every timer has been told to the run, also one that led to nothing."""
    not_before: Millis = Millis(0)


@dataclass(slots=True)
class Service:
    project: Project
    tell: Callable[[ServiceLine], None]
    slots: int = 4
    now: Clock = wall_clock
    _known: dict[RunId, _Known] = field(default_factory=dict)
    _at_work: dict[RunId, DetachedProcess] = field(default_factory=dict)

    def serve(self, is_stopped: Callable[[], bool], *, once: bool = False) -> None:
        """Until it is told to stop; or, once, until nothing is ready."""
        while not is_stopped():
            self._collect()
            began = self._start_ready()
            if once and not began and not self._at_work:
                return
            time.sleep(LOOK_S)
        self._stop()

    def ready(self) -> tuple[tuple[RunId, str], ...]:
        """Which runs could be carried on now, the oldest first, and why."""
        heads = reversed(self.project.runtime.heads())
        found = ((head.run, self._why(head)) for head in heads if self._is_free(head))
        return tuple((run, why) for run, why in found if why)

    def _is_free(self, head: RunHead) -> bool:
        return (
            head.status in STANDING
            and head.run not in self._at_work
            and not self.project.runtime.is_owned(head.run)
        )

    def _why(self, head: RunHead) -> str:
        known = self._known.setdefault(head.run, _Known())
        if self.now() < known.not_before or (not head.last_seq and self.now() < head.created + YOUNG):
            return ""
        unread = self.project.runtime.unread(head.run)
        if unread.commands:
            return "somebody has spoken"
        has_new = bool(unread.answers - known.answers)
        known.answers = unread.answers
        if has_new:
            return "its inbox has an answer"
        if known.seq != head.last_seq:
            self._look(head, known)
            if not known.stands:
                return "its process is gone"
        if known.due is not None and known.due <= self.now():
            return "a time has come"
        return ""

    def _look(self, head: RunHead, known: _Known) -> None:
        known.seq = head.last_seq
        try:
            state = self._state(head)
        except PodiumError as error:
            # Nobody could carry it on as it is; it is looked at again when something has happened to it.
            known.stands, known.due = True, None
            text = f"cannot be carried on: {error.message}"
            self.tell(ServiceLine(self.now(), head.run, "refused", text, why=error.message))
            return
        known.stands = waits_for_person(state, or_time=True)
        known.due = next_due(state, after=known.tried)

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
            argv = (sys.executable, "-m", "podium", "resume", run, "--until-idle")
            output = self.project.paths.run_dir(run) / "engine.log"
            self._known[run].tried = self.now()
            self._at_work[run] = start_detached(argv, cwd=self.project.root, output=output)
            pid = self._at_work[run].pid
            self.tell(
                ServiceLine(self.now(), run, "began", f"{why}; process {pid} carries it on", why=why, pid=pid)
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
            text = f"process {child.pid} has let go of it with exit {child.returncode}: {status}"
            exit_code = child.returncode
            self.tell(
                ServiceLine(self.now(), run, "let_go", text, pid=child.pid, exit=exit_code, status=status)
            )
            self.note(run)

    def note(self, run: RunId) -> None:
        """A process has let go of the run a moment ago."""
        head = self.project.runtime.head(run)
        if head is None or head.status not in STANDING:
            return
        known = self._known.setdefault(run, _Known())
        known.tried = self.now()
        unread = self.project.runtime.unread(run)
        known.answers = unread.answers
        self._look(head, known)
        if not known.stands or unread.commands:
            # It has failed: at once it would fail again.
            known.seq, known.not_before = -1, Millis(self.now() + AGAIN)

    def _stop(self) -> None:
        """What is at work is interrupted, not cancelled: it goes on with whoever carries it on next."""
        stop(self._at_work.values(), patience_s=PATIENCE_S)
        for run, child in self._at_work.items():
            text = f"process {child.pid} was stopped; the run is not over"
            self.tell(ServiceLine(self.now(), run, "stopped", text, pid=child.pid))
