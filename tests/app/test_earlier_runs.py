"""What a run knows of earlier ones when it starts, and what its summary makes of that (R216)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from podium.adapters.history.sqlite import SqliteHistory
from podium.app.history.earlier import read_earlier
from podium.core import events
from podium.core.events import Event
from podium.core.payloads import EarlierRuns
from podium.views.files.summary import summary_text
from podium.views.run.builder import RunViewBuilder
from tests.app.metrics.history_kit import DAY, MONDAY, Draft, history_of

SCORES = [7.0, 9.0, 8.0, 8.5, 7.5, 8.0, 8.0]
DRAFTS = [
    *(
        Draft(f"r{number}", number, score=score, usd=0.10 + number / 100, subject="post", seconds=10 + number)
        for number, score in enumerate(SCORES)
    ),
    Draft("later", 40, score=1.0, usd=9.0, subject="post"),
    Draft("played", 2, score=10.0, usd=9.0, subject="post", simulated="scripted"),
    Draft("other", 2, score=10.0, usd=9.0, subject="post", workflow="else"),
]
NOW = MONDAY + 30 * DAY


@pytest.fixture
def history(tmp_path: Path) -> Iterator[SqliteHistory]:
    made = history_of(tmp_path, DRAFTS)
    yield made
    made.close()


def test_only_earlier_real_runs_of_the_workflow_count(history: SqliteHistory) -> None:
    earlier = read_earlier(history, "posts", "post", NOW)

    assert earlier is not None
    assert (earlier.iteration, earlier.best, earlier.best_run) == (len(SCORES) + 1, 9.0, "r1")
    assert earlier.scores == tuple(SCORES)
    assert earlier.usd is not None
    assert earlier.usd.median == pytest.approx(140_000)
    assert earlier.usd.runs == len(SCORES)
    assert [(each.agent, round(each.mean, 6), each.runs) for each in earlier.agents] == [
        ("claude", 8.0, len(SCORES))
    ]


def test_few_runs_have_no_usual_cost_and_no_trend(history: SqliteHistory) -> None:
    earlier = read_earlier(history, "posts", "post", MONDAY + 3 * DAY)

    assert earlier is not None
    assert (earlier.usd, earlier.time, earlier.agents) == (None, None, ())
    assert earlier.scores == (7.0, 9.0, 8.0)
    assert read_earlier(history, "unknown", "", NOW) is None


def test_the_summary_says_which_iteration_it_was_and_how_it_compares(history: SqliteHistory) -> None:
    draft = Draft("new", 30, score=9.5, usd=0.28, subject="post", seconds=12)
    text = summary_of(draft.log(), read_earlier(history, "posts", "post", NOW))

    assert "Iteration 8, score 9.5. The best before was 9.0 (`r1`): +0.5." in text
    assert "Scores: 7.0, 9.0, 8.0, 8.5, 7.5, 8.0, 8.0, 9.5 ▁▇▄▅▂▄▄█" in text
    assert "Work of claude scored 8.0 on average in its last 7 runs, this time 9.5 (+1.5)." in text
    assert "Cost: $0.29, 107% above the median of the last 7 runs, outside the usual $0.12 to $0.15." in text


def test_a_cost_that_is_not_known_is_compared_with_nothing(history: SqliteHistory) -> None:
    draft = Draft("new", 30, usd=None, subject="post")
    text = summary_of(draft.log(), read_earlier(history, "posts", "post", NOW))

    assert "Cost: at least $0.01, as 1 of its calls have no price; usually $0.12 to $0.15." in text
    assert "median of the last 7 runs" in text.split("Time:")[1].splitlines()[0]


def test_without_earlier_runs_the_summary_has_no_such_part() -> None:
    assert "Compared with earlier runs" not in summary_of(Draft("new", 30).log(), None)


def summary_of(log: list[Event], earlier: EarlierRuns | None) -> str:
    first = log[0]
    assert isinstance(first, events.RunStarted)
    builder = RunViewBuilder()
    builder.feed((replace(first, run=replace(first.run, earlier=earlier)), *log[1:]))
    return summary_text(builder.view())
