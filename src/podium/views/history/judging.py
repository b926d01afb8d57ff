"""The rows of gates, verdicts, scores and findings, and whose work was judged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from podium.core import events
from podium.core.addresses import without_numbers
from podium.core.events import Event
from podium.core.types import Address, Tree
from podium.views.history.rows import FindingRow, GateRow, ScoreRow, VerdictRow
from podium.views.run.charges import NO_RESULT
from podium.views.run.findings import in_view, reviews_of
from podium.views.run.view import RunView

_GATES: Final = re.compile(r"(.*)#(\d+)(?:~\d+)?$", re.DOTALL)
AUDIT: Final = frozenset(("overall", "decision", "scores"))
"""The fields of an audit, which judges texts without being a review."""


class _Author(NamedTuple):
    path: Address
    agent: str | None
    model: str | None


class JudgeReader:
    """Feed it the events of one run in order, then its view."""

    def __init__(self) -> None:
        self.proved: dict[tuple[Address, int], int] = {}
        """For each attempt with gates, whether they passed."""
        self.rejected: set[Address] = set()
        """Visits whose work a review rejected."""
        self._stages: dict[Address, tuple[Address, int]] = {}
        self._gates: dict[Address, GateRow] = {}
        self._parents: dict[Address, Address] = {}
        self._trees: dict[Tree, _Author] = {}
        self._authors: dict[Address, _Author] = {}
        """By visit, who answered last."""
        self._newest: dict[Address, Address] = {}
        """By scope, the newest child that has ended with an answer of an agent."""
        self._verdicts: dict[tuple[Address, int], VerdictRow] = {}
        self._scores: dict[tuple[Address, int], Mapping[str, float]] = {}
        self._rounds: dict[str, int] = {}
        self._panels: set[Address] = set()

    def take(self, event: Event) -> None:
        match event:
            case events.StepEntered():
                self._enter(event)
            case events.AttemptStarted(path=path) if path in self._gates:
                kind = "agent" if event.reserve.calls else "command"
                gate = self._gates[path]
                self._gates[path] = gate._replace(kind=kind, tree=event.start or event.base)
            case events.AttemptEnded():
                self._answer(event)
            case events.StepEnded():
                self._end(event)
            case _:
                pass

    def _enter(self, event: events.StepEntered) -> None:
        self._parents[event.path] = event.parent
        match = _GATES.match(event.path) if event.role == "gates" else None
        if match is not None:
            self._stages[event.path] = Address(match[1]), int(match[2])
        elif event.parent in self._stages and event.role == "step":
            of_path, attempt = self._stages[event.parent]
            name = event.path.rpartition("/")[2]
            self._gates[event.path] = GateRow(
                event.path, of_path, attempt, name, "check", event.at, None, None, None, None, None
            )

    def _answer(self, event: events.AttemptEnded) -> None:
        result = event.result or NO_RESULT
        if event.path in self._gates:
            code = result.get("exit_code")
            is_code = isinstance(code, int) and not isinstance(code, bool)
            self._gates[event.path] = self._gates[event.path]._replace(exit_code=code if is_code else None)
        agent, model = result.get("agent"), result.get("model")
        author = _Author(event.path, agent if isinstance(agent, str) else None, model or None)
        audit = _audit(result) if event.verdict is None else None
        if event.verdict is not None or audit is not None:
            self._judge(event, author, result, audit)
        elif author.agent is not None:
            self._authors[event.path] = author
            if event.tree is not None and event.change is not None and event.change.get("files"):
                self._trees[event.tree] = author

    def _judge(
        self,
        event: events.AttemptEnded,
        author: _Author,
        result: Mapping[str, Any],
        audit: Mapping[str, Any] | None,
    ) -> None:
        verdict = event.verdict
        tree = None if verdict is None else verdict.tree
        judged = self._judged(event.path, tree)
        reviewer = without_numbers(event.path)
        self._rounds[reviewer] = self._rounds.get(reviewer, 0) + 1
        score = _number(audit["overall"]) if verdict is None and audit is not None else None
        record = result.get("verdict") if audit is None else audit
        self._scores[event.path, event.attempt] = _numbers(record)
        self._verdicts[event.path, event.attempt] = VerdictRow(
            path=event.path,
            attempt=event.attempt,
            review=without_numbers(self._parents.get(event.path, event.path)) or reviewer,
            round=self._rounds[reviewer],
            reviewer=reviewer.rpartition("/")[2],
            agent=author.agent,
            model=author.model,
            of_path=None if judged is None else judged.path,
            of_agent=None if judged is None else judged.agent,
            of_model=None if judged is None else judged.model,
            decision=verdict.decision if verdict is not None else str((audit or NO_RESULT)["decision"])[:40],
            score=score if verdict is None else _number(verdict.score),
            findings=0 if verdict is None else len(verdict.findings),
            tree=tree,
            given_at=event.at,
        )

    def _judged(self, path: Address, tree: Tree | None) -> _Author | None:
        """Who made the work that this visit judges: by the tree, else the step of the gate, else the step above."""
        if tree is not None and tree in self._trees:
            return self._trees[tree]
        place = path
        while place in self._parents:
            stage = self._stages.get(self._parents[place])
            if stage is not None:
                return self._authors.get(stage[0])
            place = self._parents[place]
            above = self._newest.get(place)
            if above is not None:
                return self._authors.get(above)
        return None

    def _end(self, event: events.StepEnded) -> None:
        path, passed = event.path, event.outcome == "passed"
        if path in self._stages and event.outcome not in ("cancelled", "skipped"):
            self.proved[self._stages[path]] = int(passed)
        gate = self._gates.get(path)
        if gate is not None:
            counts = event.outcome not in ("cancelled", "skipped")
            category = None if passed else event.reason or event.outcome
            self._gates[path] = gate._replace(
                ended=event.at, passed=int(passed) if counts else None, category=category
            )
        record = (event.result or NO_RESULT).get("verdict")
        if isinstance(record, Mapping) and record.get("by"):
            self._panels.add(path)
        if event.outcome == "rejected":
            self._reject(path)
        if path in self._authors or path not in self._parents:
            self._newest[self._parents.get(path, path)] = path
        elif not any(place == path for place, _ in self._verdicts) and path not in self._panels:
            # A block or a command above a review: no single agent made what it judges.
            self._newest.pop(self._parents[path], None)

    def _reject(self, path: Address) -> None:
        for row in self._verdicts.values():
            place: Address | None = Address(row.path)
            while place is not None and place != path:
                place = self._parents.get(place)
            if place == path and row.of_path is not None and row.decision != "approve":
                self.rejected.add(Address(row.of_path))

    def finish(self, view: RunView) -> None:
        """Gates of a run that has ended are over, whether or not there is an event about each."""
        if view.ended is not None:
            for path, gate in self._gates.items():
                self._gates[path] = gate if gate.ended is not None else gate._replace(ended=view.ended)

    def gates(self) -> Iterator[GateRow]:
        yield from self._gates.values()

    def verdicts(self) -> Iterator[VerdictRow]:
        yield from self._verdicts.values()

    def scores(self) -> Iterator[ScoreRow]:
        for (path, attempt), parts in self._scores.items():
            yield from (ScoreRow(path, attempt, name, value) for name, value in parts.items())

    def findings(self, view: RunView) -> Iterator[FindingRow]:
        for review in reviews_of(in_view(view.steps)):
            rounds = {path: number for number, path in enumerate(review.rounds, start=1)}
            for each in review.findings:
                yield FindingRow(
                    review.review,
                    each.by,
                    each.id,
                    each.severity,
                    each.status,
                    rounds[each.first],
                    rounds[each.last],
                    each.path or None,
                )

    def last_score(self) -> float | None:
        """The mean score of the last round of the last review that gave one."""
        scored = [row for row in self._verdicts.values() if row.score is not None]
        if not scored:
            return None
        last = max(scored, key=lambda row: row.given_at)
        panel = self._parents.get(Address(last.path))
        rows = [row for row in scored if self._parents.get(Address(row.path)) == panel]
        rows = rows if panel in self._panels else [last]
        return sum(row.score or 0.0 for row in rows) / len(rows)


def _audit(result: Mapping[str, Any]) -> Mapping[str, Any] | None:
    output = result.get("output")
    return output if isinstance(output, Mapping) and output.keys() >= AUDIT else None


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None


def _numbers(record: Any) -> dict[str, float]:
    """The parts of a score, by their names."""
    parts = record.get("scores") if isinstance(record, Mapping) else None
    pairs = (
        (str(name), _number(value)) for name, value in (parts if isinstance(parts, Mapping) else {}).items()
    )
    return {name: value for name, value in pairs if value is not None}
