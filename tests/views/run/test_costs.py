"""The costs of runs are summed by any column, each once, with unknown costs counted separately."""

from __future__ import annotations

from dataclasses import replace

import pytest

from podium.core.events import AttemptDoubted, AttemptEnded, AttemptStarted
from podium.core.payloads import Amounts
from podium.core.types import Address, MicroUsd, Millis
from podium.views.run.costs import By, CostRow, RunLog, cost_report

DAY = 86_400_000


def ended(
    path: str, usd: int, *, agent: str = "claude", known: bool = True, reused: str = "", at: int = 0
) -> AttemptEnded:
    return AttemptEnded(
        Millis(at), Address(path), 1, "ok", result={"agent": agent, "role": "dev", "model": "m1"},
        used=Amounts(MicroUsd(usd), 100, 1), cost_known=known, reused=reused,
    )  # fmt: skip


RUNS = [
    RunLog(
        "r1",
        "ship",
        [
            ended("plan", 300),
            ended("each[2]/fix~2", 500, agent="codex"),
            ended("each[1]/fix", 0, known=False),
        ],
    ),
    RunLog("r2", "ship", [ended("plan", 300, reused="r1"), ended("fix", 200, at=DAY)]),
    RunLog(
        "r3",
        "other",
        [
            AttemptStarted(Millis(0), Address("x"), 1, Amounts(MicroUsd(50), 10, 2)),
            AttemptDoubted(Millis(1), Address("x"), 1),
            AttemptStarted(Millis(0), Address("tests"), 1, Amounts()),
            AttemptDoubted(Millis(1), Address("tests"), 1),
        ],
    ),
]


@pytest.mark.parametrize(
    ("by", "rows"),
    [
        ("agent", [("codex", 500), ("claude", 500), ("-", 0)]),
        ("role", [("dev", 1000), ("-", 0)]),
        ("model", [("m1", 1000), ("-", 0)]),
        ("step", [("ship: each/fix", 500), ("ship: plan", 300), ("ship: fix", 200), ("other: x", 0)]),
        ("workflow", [("ship", 1000), ("other", 0)]),
        ("run", [("r1", 800), ("r2", 200), ("r3", 0)]),
        ("day", [("1970-01-01", 800), ("1970-01-02", 200)]),
    ],
)
def test_every_grouping_gives_the_same_total(by: By, rows: list[tuple[str, int]]) -> None:
    """R208"""
    found = cost_report(RUNS, by)

    assert sorted((row.name, row.usd) for row in found.rows) == sorted(rows)
    assert found.total == CostRow("total", 5, 6, 400, MicroUsd(1000), 3)


def test_rows_are_sorted_by_cost_and_days_by_time() -> None:
    assert [row.name for row in cost_report(RUNS, "run").rows] == ["r1", "r2", "r3"]
    assert [row.name for row in cost_report(reversed(RUNS), "day").rows] == ["1970-01-01", "1970-01-02"]


def test_reused_results_count_in_the_run_that_paid_for_them() -> None:
    only = cost_report([RUNS[1]], "step")

    assert [(row.name, row.usd) for row in only.rows] == [("ship: fix", 200)]


def test_commands_cost_nothing_and_are_not_listed() -> None:
    free = AttemptEnded(Millis(0), Address("tests"), 1, "ok", result={"text": ""})

    assert cost_report([RunLog("r", "w", [free])], "agent").rows == ()


def test_scripted_and_recorded_agents_are_not_in_the_rows() -> None:
    scripted = ended("plan", 300)
    scripted = replace(scripted, result={**(scripted.result or {}), "simulated": "scripted"})
    report = cost_report(
        [
            RunLog("r", "w", [scripted, ended("fix", 200)]),
            RunLog("s", "w", [ended("fix", 70)], simulated=True),
        ],
        "agent",
    )

    assert [(row.name, row.usd, row.calls) for row in report.rows] == [("claude", 200, 1)]
    assert report.simulated == CostRow("simulated", 2, 2, 200, MicroUsd(370), 0)
