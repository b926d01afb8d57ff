"""Writes a report as Markdown for a pull request: the result, the proof, the decisions and the cost, in one screen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from podium.views.format import duration, plural
from podium.views.pictures.states import SIGNS
from podium.views.plain import as_text, one_line, short_id
from podium.views.report.report import Report, cost_text
from podium.views.run.view import elapsed

MOST_ROWS: Final = 30

_MARKS: Final = re.compile(r"([\\`*_{}\[\]<>|#@~!])")


def markdown(report: Report) -> str:
    view = report.view
    sign = SIGNS["passed" if view.outcome == "passed" else "failed" if view.ended is not None else "waiting"]
    lines = [f"### {sign} {_text(view.workflow)}: {_text(view.status)}", ""]
    if view.why or view.message:
        lines += [_text(view.why or view.message), ""]
    took = duration(elapsed(view, view.at))
    cost = cost_text(view.usd, view.unknown_calls)
    lines.append(
        f"{took}, {cost}, {plural(len(report.attempts), 'attempt')}, result `{short_id(view.tree) or '-'}`."
    )
    lines += _table("Steps", ("step", "outcome", "attempts", "cost", "why"), _steps(report))
    lines += _table("Verdicts", ("judge", "verdict", "score", "tree"), _verdicts(report))
    lines += _table("Open findings", ("severity", "where", "finding"), _findings(report))
    lines += _table("Decisions", ("question", "answer", "by", "words"), _people(report))
    lines += [
        "",
        f"Run `{view.run}`, log head `{report.log_head[:16]}`; `podium export` writes what can be verified.",
    ]
    return "\n".join(lines) + "\n"


def _steps(report: Report) -> Iterator[Sequence[str]]:
    for step in report.view.steps:
        if step.role == "step" and "#" not in step.path and "/" not in step.path:
            cost = cost_text(step.usd, step.unknown_calls) if step.usd or step.unknown_calls else ""
            yield (
                f"`{step.path}`",
                step.outcome or step.status,
                str(step.attempts or ""),
                cost,
                _text(step.why),
            )


def _verdicts(report: Report) -> Iterator[Sequence[str]]:
    """The newest verdict of each judge."""
    newest = {
        re.sub(r"[~#]\d+", "", str(row["step"])): row
        for row in report.decisions
        if row["by"] in ("gate", "reviewer")
    }
    for row in newest.values():
        verdict = as_text(row.get("decision") or row["outcome"])
        yield f"`{row['step']}`", _text(verdict), _score(row.get("score")), f"`{short_id(row.get('tree'))}`"


def _score(score: object) -> str:
    return f"{score:g}" if isinstance(score, int | float) else ""


def _findings(report: Report) -> Iterator[Sequence[str]]:
    for history in report.reviews:
        for each in history.findings:
            if each.status == "open":
                yield _text(each.severity), _text(each.path), _text(each.issue)


def _people(report: Report) -> Iterator[Sequence[str]]:
    for row in report.by_people:
        yield (
            f"`{row['step']}`",
            _text(str(row["outcome"])),
            _text(str(row["by"])),
            _text(as_text(row.get("text"))),
        )


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    all_rows = list(rows)
    if not all_rows:
        return []
    lines = ["", f"#### {title}", "", f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    lines += [f"| {' | '.join(row)} |" for row in all_rows[:MOST_ROWS]]
    if len(all_rows) > MOST_ROWS:
        lines += ["", f"and {len(all_rows) - MOST_ROWS} more"]
    return lines


def _text(value: str) -> str:
    """A text on one line that no reader of Markdown takes as markup, as a mention or as a reference."""
    return _MARKS.sub(r"\\\1", one_line(value, 300))
