"""Adds texts from a stored view (`run.json`) to a view that was built from events alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from podium.core.types import Address, Millis
from podium.views.format import iso, iso_or_none
from podium.views.run.view import LimitView, Pending, RunView, with_messages

if TYPE_CHECKING:
    from podium.core.model import Labels


def has_texts_for(view: RunView, data: Mapping[str, Any]) -> bool:
    """Whether every open question was already open when the view was stored."""
    rows = data.get("pending")
    stored = (
        {(row.get("path"), row.get("since")) for row in rows if isinstance(row, dict)}
        if isinstance(rows, list)
        else set()
    )
    return all((pending.path, iso(pending.since)) in stored for pending in view.pending)


def with_stored(view: RunView, data: Mapping[str, Any]) -> RunView:
    """The view with the texts of open questions, the limits, and the explanations of checks from an earlier `run.json`.

    The file is untrusted: everything else in it is ignored.
    """
    rows = data.get("pending")
    stored = {row.get("path"): row for row in rows if isinstance(row, dict)} if isinstance(rows, list) else {}
    pending = tuple(_with_texts(waiting, stored.get(waiting.path)) for waiting in view.pending)
    by_hand = tuple(_by_hand(view, stored))
    limits = data.get("limits")
    return with_messages(view, dict(_messages(view, data)))._replace(
        pending=(*pending, *by_hand),
        limits=tuple(_limits(view, limits)) if isinstance(limits, dict) else view.limits,
        labels=_labels(data) or view.labels,
    )


def _labels(data: Mapping[str, Any]) -> Labels | None:
    rows = data.get("labels")
    if not isinstance(rows, dict):
        return None
    # Imported here: only files of other formats have labels, and a list of runs needs no model.
    from podium.core.model import Labels

    return Labels({str(name): label for name, label in rows.items() if isinstance(label, str)})


def _with_texts(pending: Pending, row: Mapping[str, Any] | None) -> Pending:
    if row is None or row.get("since") != iso(pending.since):
        return pending
    return pending._replace(
        kind=_text(row, "kind") or pending.kind,
        question=_text(row, "question"),
        actions=_texts(row, "actions") or pending.actions,
        about=_text(row, "about"),
        shows=_texts(row, "shows"),
        choices=_texts(row, "choices"),
        name=_text(row, "name"),
        until=_text(row, "until"),
    )


def _messages(view: RunView, data: Mapping[str, Any]) -> Iterator[tuple[Address, str]]:
    """The stored messages of steps that failed without a message in the log, such as checks."""
    rows = data.get("steps")
    stored = {row.get("path"): row for row in rows if isinstance(row, dict)} if isinstance(rows, list) else {}
    for step in view.steps:
        row = stored.get(step.path, {})
        is_same = step.outcome == "failed" and row.get("ended_at") == iso_or_none(step.ended)
        if is_same and not step.message and _text(row, "message"):
            yield step.path, _text(row, "message")


def _by_hand(view: RunView, stored: Mapping[Any, Mapping[str, Any]]) -> Iterator[Pending]:
    """Work by hand, which events do not distinguish from other attempts but the stored view does."""
    hands = {path: row for path, row in stored.items() if row.get("kind") == "by_hand"}
    for step in view.steps if hands else ():
        row = hands.get(step.path)
        if row is not None and step.status == "running":
            yield Pending(
                Address(step.path), "by_hand", _since(row), question=_text(row, "question"), base=step.base
            )


def _limits(view: RunView, limits: Mapping[str, Any]) -> Iterator[LimitView]:
    now = {"usd": view.usd / 1_000_000, "tokens": view.tokens, "calls": view.calls}
    for unit, row in limits.items():
        if isinstance(row, dict) and isinstance(row.get("limit"), int | float):
            used, reserved = _number(row, "used"), _number(row, "reserved")
            yield LimitView(str(unit), row["limit"], max(used, now.get(unit, 0)), reserved)


def _number(row: Mapping[str, Any], key: str) -> float:
    value = row.get(key, 0)
    return value if isinstance(value, int | float) else 0


def _since(row: Mapping[str, Any]) -> Millis:
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
