"""The words of a workflow that were stored with the view of a run, for readers who have only its events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from podium.core.types import Millis, Path
from podium.views.format import iso, iso_or_none
from podium.views.run.view import LimitView, Pending, RunView, StepView


def has_words_for(view: RunView, data: Mapping[str, Any]) -> bool:
    """Whether every question that is open was open already when the view was stored."""
    rows = data.get("pending")
    known = (
        {(row.get("path"), row.get("since")) for row in rows if isinstance(row, dict)}
        if isinstance(rows, list)
        else set()
    )
    return all((pending.path, iso(pending.since)) in known for pending in view.pending)


def with_stored(view: RunView, data: Mapping[str, Any]) -> RunView:
    """Takes from an earlier `run.json` the questions that are still open, the limits, and why checks failed. Foreign
    data: anything else in it is left aside."""
    rows = data.get("pending")
    stored = {row.get("path"): row for row in rows if isinstance(row, dict)} if isinstance(rows, list) else {}
    pending = tuple(_worded(known, stored.get(known.path)) for known in view.pending)
    by_hand = tuple(_by_hand(view, stored))
    limits = data.get("limits")
    return view._replace(
        pending=(*pending, *by_hand),
        steps=tuple(_explained(view, data)),
        message=view.message or (_text(data, "message") if view.status == "failed" else ""),
        limits=tuple(_limits(view, limits)) if isinstance(limits, dict) else view.limits,
    )


def _worded(known: Pending, row: Mapping[str, Any] | None) -> Pending:
    if row is None or row.get("since") != iso(known.since):
        return known
    return known._replace(
        kind=_text(row, "kind") or known.kind,
        question=_text(row, "question"),
        actions=_texts(row, "actions") or known.actions,
        about=_text(row, "about"),
        shows=_texts(row, "shows"),
        name=_text(row, "name"),
    )


def _explained(view: RunView, data: Mapping[str, Any]) -> Iterator[StepView]:
    """What failed without a word in the log, such as a check, may have been explained by its definition."""
    rows = data.get("steps")
    known = {row.get("path"): row for row in rows if isinstance(row, dict)} if isinstance(rows, list) else {}
    for step in view.steps:
        row = known.get(step.path, {})
        is_same = step.outcome == "failed" and row.get("ended_at") == iso_or_none(step.ended)
        yield step._replace(message=_text(row, "message")) if is_same and not step.message else step


def _by_hand(view: RunView, stored: Mapping[Any, Mapping[str, Any]]) -> Iterator[Pending]:
    """Events do not tell a person's work from a program's; the stored view does."""
    hands = {path: row for path, row in stored.items() if row.get("kind") == "by_hand"}
    for step in view.steps if hands else ():
        row = hands.get(step.path)
        if row is not None and step.status == "running":
            yield Pending(
                Path(step.path), "by_hand", _moment(row), question=_text(row, "question"), base=step.base
            )


def _limits(view: RunView, limits: Mapping[str, Any]) -> Iterator[LimitView]:
    now = {"usd": view.usd / 1_000_000, "tokens": view.tokens, "calls": view.calls}
    for unit, row in limits.items():
        if isinstance(row, dict) and isinstance(row.get("limit"), int | float):
            used, held = _number(row, "used"), _number(row, "reserved")
            yield LimitView(str(unit), row["limit"], max(used, now.get(unit, 0)), held)


def _number(row: Mapping[str, Any], key: str) -> float:
    value = row.get(key, 0)
    return value if isinstance(value, int | float) else 0


def _moment(row: Mapping[str, Any]) -> Millis:
    try:
        return Millis(round(datetime.fromisoformat(_text(row, "since")).timestamp() * 1000))
    except ValueError:
        return Millis(0)


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else ""


def _texts(row: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = row.get(key)
    return tuple(word for word in value if isinstance(word, str)) if isinstance(value, list) else ()
