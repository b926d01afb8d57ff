"""The rows of the attempts of agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from podium.core import events
from podium.core.addresses import without_numbers
from podium.core.events import Event
from podium.core.types import Address
from podium.views.history.rows import AttemptRow
from podium.views.run.charges import NO_RESULT, Charge

CRAFTS: Final[Mapping[str, str]] = {
    "planner": "plan",
    "tech_lead": "plan",
    "orchestrator": "plan",
    "implementer": "implement",
    "implementer_fast": "implement",
    "ui_designer": "implement",
    "test_engineer": "test",
    "writer": "write",
    "synthesizer": "write",
    "auditor": "review",
    "quality_gate": "review",
    "reviewer": "review",
    "security_auditor": "review",
}
"""The kind of work of the shipped roles."""
OTHER: Final = "other"
DOUBTED: Final = "doubted"


def craft_of(role: str | None, *, judges: bool) -> str:
    return "review" if judges else CRAFTS.get(role or "", OTHER)


class AttemptReader:
    """Feed it the events of one run in order, each with the charges that it adds."""

    def __init__(self) -> None:
        self._rows: dict[tuple[Address, int], AttemptRow] = {}
        self.judges: set[Address] = set()
        """Visits that have given a verdict."""
        self.by_hand: set[Address] = set()
        self.played = False

    def take(self, event: Event, charges: Sequence[Charge]) -> None:
        match event:
            case events.AttemptStarted():
                if event.reserve.calls:
                    self._rows[event.path, event.attempt] = _started(event)
            case events.AttemptEnded():
                self._end(event)
            case events.AttemptDoubted():
                self._doubt(event)
            case events.AttemptTaken():
                self.by_hand.add(event.path)
            case _:
                pass
        self.add(charges)

    def add(self, charges: Sequence[Charge]) -> None:
        for charge in charges:
            row = self._rows.get((charge.path, charge.attempt))
            self.played = self.played or charge.simulated
            if row is None:
                # A call that was not reserved, such as one of an attempt that asks a person.
                row = _empty(charge.path, charge.attempt, charge.at)
            self._rows[charge.path, charge.attempt] = row._replace(
                usd=row.usd + charge.used.usd,
                unknown_calls=row.unknown_calls + charge.unknown_calls,
                tokens=row.tokens + charge.used.tokens,
                calls=row.calls + charge.used.calls,
            )

    def _end(self, event: events.AttemptEnded) -> None:
        result = event.result or NO_RESULT
        self.played = self.played or bool(result.get("simulated"))
        if event.verdict is not None:
            self.judges.add(event.path)
        if isinstance(result.get("by"), str):
            self.by_hand.add(event.path)
        key = event.path, event.attempt
        row = self._rows.get(key)
        if row is None:
            if not isinstance(result.get("agent"), str):
                return
            row = _empty(event.path, event.attempt, event.at)
        self._rows[key] = _ended(row, event, result)

    def _doubt(self, event: events.AttemptDoubted) -> None:
        row = self._rows.get((event.path, event.attempt))
        if row is not None:
            self._rows[event.path, event.attempt] = row._replace(
                ended=event.at, kind=DOUBTED, category=DOUBTED
            )

    def rows(self, proved: Mapping[tuple[Address, int], int]) -> list[AttemptRow]:
        """All attempts, with the outcome of their gates."""
        return [self._finished(row, proved.get(key)) for key, row in self._rows.items()]

    def _finished(self, row: AttemptRow, proved: int | None) -> AttemptRow:
        category = "gates" if proved == 0 and row.kind == "ok" else row.category
        craft = craft_of(row.role, judges=Address(row.path) in self.judges)
        return row._replace(craft=craft, proved=proved, category=category)

    def by_visit(self) -> dict[str, list[AttemptRow]]:
        visits: dict[str, list[AttemptRow]] = {}
        for row in self._rows.values():
            visits.setdefault(row.path, []).append(row)
        return visits


def _started(event: events.AttemptStarted) -> AttemptRow:
    row = _empty(event.path, event.attempt, event.at)
    return row._replace(nth=event.agent, reused=int(event.reused))


def _empty(path: Address, attempt: int, at: int) -> AttemptRow:
    missing = dict.fromkeys(AttemptRow._fields)
    counts = dict.fromkeys(("nth", "reused", "usd", "unknown_calls", "tokens", "calls"), 0)
    own = {"path": path, "attempt": attempt, "step": without_numbers(path), "craft": OTHER, "started": at}
    return AttemptRow(**{**missing, **counts, **own})  # type: ignore[arg-type]  # the columns by name


def _ended(row: AttemptRow, event: events.AttemptEnded, result: Mapping[str, Any]) -> AttemptRow:
    change, usage, window = event.change or NO_RESULT, _map(result, "usage"), _map(result, "context")
    text = result.get("text")
    return row._replace(
        role=_name(result, "role"),
        agent=_name(result, "agent"),
        model=_name(result, "model"),
        ended=event.at,
        kind=event.kind,
        category=event.reason or (None if event.kind == "ok" else event.kind),
        reused=int(bool(event.reused)),
        price=_name(result, "cost_source"),
        tok_in=_count(usage, "input"),
        tok_out=_count(usage, "output"),
        tok_cached=_count(usage, "cached"),
        ctx_used=_count(window, "used"),
        ctx_window=_count(window, "window"),
        words=len(text.split()) if isinstance(text, str) else None,
        files=_count(change, "files"),
        added=_count(change, "added"),
        removed=_count(change, "removed"),
        likeness=event.similarity_percent,
        sandbox=_name(result, "sandbox"),
        tree=event.tree,
        prompt=_name(result, "instructions"),
    )


def _map(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = fields.get(name)
    return value if isinstance(value, Mapping) else NO_RESULT


def _name(fields: Mapping[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) and value else None


def _count(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
