"""Makes the rows of a run from its events.

Rule: a run is always projected as a whole, so rows depend on the events alone and never on when they were made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeVar

from podium.core import events
from podium.core.addresses import ROOT
from podium.core.events import Event
from podium.core.json_text import spaced_json
from podium.core.types import Address, Millis
from podium.views.history.attempts import AttemptReader
from podium.views.history.judging import JudgeReader
from podium.views.history.people import PeopleReader
from podium.views.history.rows import TABLES, ChoiceRow, RunRow, RunRows, TrialRow
from podium.views.history.visits import visits_of
from podium.views.run.builder import RunViewBuilder
from podium.views.run.view import RunView

OPEN: Final = "open"
Row = TypeVar("Row", bound=tuple[Any, ...])


def project_run(
    run: str,
    workflow: str,
    log: Sequence[Event],
    *,
    head: str,
    is_replay: bool = False,
) -> RunRows | None:
    """The rows of a run after these events, the last of which has the hash `head`; None before its first event."""
    if not log or not isinstance(log[0], events.RunStarted):
        return None
    builder, attempts, judges, people = RunViewBuilder(), AttemptReader(), JudgeReader(), PeopleReader()
    clock = _Clock()
    for seq, event in enumerate(log, start=1):
        builder.feed((event,))
        attempts.take(event, builder.new_charges)
        judges.take(event)
        people.take(seq, event)
        clock.take(event)
    view = builder.view()
    judges.finish(view)
    attempt_rows = attempts.rows(judges.proved)
    visits = visits_of(view, attempts, judges, people)
    tables: dict[str, Iterable[tuple[Any, ...]]] = {
        "visit": visits,
        "attempt": attempt_rows,
        "gate": judges.gates(),
        "verdict": judges.verdicts(),
        "score": judges.scores(),
        "finding": judges.findings(view),
        "question": people.questions(),
        "answer": people.answers,
        "choice": _choices_of(log[0]),
        "trial": _trial_of(log[0]),
    }
    agents = [row for row in attempt_rows if not row.reused]
    row = RunRow(
        run=run,
        workflow=workflow,
        fingerprint=log[0].fingerprint,
        **_facts_of(log[0]),
        **_end_of(view),
        played=int(is_replay or attempts.played),
        usd=view.usd,
        unknown_calls=view.unknown_calls,
        tokens=view.tokens,
        calls=view.calls,
        work_ms=clock.worked,
        wait_ms=max(0, view.at - log[0].at - clock.worked),
        attempts=len(agents),
        retries=sum(visit.retries for visit in visits),
        questions=people.asked_people,
        touched=people.touched,
        score=judges.last_score(),
        seq=len(log),
        head=head,
    )
    return RunRows(_storable(row), {name: _ordered(name, rows) for name, rows in tables.items()})


def _facts_of(started: events.RunStarted) -> dict[str, Any]:
    facts = started.run
    return {
        "subject": facts.subject or None,
        "note": facts.note or None,
        "inputs": hashlib.sha256(spaced_json(dict(started.inputs)).encode("utf-8", "replace")).hexdigest()[
            :16
        ],
        "started": started.at,
        "branch": facts.branch or None,
        "base": facts.base or None,
        "continues": facts.continues or None,
    }


def _choices_of(started: events.RunStarted) -> list[ChoiceRow]:
    return [
        ChoiceRow(each.step, each.policy, each.agent, each.standard, each.why, each.chance, each.as_of)
        for each in started.run.chosen
    ]


def _trial_of(started: events.RunStarted) -> list[TrialRow]:
    trial = started.run.trial
    if trial is None:
        return []
    return [TrialRow(trial.suite, trial.experiment, trial.case, trial.arm, trial.number, trial.position)]


def _end_of(view: RunView) -> dict[str, Any]:
    return {
        "ended": view.ended,
        "status": OPEN if view.ended is None else view.status,
        "outcome": view.outcome,
        "reason": view.reason or None,
        "tree": view.tree,
        "landed": int(any(step.landed is not None for step in view.steps)),
    }


def _ordered(name: str, rows: Iterable[tuple[Any, ...]]) -> tuple[tuple[Any, ...], ...]:
    table = TABLES[name]
    places = [table.columns.index(column) for column in table.key]
    return tuple(sorted(map(_storable, rows), key=lambda row: tuple(row[place] for place in places)))


def _storable(row: Row) -> Row:
    """The row with texts that every database takes: valid Unicode without NUL."""
    if all(not isinstance(value, str) or (value.isascii() and "\0" not in value) for value in row):
        return row
    values = (_clean(value) if isinstance(value, str) else value for value in row)
    made: Row = row._make(values)  # type: ignore[attr-defined]  # every row is a named tuple
    return made


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


class _Clock:
    """The time during which at least one attempt was active. The time in which no process drove the run does not count."""

    def __init__(self) -> None:
        self._active: set[Address] = set()
        self._last = Millis(0)
        self.worked = 0

    def take(self, event: Event) -> None:
        if self._active and not isinstance(event, events.RunRecovered):
            self.worked += max(0, event.at - self._last)
        self._last = Millis(max(self._last, event.at))
        match event:
            case events.AttemptStarted(path=path, reused=False) if path != ROOT:
                self._active.add(path)
            case events.AttemptEnded(path=path) | events.AttemptDoubted(path=path):
                self._active.discard(path)
            case events.RunEnded():
                self._active.clear()
            case _:
                pass
