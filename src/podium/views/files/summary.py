"""`run_summary.md`: one page on what was asked, what came of it, what proves it, and how to go on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from podium.core.types import CONTINUING_OUTCOMES
from podium.views.format import dollars, duration, iso
from podium.views.plain import as_text, many, one_line, short
from podium.views.run.view import AgentView, RunView, StepView, duration_of, elapsed
from podium.views.text.landing import landing_note, landing_words
from podium.views.text.next_steps import next_steps, waits_for

SUMMARY: Final = "run_summary.md"
MOST_ROWS: Final = 200
"""A summary is read by people; the rest stands in run.json."""


def summary_text(view: RunView) -> str:
    parts = [
        _title(view),
        _asked(view),
        _table("Steps", ("step", "outcome", "attempts", "time", "cost"), _steps(view)),
        _table("Gates", ("gate", "outcome", "what it said"), _gates(view)),
        _table("Reviews", ("reviewer", "verdict", "score", "findings", "tree"), _reviews(view)),
        _table("People", ("question", "answer", "by", "words"), _people(view)),
        _cost(view),
        _table("Agents", ("agent", "model", "calls", "input", "cached", "output", "cost"), _agents(view)),
        _table("Context windows", ("step", "agent", "full", "health", "what to do"), _windows(view)),
        _work(view),
        _onwards(view),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _title(view: RunView) -> str:
    reason = f" ({view.reason})" if view.reason not in ("", view.status) else ""
    took = duration(elapsed(view, view.at))
    lines = [f"# {view.workflow}: {view.status}{reason}", ""]
    lines.append(
        f"Run `{view.run}`, started {iso(view.at if view.started is None else view.started)}, {took}."
    )
    if view.message:
        lines += ["", _cell(view.message, 400)]
    return "\n".join(lines)


def _asked(view: RunView) -> str:
    rows = [f"- **{name}**: {_cell(as_text(value), 300)}" for name, value in view.inputs.items()]
    return "\n".join(["## What was asked", "", *rows]) if rows else ""


def _table(title: str, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    found = list(rows)
    if not found:
        return ""
    lines = [f"## {title}", "", f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    lines += [f"| {' | '.join(row)} |" for row in found[:MOST_ROWS]]
    if len(found) > MOST_ROWS:
        lines += ["", f"and {len(found) - MOST_ROWS} more; `run.json` has them all"]
    return "\n".join(lines)


def _steps(view: RunView) -> Iterator[tuple[str, ...]]:
    for step in view.steps:
        if step.role in ("step", "finally") and "#" not in step.path:
            took = duration(duration_of(step, view.at))
            outcome = f"{said(step)}; {instead(step)}" if step.passed_over else said(step)
            yield f"`{step.path}`", _cell(outcome, 400), str(step.attempts or ""), took, cost(step)


def _gates(view: RunView) -> Iterator[tuple[str, ...]]:
    gates = {step.path for step in view.steps if step.role == "gates"}
    for step in view.steps:
        if step.parent in gates:
            words = "" if step.outcome in CONTINUING_OUTCOMES else step.words
            yield f"`{step.path}`", said(step), _cell(words)


def _reviews(view: RunView) -> Iterator[tuple[str, ...]]:
    for step in view.steps:
        verdict = step.verdict
        if verdict is not None:
            score = "" if verdict.score is None else f"{verdict.score:g}"
            issues = [as_text(finding.get("issue")) for finding in verdict.findings]
            findings = "; ".join(one_line(issue, 100) for issue in issues)
            tree = f"`{short(verdict.tree)}`" if verdict.tree else ""
            yield f"`{step.path}`", verdict.decision, score, _cell(findings, 300), tree


def _people(view: RunView) -> Iterator[tuple[str, ...]]:
    for step in view.steps:
        action = step.result.get("action")
        verdict = step.result.get("verdict")
        if isinstance(action, str) and isinstance(verdict, dict):
            by = ", ".join(str(who) for who in verdict.get("by", ()))
            yield f"`{step.path}`", action, _cell(by), _cell(as_text(step.result.get("text")))
    for pending in view.pending:
        yield f"`{pending.path}`", f"waits for {waits_for(pending)}", "", _cell(pending.question)


def _cost(view: RunView) -> str:
    lines = ["## Cost", "", f"{spent(view)}, {view.tokens:,} tokens in {many(view.calls, 'agent call')}."]
    for limit in view.limits:
        lines.append(f"- limit {limit.unit}: {limit.used:g} of {limit.limit:g}")
    return "\n".join(lines)


def _agents(view: RunView) -> Iterator[tuple[str, ...]]:
    for one in view.agents:
        counts = (f"{count:,}" for count in (one.calls, one.input, one.cached, one.output))
        yield _cell(one.agent), _cell(one.model), *counts, cost(one)


def _windows(view: RunView) -> Iterator[tuple[str, ...]]:
    """Of the last attempt of each step; those that have room are not worth a line."""
    for step in view.steps:
        full = step.result.get("context")
        if isinstance(full, Mapping) and full.get("advice"):
            agent = _cell(as_text(step.result.get("agent")))
            yield f"`{step.path}`", agent, f"{full['percent']}%", str(full["health"]), str(full["advice"])


def spent(view: RunView) -> str:
    """The money that is known, and that there may be more."""
    unknown = f" and {many(view.unknown_calls, 'call')} of unknown cost" if view.unknown_calls else ""
    return f"{dollars(view.usd)}{unknown}"


def _work(view: RunView) -> str:
    lines = ["## Where the work is", ""]
    if view.tree is None or view.tree == view.base:
        lines.append("The run has changed no files.")
    else:
        lines.append(
            f"Tree `{short(view.tree)}`, made from `{short(view.base)}` of `{view.branch or 'the project'}`."
        )
    for step in view.steps:
        words = landing_words(step, "`")
        if words is not None:
            lines.append(f"- `{step.path}` {words}")
        if landing_note(step):
            lines.append(f"  **{_cell(landing_note(step), 2_000)}**")
    for name, value in view.outputs.items():
        lines.append(f"- output **{name}**: {_cell(as_text(value), 300)}")
    return "\n".join(lines)


def _onwards(view: RunView) -> str:
    rows = [f"- `{hint.command}` {hint.why}" for hint in next_steps(view)]
    return "\n".join(["## How to go on", "", *rows]) if rows else ""


def said(step: StepView) -> str:
    """An outcome with its reason where that says more; the status of a step that lives."""
    if step.outcome is None:
        return step.status
    reason = f" ({step.reason})" if step.reason not in ("", step.outcome) else ""
    return f"{step.outcome}{reason}{', degraded' if step.degraded else ''}"


def instead(step: StepView) -> str:
    """Who worked in place of whom, in one line."""
    who = as_text(step.result.get("agent")) or "nobody"
    return f"{who} instead: {'; '.join(one_line(why, 120) for why in step.passed_over)}"


def cost(step: StepView | AgentView) -> str:
    if step.unknown_calls:
        return f"{dollars(step.usd)} + unknown" if step.usd else "unknown"
    return dollars(step.usd) if step.usd else ""


def _cell(text: str, width: int = 160) -> str:
    """Words of strangers in a Markdown table."""
    return one_line(text, width).replace("|", "\\|").replace("`", "'").replace("<", "&lt;")
