"""A page of the list of runs: filtered, counted by status, and continued by a cursor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from podium.errors import ConfigurationError
from podium.views.plain import as_text

if TYPE_CHECKING:
    from podium.app.query.shelf import Shelf
    from podium.ports.store import RunHead
    from podium.views.run.view import RunView

PAGE: Final = 50


class Page(NamedTuple):
    runs: tuple[RunView, ...]
    """Newest first; only runs that wait have their steps and questions."""
    next: str
    """The run after which the next page begins; empty on the last page."""
    counts: Mapping[str, int]
    """How many runs have each status, without regard to the filter by status and to the page."""
    workflows: tuple[str, ...]
    """The workflows of all runs, by name."""


def runs_page(
    shelf: Shelf,
    *,
    limit: int = PAGE,
    before: str = "",
    status: Collection[str] = (),
    workflow: str = "",
    text: str = "",
) -> Page:
    """`before` is a run: the page begins with the one that is next older. `text` occurs in the id, the workflow or an input."""
    with shelf.lock:
        heads = shelf.heads()
        fitting = [head for head in heads if not workflow or head.workflow == workflow]
        fitting = [head for head in fitting if not text or _has(shelf, head, text.casefold())]
        statuses = {head.run: shelf.status(head) for head in fitting}
        chosen = [head for head in fitting if not status or statuses[head.run] in status]
        start = _after(chosen, heads, before)
        shown = chosen[start : start + limit]
        more = start + len(shown) < len(chosen)
        return Page(
            tuple(_views(shelf, shown)),
            shown[-1].run if more and shown else "",
            Counter(statuses.values()),
            tuple(sorted({head.workflow for head in heads})),
        )


def _after(chosen: list[RunHead], heads: tuple[RunHead, ...], before: str) -> int:
    """Where the page begins. The run of the cursor may no longer fit the filter, so its place among all runs counts."""
    if not before:
        return 0
    places: dict[str, int] = {head.run: place for place, head in enumerate(heads)}
    place = places.get(before)
    if place is None:
        raise ConfigurationError(f'run "{before}" not found', code="unknown_run")
    return sum(places[head.run] <= place for head in chosen)


def _has(shelf: Shelf, head: RunHead, text: str) -> bool:
    if text in head.run.casefold() or text in head.workflow.casefold():
        return True
    return any(text in as_text(value).casefold() for value in shelf.summary(head).inputs.values())


def _views(shelf: Shelf, heads: list[RunHead]) -> Iterator[RunView]:
    for head in heads:
        yield shelf.of(head).view if head.status == "waiting" else shelf.summary(head)
