"""A run as one trace, made from its events.

Rule 1: ids come from the id of the run and the addresses in it, so a run that is sent again, or by another machine, is the same
trace with the same spans. Rule 2: no prompt, answer, diff or name of a person, unless content is asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from podium.core import events
from podium.core.addresses import ROOT
from podium.core.events import Event
from podium.core.types import Address, Millis
from podium.views.run.charges import NO_RESULT
from podium.views.telemetry import names

Value: TypeAlias = str | int | float | bool
Status: TypeAlias = Literal["unset", "ok", "error"]
LOST: Final = "lost"


class SpanEvent(NamedTuple):
    name: str
    at: Millis
    attributes: Mapping[str, Value]


class Span(NamedTuple):
    trace: bytes
    id: bytes
    parent: bytes
    """Empty for the run."""
    name: str
    started: Millis
    ended: Millis
    attributes: Mapping[str, Value]
    status: Status = "unset"
    message: str = ""
    events: tuple[SpanEvent, ...] = ()


class _Open(NamedTuple):
    name: str
    parent: Address | None
    started: Millis
    attributes: dict[str, Value]
    events: list[SpanEvent]


def trace_of(run: str) -> bytes:
    return hashlib.sha256(f"podium run {run}".encode()).digest()[:16]


def span_of(run: str, place: str) -> bytes:
    return hashlib.sha256(f"podium span {run} {place}".encode()).digest()[:8]


def spans_of(
    log: Iterable[Event], *, content: bool = False, vendors: Mapping[str, str] = NO_RESULT
) -> Iterator[Span]:
    """The spans of everything that has ended."""
    reader = SpanReader(content=content, vendors=vendors)
    for event in log:
        yield from reader.take(event)


class SpanReader:
    """Feed it the events of one run in order; it returns a span when that has ended."""

    def __init__(self, *, content: bool = False, vendors: Mapping[str, str] = NO_RESULT) -> None:
        self._content = content
        self._vendors = vendors
        """By agent, who makes its models."""
        self._run = ""
        self._open: dict[Address, _Open] = {}
        self._attempts: dict[Address, tuple[int, Millis]] = {}
        self._usd = 0
        self._unknown = 0

    def take(self, event: Event) -> list[Span]:
        match event:
            case events.RunStarted():
                self._run = event.run.id
                attributes: dict[str, Value] = {
                    names.OPERATION: names.INVOKE_WORKFLOW,
                    names.WORKFLOW_NAME: event.run.name,
                    names.RUN_ID: event.run.id,
                }
                name = f"{names.INVOKE_WORKFLOW} {event.run.name}"
                self._open[ROOT] = _Open(name, None, event.at, attributes, [])
            case events.StepEntered() if event.path != ROOT:
                attributes = {names.STEP_PATH: event.path, names.STEP_ROLE: event.role}
                self._open[event.path] = _Open(event.path, event.parent, event.at, attributes, [])
            case events.AttemptStarted(reused=False):
                self._attempts[event.path] = event.attempt, event.at
            case events.AttemptEnded():
                return self._attempt(event)
            case events.AttemptDoubted():
                return self._add_lost(event)
            case events.ApprovalAsked():
                self._add_question(event)
            case events.ApprovalGiven():
                self._add_answer(event)
            case events.StepEnded() if event.path != ROOT:
                return self._close(event.path, event.at, event.outcome, event.reason)
            case events.RunEnded():
                return self._end_run(event)
            case _:
                pass
        return []

    def _attempt(self, event: events.AttemptEnded) -> list[Span]:
        number, started = self._attempts.pop(event.path, (event.attempt, event.at))
        step, result = self._open.get(event.path), event.result or NO_RESULT
        if step is not None:
            step.attributes[names.ATTEMPTS] = event.attempt
            if event.verdict is not None:
                step.attributes[names.EVALUATION] = event.path
                step.attributes[names.SCORE_LABEL] = event.verdict.decision
                if event.verdict.score is not None:
                    step.attributes[names.SCORE] = float(event.verdict.score)
            if event.tree is not None:
                step.attributes[names.TREE] = event.tree
        agent = result.get("agent")
        if event.reused or not isinstance(agent, str):
            return []
        self._usd += event.used.usd
        self._unknown += event.used.calls if not event.cost_known else 0
        attributes = self._of_agent(event, agent, result)
        failed = event.kind != "ok"
        return [
            Span(
                trace_of(self._run),
                span_of(self._run, f"{event.path} {number}"),
                span_of(self._run, event.path),
                f"{names.INVOKE_AGENT} {agent}",
                started,
                event.at,
                attributes,
                "error" if failed else "unset",
            )
        ]

    def _of_agent(
        self, event: events.AttemptEnded, agent: str, result: Mapping[str, Any]
    ) -> dict[str, Value]:
        usage = result.get("usage")
        counts = usage if isinstance(usage, Mapping) else NO_RESULT
        model, vendor = result.get("model"), self._vendors.get(agent, "")
        optional: dict[str, Any] = {
            names.PROVIDER: names.PROVIDERS.get(vendor, vendor),
            names.RESPONSE_MODEL: model,
            names.INPUT_TOKENS: counts.get("input"),
            names.OUTPUT_TOKENS: counts.get("output"),
            names.CACHED_TOKENS: counts.get("cached"),
            names.COST_SOURCE: result.get("cost_source"),
            names.COST: event.used.usd / 1_000_000 if event.cost_known else None,
            names.ERROR_TYPE: None if event.kind == "ok" else event.reason or event.kind,
            names.TEXT: result.get("text") if self._content else None,
        }
        return {
            names.OPERATION: names.INVOKE_AGENT,
            names.AGENT_NAME: agent,
            names.STEP_PATH: event.path,
            names.ATTEMPT: event.attempt,
            **{name: value for name, value in optional.items() if value not in (None, "")},
        }

    def _add_lost(self, event: events.AttemptDoubted) -> list[Span]:
        number, started = self._attempts.pop(event.path, (event.attempt, event.at))
        self._unknown += 1
        attributes: dict[str, Value] = {
            names.STEP_PATH: event.path,
            names.ATTEMPT: number,
            names.ERROR_TYPE: LOST,
        }
        ids = (
            trace_of(self._run),
            span_of(self._run, f"{event.path} {number}"),
            span_of(self._run, event.path),
        )
        return [Span(*ids, f"attempt {event.path}", started, event.at, attributes, "error")]

    def _add_question(self, event: events.ApprovalAsked) -> None:
        step = self._open.get(event.path)
        if step is not None:
            step.attributes[names.QUESTION_KIND] = event.level
            self._open[event.path] = step._replace(name=f"ask {event.path}")

    def _add_answer(self, event: events.ApprovalGiven) -> None:
        step = self._open.get(event.path)
        if step is not None:
            step.attributes[names.ANSWER_ACTION] = event.action
            step.events.append(SpanEvent(names.ANSWERED, event.at, {names.ANSWER_ACTION: event.action}))

    def _close(self, path: Address, at: Millis, outcome: str, reason: str) -> list[Span]:
        opened = self._open.pop(path, None)
        if opened is None:
            return []
        failed = outcome not in ("passed", "skipped", "cancelled")
        opened.attributes[names.STEP_OUTCOME] = outcome
        if failed:
            opened.attributes[names.ERROR_TYPE] = reason or outcome
        return [self._span(path, opened, at, failed=failed)]

    def _end_run(self, event: events.RunEnded) -> list[Span]:
        """Steps that a cancelled run leaves open end with it."""
        rest = [path for path in self._open if path != ROOT]
        spans = [span for path in rest for span in self._close(path, event.at, "cancelled", "")]
        run = self._open.pop(ROOT, None)
        if run is not None:
            run.attributes[names.RUN_STATUS] = event.status
            run.attributes[names.COST] = self._usd / 1_000_000
            run.attributes[names.UNKNOWN_CALLS] = self._unknown
            failed = event.status not in ("passed", "cancelled")
            if failed:
                run.attributes[names.ERROR_TYPE] = event.reason or event.status
            spans.append(self._span(ROOT, run, event.at, failed=failed))
        return spans

    def _span(self, path: Address, opened: _Open, at: Millis, *, failed: bool) -> Span:
        parent = b"" if opened.parent is None else span_of(self._run, opened.parent)
        return Span(
            trace_of(self._run),
            span_of(self._run, path),
            parent,
            opened.name,
            opened.started,
            at,
            opened.attributes,
            "error" if failed else "ok",
            events=tuple(opened.events),
        )
