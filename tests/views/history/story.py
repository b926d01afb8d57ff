"""Logs of runs that are written by hand, event by event, so that every figure in their rows is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.core import events
from podium.core.addresses import ROOT
from podium.core.events import Event
from podium.core.payloads import Amounts, RunFacts, Verdict
from podium.core.types import Address, AnswerKind, Level, MicroUsd, Millis, Outcome, Role, RunStatus, Tree

SECOND = 1000


class Story:
    """One run. Times are in seconds after its start."""

    def __init__(self, *, run: str = "r1", start: int = 0, workflow: str = "ship", **inputs: Any) -> None:
        self.start = start
        self.at = 0.0
        self.log: list[Event] = []
        self._entered = 0
        facts = RunFacts(run, workflow, branch="main", base="c0")
        self.log.append(events.RunStarted(self._now, facts, "f" * 8, inputs, {}, Tree("t0")))

    @property
    def _now(self) -> Millis:
        return Millis(self.start + round(self.at * SECOND))

    def wait(self, seconds: float) -> Story:
        self.at += seconds
        return self

    def enter(
        self,
        path: str,
        *,
        parent: str = ROOT,
        index: int = 0,
        visit: int = 1,
        role: Role = "step",
        stale: tuple[int, ...] = (),
        base: str = "t0",
    ) -> Story:
        self.log.append(
            events.StepEntered(
                self._now,
                Address(path),
                Address(parent),
                role,
                index,
                visit,
                Tree(base),
                Tree(base),
                stale=stale,
            )
        )
        return self

    def call(
        self,
        path: str,
        agent: str,
        *,
        attempt: int = 1,
        nth: int = 0,
        takes: float = 10,
        usd: float | None = 0.1,
        tokens: int = 1000,
        kind: AnswerKind = "ok",
        reason: str = "",
        role: str | None = None,
        model: str | None = None,
        tree: str = "t0",
        files: int = 0,
        text: str = "",
        verdict: Verdict | None = None,
        percent: int | None = None,
        simulated: str = "",
        **fields: Any,
    ) -> Story:
        """An attempt of an agent, from its start to its end."""
        place = Address(path)
        self.log.append(events.AttemptStarted(self._now, place, attempt, Amounts(calls=1), agent=nth))
        self.wait(takes)
        result: dict[str, Any] = {"agent": agent, "role": role, "model": model, "text": text, **fields}
        if percent is not None:
            result["context"] = {"used": percent * 1000, "window": 100_000, "percent": percent}
        if simulated:
            result["simulated"] = simulated
        if verdict is not None:
            result["verdict"] = {"decision": verdict.decision, "by": [agent], **fields.get("verdict", {})}
        used = Amounts(MicroUsd(round((usd or 0) * 1e6)), tokens, 1)
        self.log.append(
            events.AttemptEnded(
                self._now,
                place,
                attempt,
                kind,
                reason,
                result,
                Tree(tree),
                {"files": files, "added": 3 * files, "removed": files},
                verdict,
                used,
                usd is not None,
            )
        )
        return self

    def gate(self, path: str, attempt: int, *, passes: bool, takes: float = 1, name: str = "tests") -> Story:
        """One gate of an attempt, with its stage."""
        stage = f"{path}#{attempt}"
        self.enter(stage, parent=path, role="gates").enter(f"{stage}/{name}", parent=stage)
        place = Address(f"{stage}/{name}")
        self.log.append(events.AttemptStarted(self._now, place, 1, Amounts(), start=Tree("t1")))
        self.wait(takes)
        code = 0 if passes else 1
        kind: AnswerKind = "ok" if passes else "failed"
        self.log.append(events.AttemptEnded(self._now, place, 1, kind, result={"exit_code": code}))
        outcome: Outcome = "passed" if passes else "failed"
        return self.end(place, outcome).end(stage, outcome, reason="" if passes else "gates")

    def ask(
        self, path: str, action: str | None, *, by: str = "ann", takes: float = 60, level: Level = "human"
    ) -> Story:
        place = Address(path)
        self.log.append(events.ApprovalAsked(self._now, place, level, (), 1, Tree("t1")))
        self.wait(takes)
        if action is not None:
            self.log.append(
                events.ApprovalGiven(self._now, place, action, by, "a text that stays out", tree=Tree("t1"))
            )
        return self

    def end(
        self,
        path: str,
        outcome: Outcome = "passed",
        *,
        reason: str = "",
        score: float | None = None,
        result: Mapping[str, Any] | None = None,
        degraded: bool = False,
    ) -> Story:
        self.log.append(
            events.StepEnded(
                self._now, Address(path), outcome, reason, result=result, score=score, degraded=degraded
            )
        )
        return self

    def finish(self, status: RunStatus = "passed", outcome: Outcome = "passed") -> list[Event]:
        self.end(ROOT, outcome)
        self.log.append(events.RunEnded(self._now, status, outcome, "", 0, {}))
        return self.log


def approves(score: float | None = None, tree: str | None = None) -> Verdict:
    return Verdict("approve", score, tree=None if tree is None else Tree(tree))


def rejects(score: float | None = None, tree: str | None = None, *issues: str) -> Verdict:
    findings = tuple(
        {"id": f"F{number}", "severity": "major", "issue": issue, "path": "a.py", "status": "open"}
        for number, issue in enumerate(issues, start=1)
    )
    return Verdict("reject", score, findings, None if tree is None else Tree(tree))
