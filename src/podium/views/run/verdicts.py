"""Who has judged what in a run: gates, reviewers and people, each with the tree that was judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from podium.core.codec import encode
from podium.core.events import ApprovalAsked, ApprovalGiven, AttemptEnded, AttemptStarted, Event, StepEntered
from podium.core.types import Path, Tree
from podium.views.format import iso


def verdicts_of(events: Iterable[Event]) -> tuple[dict[str, Any], ...]:
    """In order, as JSON values; `seq` is the event that says it."""
    bench = _Bench()
    return tuple(row for seq, event in enumerate(events, start=1) for row in bench.rows(seq, event))


class _Bench:
    """What is being judged just now, and by whom."""

    def __init__(self) -> None:
        self._trees: dict[Path, Tree | None] = {}
        self._stages: set[Path] = set()
        self._gates: set[Path] = set()

    def rows(self, seq: int, event: Event) -> Iterator[dict[str, Any]]:
        match event:
            case StepEntered(path=path, parent=parent, role=role):
                if role == "gates":
                    self._stages.add(path)
                elif parent in self._stages:
                    self._gates.add(path)
            case AttemptStarted(path=path, start=start, base=base):
                self._trees[path] = start or base
            case ApprovalAsked(path=path, tree=tree):
                self._trees[path] = tree
            case AttemptEnded(path=path, verdict=verdict) if verdict is not None or path in self._gates:
                said = {} if verdict is None else encode(event)["verdict"]
                tree = None if verdict is None else verdict.tree
                outcome = "passed" if event.kind == "ok" else event.kind
                yield {
                    **_head(seq, event, "gate" if verdict is None else "reviewer", outcome),
                    **said,
                    "tree": tree or self._trees.get(path),
                }
            case ApprovalGiven(path=path):
                tree = event.tree or self._trees.get(path)
                yield {**_head(seq, event, event.by, event.action), "text": event.text, "tree": tree}
            case _:
                pass


def _head(seq: int, event: AttemptEnded | ApprovalGiven, by: str, outcome: str) -> dict[str, Any]:
    return {"seq": seq, "at": iso(event.at), "step": event.path, "by": by, "outcome": outcome}
