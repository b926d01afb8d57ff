"""`run_summary.md`: one page with the inputs of a run, its results, its evidence, and the next commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from podium.core.types import Millis
from podium.views.files.summary_history import history_lines
from podium.views.files.summary_outputs import (
    audits_of,
    consensus,
    determination,
    final_result,
    phases,
    quote,
    written_files,
)
from podium.views.format import duration, iso
from podium.views.plain import as_text, one_line, short_id
from podium.views.run.advice import advice_in
from podium.views.run.labels import labelled
from podium.views.run.view import RunView, StepView, duration_of, elapsed
from podium.views.text.costs import (
    attempts_text,
    cost,
    fallback_text,
    limit_text,
    outcome_text,
    run_cost,
    usage_text,
    workers_text,
)
from podium.views.text.landing import landing_note, landing_words, landings
from podium.views.text.next_steps import next_steps, waits_for

SUMMARY: Final = "run_summary.md"
MOST_ROWS: Final = 200
"""The maximum number of rows of a table; run.json has the rest."""


class SummaryParts(NamedTuple):
    """What a summary may show, as `record.summary` says."""

    tokens: bool = True
    scores: bool = True
    previews: bool = True


EVERYTHING: Final = SummaryParts()


def parts_of(record: Mapping[str, Any]) -> SummaryParts | None:
    """The parts that a workflow's `record` allows; None for no summary."""
    parts = record.get("summary", True)
    if not isinstance(parts, Mapping):
        return SummaryParts(previews=record.get("outputs", True)) if parts else None
    parts = {name: bool(parts[name]) for name in SummaryParts._fields if name in parts}
    return SummaryParts(**{"previews": record.get("outputs", True), **parts})


def summary_text(view: RunView, shows: SummaryParts = EVERYTHING) -> str:
    view = labelled(view)
    parts = [
        _title(view),
        _inputs(view),
        _step_table(view),
        _table("Gates", ("gate", "outcome", "reason"), _gates(view)),
        _table("Reviews", ("reviewer", "verdict", "score", "findings", "tree"), _reviews(view)),
        *(_phases(view, shows)),
        _audits(view) if shows.scores else "",
        _table("People", ("question", "answer", "by", "text"), _people(view)),
        _table("Advice", ("question", "rule", "decision", "by", "reason"), _advice(view)),
        _cost(view),
        _earlier(view),
        *(_tokens(view) if shows.tokens else ()),
        _final(view, shows),
        _result(view),
        _next_commands(view),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _title(view: RunView) -> str:
    reason = f" ({view.reason})" if view.reason not in ("", view.status) else ""
    took = duration(elapsed(view, view.at))
    lines = [f"# {view.workflow}: {view.status}{reason}", ""]
    lines.append(
        f"Run `{view.run}`, started {iso(view.at if view.started is None else view.started)}, {took}."
    )
    why = view.why or view.message
    if why:
        lines += ["", _cell(why, len(why))]
    return "\n".join(lines)


def _inputs(view: RunView) -> str:
    rows = [f"- **{name}**: {_cell(as_text(value), 300)}" for name, value in view.inputs.items()]
    return "\n".join(["## Inputs", "", *rows]) if rows else ""


def _table(title: str, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]], *, more: int = 0) -> str:
    """A table with the first rows; `more` rows were left out before."""
    all_rows = list(rows)
    if not all_rows:
        return ""
    lines = [f"## {title}", "", f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    lines += [f"| {' | '.join(row)} |" for row in all_rows[:MOST_ROWS]]
    more += max(0, len(all_rows) - MOST_ROWS)
    if more:
        lines += ["", f"and {more} more in `run.json`"]
    return "\n".join(lines)


def _step_table(view: RunView) -> str:
    # A run may have thousands of steps, so only the rows of the table are written.
    steps = [step for step in view.steps if step.role in ("step", "finally") and "#" not in step.path]
    rows = (_step(step, view.at) for step in steps[:MOST_ROWS])
    columns = ("step", "outcome", "attempts", "time", "cost", "reason")
    return _table("Steps", columns, rows, more=max(0, len(steps) - MOST_ROWS))


def _step(step: StepView, now: Millis) -> tuple[str, ...]:
    took = duration(duration_of(step, now))
    workers = fallback_text(step) if step.passed_over else workers_text(step) if len(step.workers) > 1 else ""
    words = (outcome_text(step), workers, step.done_by)
    outcome = "; ".join(filter(None, words))
    attempts = attempts_text(step) if step.repaired else str(step.attempts or "")
    return f"`{step.path}`", _cell(outcome, 400), attempts, took, cost(step), _cell(step.why, len(step.why))


def _gates(view: RunView) -> Iterator[tuple[str, ...]]:
    gates = {step.path for step in view.steps if step.role == "gates"}
    for step in view.steps:
        if step.parent in gates:
            yield f"`{step.path}`", outcome_text(step), _cell(step.why, len(step.why))


def _reviews(view: RunView) -> Iterator[tuple[str, ...]]:
    for step in view.steps:
        verdict = step.verdict
        if verdict is not None:
            score = "" if verdict.score is None else f"{verdict.score:g}"
            issues = [as_text(finding.get("issue")) for finding in verdict.findings]
            findings = "; ".join(one_line(issue, 100) for issue in issues)
            tree = f"`{short_id(verdict.tree)}`" if verdict.tree else ""
            yield f"`{step.path}`", verdict.decision, score, _cell(findings, 300), tree


def _people(view: RunView) -> Iterator[tuple[str, ...]]:
    for step in view.steps:
        if not step.result:
            continue
        action = step.result.get("action")
        verdict = step.result.get("verdict")
        if isinstance(action, str) and isinstance(verdict, dict):
            by = ", ".join(str(person) for person in verdict.get("by", ()))
            yield f"`{step.path}`", action, _cell(by), _cell(as_text(step.result.get("text")))
    for pending in view.pending:
        yield f"`{pending.path}`", f"waits for {waits_for(pending)}", "", _cell(pending.question)


def _advice(view: RunView) -> Iterator[tuple[str, ...]]:
    for advice in advice_in(view.steps):
        yield f"`{advice.step}`", advice.rule, advice.decision, _cell(advice.by), _cell(advice.reason, 300)


def _cost(view: RunView) -> str:
    limits = [f"- {limit_text(limit)}" for limit in view.limits]
    return "\n".join(["## Cost", "", f"{usage_text(view)}.", *limits])


def _earlier(view: RunView) -> str:
    lines = [f"- {line}" for line in history_lines(view)]
    return "\n".join(["## Compared with earlier runs", "", *lines]) if lines else ""


def _phases(view: RunView, shows: SummaryParts) -> Iterator[str]:
    columns = ("agent", "words", "tokens", "cost", "preview")
    for path, rows in phases(view):
        shown = [(*map(_cell, row[:-1]), _cell(row[-1])) if shows.previews else row[:-1] for row in rows]
        yield _table(f"Phase `{path}`", columns if shows.previews else columns[:-1], shown)


def _audits(view: RunView) -> str:
    audits = list(audits_of(view))
    rows = [
        (
            f"`{audit.step}`",
            _cell(audit.decision),
            "" if audit.score is None else f"{audit.score:g}/10",
            _cell(", ".join(f"{name} {score:g}" for name, score in audit.scores.items())),
        )
        for audit in audits
        if audit.scores
    ]
    table = _table("Audit scores", ("judge", "decision", "overall", "scores"), rows)
    lines = [_cell(line, 400) for line in consensus(audits)]
    agreed = "\n".join(["## Audit consensus", "", *lines]) if lines else ""
    return "\n\n".join(part for part in (table, agreed) if part)


def _final(view: RunView, shows: SummaryParts) -> str:
    final = final_result(view)
    last = determination(view, final)
    parts = []
    if final is not None:
        lines = [
            "## Final result",
            "",
            f"**Words:** {len(final.text.split()):,}",
            f"**File:** `{final.file}`",
        ]
        lines += ["", *(line.replace("<", "&lt;") for line in quote(final.text))] if shows.previews else []
        parts.append("\n".join(lines))
    if last and shows.previews:
        parts.append("\n".join(["## Final determination", "", _cell(last, 1_000)]))
    return "\n\n".join(parts)


def _tokens(view: RunView) -> Iterator[str]:
    columns = ("agent", "model", "calls", "input", "cached", "output", "cost")
    yield _table("Agents", columns, [*_agents(view), *_total(view)])
    columns = ("step", "agent", "used", "window", "percent", "health", "advice")
    yield _table("Context windows", columns, _windows(view))


def _agents(view: RunView) -> Iterator[tuple[str, ...]]:
    for agent in view.agents:
        counts = (f"{count:,}" for count in (agent.calls, agent.input, agent.cached, agent.output))
        yield _cell(agent.agent), _cell(agent.model), *counts, cost(agent)


def _total(view: RunView) -> Iterator[tuple[str, ...]]:
    if len(view.agents) > 1:
        names = ("calls", "input", "cached", "output")
        counts = (f"**{sum(getattr(agent, name) for agent in view.agents):,}**" for name in names)
        yield "**total**", "", *counts, f"**{run_cost(view)}**"


def _windows(view: RunView) -> Iterator[tuple[str, ...]]:
    """The fullest context window of each step that has one, as its newest visit left it."""
    for step in view.steps:
        full = step.result.get("context") if step.result and not step.stale else None
        if isinstance(full, Mapping):
            agent = _cell(as_text(step.result.get("agent")))
            counts = (f"{full['used']:,}", f"{full['window']:,}", f"{full['percent']}%")
            yield f"`{step.path}`", agent, *counts, str(full["health"]), str(full["advice"])


def _result(view: RunView) -> str:
    lines = ["## Result", ""]
    if view.tree is None or view.tree == view.base:
        lines.append("The run changed no files.")
    else:
        lines.append(
            f"Tree `{short_id(view.tree)}`, based on `{short_id(view.base)}` of `{view.branch or 'the project'}`."
        )
    for step in landings(view):
        lines.append(f"- `{step.path}` {landing_words(step, '`')}")
        if landing_note(step):
            lines.append(f"  **{_cell(landing_note(step), 2_000)}**")
    lines += [f"- wrote `{_cell(path)}`" for path in written_files(view)[:MOST_ROWS]]
    for name, value in view.outputs.items():
        lines.append(f"- output **{name}**: {_cell(as_text(value), 300)}")
    return "\n".join(lines)


def _next_commands(view: RunView) -> str:
    rows = [f"- `{hint.command}` {hint.why}" for hint in next_steps(view)]
    return "\n".join(["## Next commands", "", *rows]) if rows else ""


def _cell(text: str, width: int = 160) -> str:
    """Untrusted text in a Markdown table."""
    return one_line(text, width).replace("|", "\\|").replace("`", "'").replace("<", "&lt;")
