"""What the runs of a project have cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from podium.core.events import Event
from podium.engine.log import read_events
from podium.ports.store import RunHead, Store
from podium.views.run.costs import Bill, By, bill


def costs(store: Store, heads: Sequence[RunHead], by: By) -> Bill:
    def each() -> Iterator[tuple[str, str, Sequence[Event]]]:
        for head in heads:
            yield head.run, head.workflow, read_events(store, head.run)

    return bill(each(), by)
