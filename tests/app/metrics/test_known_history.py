"""Every query of the first documents, answered on a history of known truth (R218, R219, R221).

The figures on the right are computed in the test from the list of drafts, not by what is tested.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import mean, median

import pytest

from podium.adapters.history.sqlite import SqliteHistory
from podium.errors import ConfigurationError
from podium.views.metrics.tables import csv_of, data_of, lines_of, week_name
from tests.app.metrics.history_kit import DAY, MONDAY, Draft, asked, history_of, table
from tests.views.kit import conforms

DRAFTS = [
    *(
        Draft(
            f"c{n}",
            n,
            score=8 + n % 3 * 0.5,
            parts=(9.0, 7.0 + n % 2),
            usd=0.10 + n % 4 * 0.02,
            tokens=1000 + n,
            seconds=30 + n,
            retries=n % 2,
            approved=n % 10 != 0,
        )
        for n in range(40)
    ),
    *(
        Draft(
            f"g{n}",
            n,
            agent="codex",
            score=7 + n % 4 / 2,
            parts=(7.0, 8.5),
            usd=0.30,
            tokens=2000,
            seconds=20,
            approved=n % 3 == 0,
        )
        for n in range(0, 40, 2)
    ),
    Draft("p1", 3, agent="claude", simulated="scripted", usd=99.0),
]
CLAUDE = [draft for draft in DRAFTS if draft.agent == "claude" and not draft.simulated]
CODEX = [draft for draft in DRAFTS if draft.agent == "codex"]
REAL = [*CLAUDE, *CODEX]


def spent(draft: Draft) -> float:
    return (draft.usd or 0) * (draft.retries + 1) + 0.01


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteHistory]:
    made = history_of(tmp_path_factory.mktemp("history"), DRAFTS)
    yield made
    made.close()


def test_agent_comparison(history: SqliteHistory) -> None:
    """Document 000, `eval-agents`: average score and its parts for each agent, with the number of runs."""
    rows = {row["agent"]: row for row in table(asked(history, "agents"), "agents").rows}

    for name, drafts in (("claude", CLAUDE), ("codex", CODEX)):
        row = rows[name]
        assert row["score"].value == pytest.approx(mean(draft.score or 0 for draft in drafts))
        assert row["score"].low < row["score"].value < row["score"].high
        assert row["part hook"] == pytest.approx(mean(draft.parts[0] for draft in drafts))
        assert row["part specifics"] == pytest.approx(mean(draft.parts[1] for draft in drafts))
        assert (row["runs"], row["verdicts"]) == (len(drafts), len(drafts))


def test_agent_performance_over_time(history: SqliteHistory) -> None:
    """Document 000, `agent_performance_over_time`: the average score of an agent in each run, in order."""
    rows = table(asked(history, "agents", name="codex"), "agent_runs").rows

    assert [(row["run"], row["score"], row["date_ms"]) for row in rows] == [
        (draft.run, float(draft.score or 0), MONDAY + draft.day * DAY) for draft in CODEX
    ]


def test_cost_by_agent(history: SqliteHistory) -> None:
    """Document 000, `eval-costs`: calls, tokens and cost of each agent, per run and in total."""
    report = asked(history, "costs")
    rows = {row["name"]: row for row in table(report, "costs").rows}

    for name, drafts in (("claude", CLAUDE), ("codex", CODEX)):
        calls = sum(draft.retries + 1 for draft in drafts)
        usd = sum(spent(draft) - 0.01 for draft in drafts)
        assert rows[name]["calls"] == calls
        assert rows[name]["tokens"] == sum((draft.retries + 1) * draft.tokens for draft in drafts)
        assert rows[name]["usd"] == pytest.approx(usd * 1e6)
        assert rows[name]["per_run_usd"].value == pytest.approx(usd / len(drafts) * 1e6)
    stood = sum(draft.approved for draft in CLAUDE)
    assert rows["claude"]["per_stood_usd"] == pytest.approx(
        sum(spent(draft) - 0.01 for draft in CLAUDE) / stood * 1e6
    )
    (total,) = table(report, "total").rows
    landed = sum(draft.approved for draft in REAL)
    assert total["runs"] == len(REAL)
    assert total["usd"] == pytest.approx(sum(map(spent, REAL)) * 1e6)
    assert total["landed"] == landed
    assert total["per_landed_usd"] == pytest.approx(sum(map(spent, REAL)) / landed * 1e6)


def test_best_agent_for_a_task(history: SqliteHistory) -> None:
    """Document 000, `best_agent_for_task`; document 003, success by task and agent, with the best one."""
    rows = {row["agent"]: row for row in table(asked(history, "best", name="write"), "best").rows}

    assert rows["claude"]["stood"][:2] == (sum(d.approved for d in CLAUDE), len(CLAUDE)) == (36, 40)
    assert rows["codex"]["stood"][:2] == (sum(d.approved for d in CODEX), len(CODEX)) == (7, 20)
    assert rows["claude"]["claim"] == "best: claude"


def test_post_iterations(tmp_path: Path) -> None:
    """Document 000, `eval-post`: its own example."""
    posts = [
        Draft("a1", 0, subject="post_03", score=7.2, usd=0.14),
        Draft("a2", 1, subject="post_03", score=8.1, usd=0.13, note="Added GPU temp detail"),
        Draft("b1", 1, subject="post_04", score=5.0),
        Draft("a3", 2, subject="post_03", score=8.8, usd=0.12, note="Stronger hook"),
        Draft("a4", 3, subject="post_03", score=8.8, usd=0.12, agent="codex"),
    ]
    history = history_of(tmp_path, posts)
    one = table(asked(history, "subject", name="post_03"), "subject")

    assert [(row["iteration"], row["score"], row["usd"], row["changed"]) for row in one.rows] == [
        (1, 7.2, 150_000, "first"),
        (2, 8.1, 140_000, "Added GPU temp detail"),
        (3, 8.8, 130_000, "Stronger hook"),
        (4, 8.8, 130_000, "agents"),
    ]
    assert one.notes == ("from 7.2 to 8.8 (+1.6) over 4 iterations",)
    with pytest.raises(ConfigurationError, match='no run about "post_05"') as raised:
        asked(history, "subject", name="post_05")
    assert "post_03, post_04" in str(raised.value.hint)
    history.close()


def test_weekly_summary(history: SqliteHistory) -> None:
    """Document 000, `eval-weekly`: runs, quality, cost and tokens of each week."""
    rows = table(asked(history, "weekly"), "weekly").rows

    assert [week_name(row["week"]) for row in rows] == [
        "2026-W02",
        "2026-W03",
        "2026-W04",
        "2026-W05",
        "2026-W06",
        "2026-W07",
    ]
    for number, row in enumerate(rows):
        week = [draft for draft in REAL if draft.day // 7 == number]
        assert row["runs"] == len(week)
        assert row["passed"][:2] == (sum(draft.approved for draft in week), len(week))
        assert row["score"] == pytest.approx(mean(draft.score or 0 for draft in week))
        assert row["usd"] == pytest.approx(sum(map(spent, week)) * 1e6)
        assert row["tokens"] == sum((draft.retries + 1) * draft.tokens + 100 for draft in week)


def test_quality_trend(tmp_path: Path) -> None:
    """Document 000, `eval-trend`: 12 runs at 6.0 in two weeks, then 12 at 8.0."""
    drafts = [Draft(f"r{n}", n, score=6.0 if n < 14 else 8.0) for n in range(28)]
    history = history_of(tmp_path, drafts)
    rows = {row["name"]: row for row in table(asked(history, "trend"), "trend").rows}

    assert (rows["score"]["first"], rows["score"]["second"], rows["score"]["change"]) == (6.0, 8.0, 2.0)
    assert rows["score"]["weeks"] == (6.0, 6.0, 8.0, 8.0)
    assert rows["cost per run"]["change"] == pytest.approx(0.0)
    history.close()


def test_metrics_of_each_role(history: SqliteHistory) -> None:
    """Document 003, `metrics --last 30d`: success, time, cost and retries of each role."""
    rows = {row["name"]: row for row in table(asked(history, "roles"), "role").rows}
    writer, auditor = rows["writer"], rows["auditor"]

    assert writer["stood"][:2] == (sum(draft.approved for draft in REAL), len(REAL))
    assert writer["time_s"] == median((draft.retries + 1) * draft.seconds for draft in REAL) * 1000
    assert writer["cost_usd"] == pytest.approx(
        median((draft.retries + 1) * (draft.usd or 0) for draft in REAL) * 1e6
    )
    assert writer["retries"] == pytest.approx(mean(draft.retries for draft in REAL))
    # A reviewer did its work, whatever it said.
    assert auditor["stood"][:2] == (len(REAL), len(REAL))
    assert (auditor["time_s"], auditor["cost_usd"]) == (5000, 10_000)


def test_error_categories(tmp_path: Path) -> None:
    """Document 003: the error category of each execution."""
    drafts = [
        *(Draft(f"a{n}", n, retries=1) for n in range(10)),
        *(Draft(f"b{n}", n, failure="no_change") for n in range(5)),
    ]
    history = history_of(tmp_path, drafts)
    rows = {row["category"]: row for row in table(asked(history, "errors"), "errors").rows}

    # Ten runs have two attempts each, and five runs two.
    assert rows["gates"]["share"][:2] == (10, 30)
    assert rows["no_change"]["share"][:2] == (5, 30)
    assert rows["no_change"]["run"] == "b4"
    history.close()


def test_context_windows(tmp_path: Path) -> None:
    drafts = [Draft(f"r{n}", n, percent=50 + n) for n in range(41)]
    history = history_of(tmp_path, drafts)
    (row,) = table(asked(history, "context"), "context").rows

    assert (row["attempts"], row["median"]) == (41, pytest.approx(0.70))
    assert (row["at_60"], row["at_80"], row["at_90"]) == (31 / 41, 11 / 41, 1 / 41)
    history.close()


def test_calls_without_a_price_are_counted_and_never_averaged(tmp_path: Path) -> None:
    drafts = [Draft(f"r{n}", n, usd=0.20 if n < 9 else None) for n in range(12)]
    history = history_of(tmp_path, drafts)
    report = asked(history, "costs")
    (row,) = [row for row in table(report, "costs").rows if row["name"] == "claude"]

    assert row["unknown_calls"] == 3
    assert (row["per_run_usd"].value, row["per_run_usd"].runs) == (pytest.approx(200_000), 9)
    assert row["per_stood_usd"] is None
    assert "not in the costs: 3 calls without a price" in report.notes
    history.close()


def test_a_cost_of_which_nothing_is_known_is_unknown_and_not_zero(tmp_path: Path) -> None:
    drafts = [Draft("r1", 0, agent="shim", usd=None, failure="no_change", subject="s", retries=1)]
    history = history_of(tmp_path, drafts)

    for view, place in (("costs", "costs"), ("weekly", "weekly"), ("runs", "runs"), ("subject", "subject")):
        report = asked(history, view, name="s" if view == "subject" else "")
        assert [row["usd"] for row in table(report, place).rows] == [None], view
        assert any("unknown" in line for line in lines_of(report)[2:])
        conforms(data_of(report), "metrics")
    history.close()


def test_only_what_was_asked_for_is_counted(history: SqliteHistory) -> None:
    assert asked(history, "runs").title == "Runs, 8 weeks: 60 runs"
    assert asked(history, "runs", played=True).title == "Runs, 8 weeks: 61 runs"
    assert asked(history, "runs", since=MONDAY + 20 * DAY).title == "Runs, 8 weeks: 30 runs"
    assert asked(history, "runs", workflow="other").title == "Runs, 8 weeks of other: 0 runs"
    assert asked(history, "runs", project="unknown").title == "Runs, 8 weeks: 0 runs"
    assert (
        "1 run of scripted or recorded agents left out; --played counts them" in asked(history, "runs").notes
    )
    for by in ("agent", "model", "role", "step", "craft"):
        assert table(asked(history, "roles", by=by), by).rows


def test_suggestions_come_with_their_evidence(tmp_path: Path) -> None:
    drafts = [Draft(f"r{n:02}", n, retries=3, percent=85, usd=None) for n in range(55)]
    history = history_of(tmp_path, drafts)
    rows = {row["rule"]: row for row in table(asked(history, "advice"), "advice").rows}

    assert set(rows) == {"retries", "first_gate", "window", "unpriced"}
    assert rows["retries"]["evidence"] == "3.0 retries per visit, at least 3.0"
    assert rows["first_gate"]["evidence"] == "fails on 100 % (93-100) of first attempts"
    assert rows["retries"]["command"] == "podium logs r54 --failed"
    history.close()


def test_a_gate_that_never_failed_is_named(tmp_path: Path) -> None:
    history = history_of(tmp_path, [Draft(f"r{n}", n) for n in range(55)])
    (row,) = table(asked(history, "advice"), "advice").rows

    assert (row["rule"], row["about"], row["evidence"]) == ("idle_gate", "gate tests", "never failed in 55")
    history.close()


def test_few_runs_suggest_nothing_and_claim_nothing(tmp_path: Path) -> None:
    history = history_of(tmp_path, [Draft(f"r{n}", n, retries=4, percent=99) for n in range(3)])

    assert table(asked(history, "advice"), "advice").notes == (
        "nothing to suggest: no figure is clearly beyond its bound",
    )
    assert any("too few (3 of 3)" in line for line in lines_of(asked(history, "roles")))
    history.close()


@pytest.mark.parametrize(
    "view", ["roles", "agents", "costs", "best", "trend", "weekly", "errors", "context", "runs", "advice"]
)
def test_each_view_is_data_by_its_schema_and_csv_and_text(history: SqliteHistory, view: str) -> None:
    report = asked(history, view, name="write" if view == "best" else "")

    conforms(data_of(report), "metrics")
    lines = csv_of(report).splitlines()
    assert lines[0].startswith("table,") or not report.tables[0].rows
    assert lines_of(report)[0] == report.title


def test_a_view_that_needs_a_name_says_so(history: SqliteHistory) -> None:
    with pytest.raises(ConfigurationError, match="name the craft"):
        asked(history, "best")
    with pytest.raises(ConfigurationError, match='no visit of the craft "wriet"') as raised:
        asked(history, "best", name="wriet")
    assert "review, write" in str(raised.value.hint)
