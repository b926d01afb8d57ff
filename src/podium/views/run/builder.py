"""Builds the view of a run from its events, in constant time per event."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias, assert_never

from podium.core import events
from podium.core.addresses import ROOT
from podium.core.events import Event
from podium.core.payloads import Rebase, rebase_in
from podium.core.types import IN_PLACE, MEMORY_FACTS, Address, MicroUsd, Millis, Tree
from podium.views.plain import as_text
from podium.views.run.charges import NO_NAME, Charge, ChargeReader, charged, new_worker
from podium.views.run.freshness import Freshness
from podium.views.run.series import series_view
from podium.views.run.thread import replied
from podium.views.run.view import (
    NOTHING,
    AgentView,
    Pending,
    RunView,
    StepView,
    ViewStatus,
    asked_question,
    with_end,
    with_guidance,
)
from podium.views.run.why import Cause, attempt_cause, end_cause, first_sentence, memory_after, worst_cause

BRIEF: Final = ("retry",)
"""Kinds of waits that are too short to show: a run that only waits for a retry counts as running."""

_AttemptEvent: TypeAlias = (
    events.AttemptStarted
    | events.AttemptGuided
    | events.ToolAsked
    | events.AttemptEnded
    | events.AttemptDoubted
    | events.AttemptQueued
)
_WaitEvent: TypeAlias = (
    events.RetryScheduled
    | events.WaitStarted
    | events.WaitEnded
    | events.SignalReceived
    | events.TimerFired
    | events.ApprovalAsked
    | events.ApprovalGiven
)
_Ignored: TypeAlias = (
    events.RunRecovered
    | events.AttemptLost
    | events.CancelAsked
    | events.AttemptTaken
    | events.LimitRaised
    | events.NoteLeft
    | events.FactsAsked
    | events.FactsFound
    | events.JoinQueued
    | events.JoinAsked
    | events.JumpOrdered
    | events.JumpAsked
    | events.CancelOrdered
)


class RunViewBuilder:
    """Feed it events in order; `view` returns the view at any time."""

    def __init__(self) -> None:
        self._started: events.RunStarted | None = None
        self._ended: events.RunEnded | None = None
        self._paused = False
        self._at = Millis(0)
        self._seq = 0
        self._head: Tree | None = None
        self._base: Tree | None = None
        self._rebases: dict[Tree, Rebase] = {}
        self._memories: dict[str, Mapping[str, Any]] = {}
        self._places: set[bool] = set()
        """Whether the changes so far were made in the user's own files; both if some were."""
        self._steps: dict[Address, StepView] = {}
        self._freshness = Freshness()
        self._flying: set[Address] = set()
        self._charges = ChargeReader()
        self._new_charges: tuple[Charge, ...] = ()
        self._pending: dict[Address, Pending] = {}
        self._agents: dict[tuple[str, str], AgentView] = {}
        self._blamed: dict[Address, Cause] = {}
        """For each scope and attempt, the cause of the child or gate that failed."""
        self._guides: dict[str, str] = {}
        """Who gave each text of guidance."""
        self._total = StepView(ROOT, ROOT, "step", 1, Millis(0))

    def feed(self, log: Iterable[Event]) -> None:
        for event in log:
            self._seq += 1
            self._at = max(self._at, event.at)
            self._take(event)
            self._charge(self._charges.take(event))
            self._freshness.take(event)

    def copy(self) -> RunViewBuilder:
        """One that has been fed the same events, at a fraction of the time."""
        twin = RunViewBuilder()
        for name, value in self.__dict__.items():
            twin.__dict__[name] = value.copy() if isinstance(value, dict | set) else value
        twin._freshness, twin._charges = self._freshness.copy(), self._charges.copy()
        return twin

    def leave(self) -> None:
        """No process drives the run any more, so the costs of its calls in flight are unknown."""
        self._charge(self._charges.leave(self._at))

    @property
    def seq(self) -> int:
        """How many events it has been fed."""
        return self._seq

    @property
    def run(self) -> str:
        return "" if self._started is None else self._started.run.id

    @property
    def new_charges(self) -> tuple[Charge, ...]:
        """What the last event has cost."""
        return self._new_charges

    def step(self, path: Address) -> StepView | None:
        return self._steps.get(path)

    def view(self) -> RunView:
        started, ended, total = self._started, self._ended, self._total
        return RunView(
            run=self.run,
            workflow="" if started is None else started.run.name,
            status=self._status(),
            started=None if started is None else started.at,
            ended=None if ended is None else ended.at,
            at=self._at,
            seq=self._seq,
            outcome=None if ended is None else ended.outcome,
            reason="" if ended is None else ended.reason,
            message="" if ended is None else ended.message,
            exit=None if ended is None else ended.exit,
            inputs=NOTHING if started is None else started.inputs,
            fingerprint="" if started is None else started.fingerprint,
            branch="" if started is None else started.run.branch,
            base=self._base,
            tree=self._head,
            in_place=self._places == {True},
            steps=tuple(self._freshness.marked(self._steps.values())),
            outputs=NOTHING if ended is None else ended.outputs,
            usd=total.usd,
            tokens=total.tokens,
            calls=total.calls,
            unknown_calls=total.unknown_calls,
            pending=tuple(self._pending.values()),
            agents=tuple(self._agents.values()),
            cause=self._run_cause(),
            raised=() if started is None else started.run.raised,
            memories=dict(self._memories),
            facts=None if started is None else started.run,
            series=series_view(started, ended, total),
        )

    def _run_cause(self) -> Cause | None:
        ended = self._ended
        if ended is None or ended.status in ("passed", "cancelled"):
            return None
        cause = self._blamed.get(ROOT)
        if cause is not None and ended.message in ("", cause.message):
            return cause
        return Cause(ROOT, first_sentence(ended.message) or ended.reason or ended.status)

    def _status(self) -> ViewStatus:
        if self._ended is not None:
            return self._ended.status
        if self._paused:
            return "paused"
        waits = any(pending.kind not in BRIEF for pending in self._pending.values())
        return "waiting" if waits and not self._flying else "running"

    def _take(self, event: Event) -> None:
        # The most frequent first: a match tries one case after another.
        match event:
            case events.StepEntered():
                self._steps[event.path] = StepView(
                    event.path,
                    event.parent,
                    event.role,
                    event.visit,
                    event.at,
                    base=event.base,
                    about=event.about,
                )
                if event.start in self._rebases:
                    self._base = self._rebases[event.start].onto
            case events.StepEnded():
                self._end(event)
            case events.RunStarted():
                self._started, self._head, self._base = event, event.tree, event.tree
                self._offer(event.run.rebase)
            case events.RunEnded():
                self._ended = event
                self._pending.clear()
            case events.RunPaused() | events.RunResumed():
                self._paused = isinstance(event, events.RunPaused)
            case events.StepExpanded():
                self._change(event.path, status="running", attempts=1, items=event.items)
            case events.StepReopened():
                self._blamed.pop(event.path, None)
                self._change(event.path, attempts=event.attempt)
                if event.due is not None:
                    self._wait(Pending(event.path, "retry", event.at, event.due), "retrying")
            case events.JoinEnded():
                for member in event.refused:
                    self._change(member.path, cause=Cause(member.path, first_sentence(member.detail)))
                if event.tree is not None and event.path == ROOT:
                    self._head = event.tree
            case events.GuidanceGiven():
                self._guides[event.text] = event.by
            case _ if isinstance(event, _AttemptEvent):
                self._take_attempt(event)
            case _ if isinstance(event, _WaitEvent):
                self._take_wait(event)
            case events.FactsFound() if event.function in MEMORY_FACTS:
                self._memories[event.argument] = memory_after(self._memories.get(event.argument), event)
            case _ if isinstance(event, _Ignored):
                pass
            case _:
                assert_never(event)

    def _offer(self, rebase: Rebase | None) -> None:
        """Remember work merged onto a branch; the run is compared with the branch once a step starts from it."""
        if rebase is not None:
            self._rebases[rebase.tree] = rebase

    def _take_attempt(self, event: _AttemptEvent) -> None:
        match event:
            case events.AttemptStarted():
                self._flying.add(event.path)
                self._blamed.pop(event.path, None)
                self._pending.pop(event.path, None)
                base = {} if event.base is None else {"base": event.base}
                self._change(event.path, status="running", attempts=event.attempt, worked=True, **base)
                self._guide(event.path, event.attempt, *event.guidance)
            case events.AttemptGuided():
                self._guide(event.path, event.attempt, event.text, refused=event.refused)
            case events.ToolAsked():
                pass
            case events.AttemptQueued():
                step, is_repair = self._steps[event.path], event.why == "repair"
                changes: dict[str, Any] = {
                    "repaired": (*step.repaired, *([step.attempts + 1] if is_repair else [])),
                    "replied": replied(event),
                }
                if event.why == "fallback":
                    changes["passed_over"] = (*step.passed_over, as_text(step.result.get("message")))
                self._change(event.path, status="queued", **changes)
            case events.AttemptDoubted():
                self._flying.discard(event.path)
                self._change(event.path, status="checking")
            case events.AttemptEnded():
                self._offer(rebase_in(event.result))
                self._flying.discard(event.path)
                if event.change is not None and event.change.get("files"):
                    self._places.add(bool(event.change.get(IN_PLACE)))
                changes = {"result": event.result} if event.result is not None else {}
                changes |= new_worker(self._steps.get(event.path), event)
                changes |= {"reused": event.reused, "answered": event.attempt, "cause": attempt_cause(event)}
                self._change(event.path, status="checking", tree=event.tree, verdict=event.verdict, **changes)
            case _:
                assert_never(event)

    def _guide(self, path: Address, attempt: int, *texts: str, refused: str | None = None) -> None:
        step = self._steps.get(path)
        if texts and step is not None:
            self._change(path, guidance=with_guidance(step, attempt, texts, self._guides, refused))

    def _take_wait(self, event: _WaitEvent) -> None:
        match event:
            case events.RetryScheduled():
                kind = "quota" if event.why == "quota" else "retry"
                self._wait(Pending(event.path, kind, event.at, event.due), "retrying")
            case events.WaitStarted():
                self._wait(Pending(event.path, "wait", event.at, event.due), "waiting")
            case events.ApprovalAsked():
                self._wait(asked_question(event, self._steps[event.path]), "waiting")
                self._ask_about(self._steps[event.path])
            case events.ApprovalGiven():
                self._change(event.path, reused=event.reused)
                pending = self._pending.get(event.path)
                if pending is not None:
                    self._pending[event.path] = pending._replace(approved_by=(*pending.approved_by, event.by))
            case events.WaitEnded() | events.SignalReceived():
                self._pending.pop(event.path, None)
                self._change(event.path, status="checking")
            case events.TimerFired():
                paused = self._pending.get(event.path)
                if paused is not None and paused.kind in ("quota", "retry"):
                    self._pending.pop(event.path)
                    # A block has no worker of its own: its children are entered now.
                    worked = self._steps[event.path].worked
                    self._change(event.path, status="queued" if worked else "running")
            case _:
                assert_never(event)

    def _wait(self, pending: Pending, status: Any) -> None:
        self._pending[pending.path] = pending
        self._change(pending.path, status=status)

    def _ask_about(self, question: StepView) -> None:
        """A step about which the engine asks a person waits as well."""
        if question.role == "question":
            self._change(question.parent, status="waiting")

    def _change(self, path: Address, **changes: Any) -> None:
        step = self._steps.get(path)
        if step is not None:
            self._steps[path] = step._replace(**changes)

    def _charge(self, charges: tuple[Charge, ...]) -> None:
        """Add costs to their steps and all enclosing ones, like `steps.x.usd`, and to the totals by agent and model."""
        self._new_charges = charges
        for charge in charges:
            path = charge.path
            while (step := self._steps.get(path)) is not None:
                self._steps[path] = charged(step, charge)
                path = step.parent
            self._total = charged(self._total, charge)
            self._count(charge)

    def _count(self, charge: Charge) -> None:
        result, used = charge.result, charge.used
        key = (str(result.get("agent") or NO_NAME), str(result.get("model") or ""))
        usage = result.get("usage")
        usage = usage if isinstance(usage, Mapping) else NOTHING
        before = self._agents.get(key, AgentView(*key))
        self._agents[key] = AgentView(
            *key,
            calls=before.calls + used.calls,
            input=before.input + usage.get("input", 0),
            cached=before.cached + usage.get("cached", 0),
            output=before.output + usage.get("output", 0),
            usd=MicroUsd(before.usd + used.usd),
            unknown_calls=before.unknown_calls + charge.unknown_calls,
        )

    def _blame(self, step: StepView, cause: Cause | None) -> None:
        """Record why a child failed at its parent, and why gates failed at the step that they judge."""
        if cause is None or (step.role == "finally" and step.parent in self._blamed):
            return
        before = self._blamed.get(step.parent)
        self._blamed[step.parent] = worst_cause(before, cause, step.entered)
        if step.role == "gates":
            self._change(step.parent, cause=self._blamed[step.parent])

    def _end(self, event: events.StepEnded) -> None:
        self._pending.pop(event.path, None)
        step = self._steps.get(event.path)
        cause = end_cause(event, step, self._blamed.get(event.path))
        if step is None:
            self._head = event.tree if event.tree is not None else self._head
            if cause is not None:
                self._blamed[event.path] = cause
            return
        self._steps[event.path] = with_end(
            step,
            status="ended",
            outcome=event.outcome,
            reason=event.reason,
            message=event.message or str((event.result or {}).get("message") or ""),
            exit=event.exit,
            degraded=event.degraded,
            ended=event.at,
            result=step.result if event.result is None else event.result,
            score=event.score,
            tree=step.tree if event.tree is None else event.tree,
            cause=cause,
        )
        self._blame(step, cause)
        asking = self._steps.get(step.parent) if step.role == "question" else None
        if asking is not None and asking.status == "waiting":
            self._change(asking.path, status="checking" if asking.worked else "running")
        if step.parent == ROOT and event.outcome == "passed" and event.tree is not None:
            self._head = event.tree


def run_view(log: Iterable[Event], *, left: bool = False) -> RunView:
    """The view of a run from its events; `left` says that no process drives it any more."""
    builder = RunViewBuilder()
    builder.feed(log)
    if left:
        builder.leave()
    return builder.view()
