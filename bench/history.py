"""What the history costs at 10,000 runs of 20 attempts each: bringing it up to date after one run, and each view.

Processor time of this process. The runs are spread over a year, so that the last 30 days hold about 800 of them.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from bench.engine import Cost
from podium.adapters.history.sqlite import SqliteHistory
from podium.adapters.stores.sqlite import SqliteStore
from podium.app.history.catch_up import catch_up
from podium.app.metrics.query import MetricsQuery, Source
from podium.app.metrics.report import VIEWS, page_of, report_of
from podium.core import events
from podium.core.events import Event
from podium.core.hash_chain import FIRST_HASH, RunId
from podium.core.payloads import Amounts, RunFacts, Verdict
from podium.core.types import Address, MicroUsd, Millis, Tree
from podium.engine.local import LocalRuntime
from podium.engine.log import to_text
from podium.files.project_paths import ProjectPaths
from podium.ports.store import RunHead
from podium.views.history.projection import project_run

RUNS: Final = 10_000
STEPS: Final = 10
"""Each with an attempt that its gate refuses and one that passes; a review at the end."""
NOW: Final = 1_767_000_000_000
YEAR: Final = 365 * 86_400_000
MONTH: Final = 30 * 86_400_000
AGENTS: Final = ("claude", "codex", "gemini")
TIMES: Final = 5
CATCH_UP_MS: Final = 50
VIEW_MS: Final = 300


def costs() -> tuple[Cost, ...]:
    with tempfile.TemporaryDirectory() as name:
        return (_catching_up(Path(name) / "logs"), *_views(Path(name) / "rows"))


def _log(number: int, *, steps: int = STEPS) -> list[Event]:
    """The events of one run: 5 for each attempt with its gate."""
    at = NOW - YEAR + number * (YEAR // RUNS)
    facts = RunFacts(f"r{number}", "ship", subject=f"story {number % 500}")
    log: list[Event] = [events.RunStarted(Millis(at), facts, "f", {}, {}, Tree("t"))]
    for step in range(steps):
        path, agent = Address(f"step{step}"), AGENTS[(number + step) % 3]
        log.append(events.StepEntered(Millis(at), path, Address(""), "step", step, 1))
        for attempt in (1, 2):
            at += 60_000
            log += _attempt(path, attempt, agent, Millis(at), number)
        log.append(events.StepEnded(Millis(at), path, "passed"))
    return [*log, events.RunEnded(Millis(at), "passed", "passed", "", 0, {})]


def _attempt(path: Address, attempt: int, agent: str, at: Millis, number: int) -> Iterator[Event]:
    judge = path == f"step{STEPS - 1}"
    result = {
        "agent": agent,
        "role": "reviewer" if judge else "implementer",
        "model": "m",
        "text": "some words",
    }
    result["context"] = {"used": 1000 * (number % 100), "window": 100_000, "percent": number % 100}  # type: ignore[assignment]
    verdict = Verdict("approve", 5 + number % 50 / 10, tree=Tree("t")) if judge else None
    used = Amounts(MicroUsd(10_000 + number), 1000, 1)
    yield events.AttemptStarted(Millis(at - 50_000), path, attempt, Amounts(calls=1))
    yield events.AttemptEnded(at, path, attempt, "ok", "", result, Tree("t"), {"files": 1}, verdict, used)
    gate = Address(f"{path}#{attempt}")
    yield events.StepEntered(at, gate, path, "gates", 0, 1)
    yield events.StepEntered(at, Address(f"{gate}/tests"), gate, "step", 0, 1)
    outcome = "failed" if attempt == 1 and number % 3 else "passed"
    yield events.StepEnded(at, Address(f"{gate}/tests"), outcome)  # type: ignore[arg-type]
    yield events.StepEnded(at, gate, outcome)  # type: ignore[arg-type]


def _catching_up(folder: Path) -> Cost:
    paths = ProjectPaths(folder)
    with closing(SqliteStore(paths.database)) as store, closing(SqliteHistory(paths.history)) as history:
        runtime = LocalRuntime(store, paths, None)  # type: ignore[arg-type]  # nothing is driven here
        for number in range(RUNS):
            _append(store, number, steps=0)
        catch_up(runtime, history)
        figures = []
        for number in range(RUNS, RUNS + TIMES):
            _append(store, number, steps=4)
            start = time.process_time()
            catch_up(runtime, history)
            figures.append(time.process_time() - start)
    detail = f"a run of {len(_log(0, steps=4))} events beside {RUNS:,} others"
    return Cost(
        "history brought up to date after one run", 1000 * min(figures), "ms", CATCH_UP_MS, detail=detail
    )


def _append(store: SqliteStore, number: int, *, steps: int) -> None:
    run = RunId(f"r{number}")
    store.create(RunHead(run, "ship", "f", number, 0, 0, FIRST_HASH, source="{}"))
    lines = [(type(event).__name__, to_text(event)) for event in _log(number, steps=steps)]
    store.append(run, lines, after=0, epoch=store.claim(run), cause="bench", status="passed")


def _views(folder: Path) -> Iterator[Cost]:
    with closing(SqliteHistory(folder / "history.db")) as history:
        for number in range(RUNS):
            rows = project_run(f"r{number}", "ship", _log(number), head="h")
            assert rows is not None
            history.put(history.own, rows)
        month = MetricsQuery(NOW - MONTH, NOW + YEAR, "last 30 days", project=history.own.id)
        named = {"best": "implement", "subject": "story 7"}
        for period, query in (("30 days", month), ("a year", month._replace(since=0))):
            took = {
                view: _seconds(Source(history, query._replace(name=named.get(view, ""))), view)
                for view in VIEWS
            }
            # It asks what seven other views ask.
            advice = took.pop("advice")
            slowest = max(took, key=lambda view: took[view])
            detail = f"{slowest}; {RUNS:,} runs, {2 * STEPS * RUNS:,} attempts"
            yield Cost(
                f"slowest view of metrics over {period}", 1000 * took[slowest], "ms", VIEW_MS, detail=detail
            )
            yield Cost(f"suggestions over {period}", 1000 * advice, "ms", 5 * VIEW_MS, target=VIEW_MS)
        start = time.process_time()
        size = len(page_of(Source(history, month._replace(since=0))).encode())
        page_s = time.process_time() - start
        yield Cost("page of metrics over a year", 1000 * page_s, "ms", 5000, detail=f"{size / 1000:.0f} kB")


def _seconds(source: Source, view: str) -> float:
    figures = []
    for _ in range(TIMES):
        start = time.process_time()
        report_of(source, view)
        figures.append(time.process_time() - start)
    return min(figures)
