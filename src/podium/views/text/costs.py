"""Costs and outcomes of runs and steps as short texts, for lines of a terminal and cells of a table."""

from __future__ import annotations

from collections.abc import Sequence

from podium.views.format import dollars, plural
from podium.views.plain import as_text, one_line
from podium.views.run.view import AgentView, LimitView, RunView, StepView


def run_cost(view: RunView) -> str:
    """The known cost of a run, and the number of calls of unknown cost."""
    unknown = f" and {plural(view.unknown_calls, 'call')} of unknown cost" if view.unknown_calls else ""
    return f"{dollars(view.usd)}{unknown}"


def usage_text(view: RunView) -> str:
    """The cost of a run with its tokens and agent calls."""
    return f"{run_cost(view)}, {view.tokens:,} tokens in {plural(view.calls, 'agent call')}"


def limit_text(limit: LimitView) -> str:
    """How much of a limit is used."""
    return f"limit {limit.unit}: {limit.used:g} of {limit.limit:g}"


def cost(item: StepView | AgentView) -> str:
    """The cost of a step or an agent; "" if it is zero."""
    if item.unknown_calls:
        return f"{dollars(item.usd)} + unknown" if item.usd else "cost unknown"
    return dollars(item.usd) if item.usd else ""


def outcome_text(step: StepView) -> str:
    """The outcome of a step, with its reason if it adds something; the status if the step has not ended.

    A question of Podium's own passes with any answer, so the answer is named instead.
    """
    if step.outcome is None:
        return step.status
    action = step.result.get("action") if step.role == "question" else None
    if step.outcome == "passed" and isinstance(action, str):
        return f"answered {action}"
    reason = f" ({step.reason})" if step.reason not in ("", step.outcome) else ""
    return f"{step.outcome}{reason}{', degraded' if step.degraded else ''}"


def attempts_text(step: StepView) -> str:
    """The number of attempts; those that only repaired the form of an answer are named as such."""
    repairs = f"{plural(len(step.repaired), 'answer repair')}" if step.repaired else ""
    tries = plural(step.tries, "attempt") if step.tries > 1 or not repairs else ""
    return ", ".join(filter(None, (tries, repairs)))


def attempt_label(step: StepView) -> str:
    """The newest attempt of a step: `attempt 2`, or `attempt 2, answer repair 1`."""
    return attempt_text(step.attempts, step.repaired)


def attempt_text(attempt: int, repaired: Sequence[int]) -> str:
    """An attempt by its number among those that are not answer repairs, which are counted apart."""
    number, repair = attempt - sum(each <= attempt for each in repaired), 0
    while attempt - repair in repaired:
        repair += 1
    return f"attempt {number}, answer repair {repair}" if repair else f"attempt {number}"


def fallback_text(step: StepView) -> str:
    """The agent that worked instead of others, and why those did not, in one line."""
    agent = as_text(step.result.get("agent")) or "no agent"
    return f"{agent} instead: {'; '.join(one_line(why, 120) for why in step.passed_over)}"


def workers_text(step: StepView) -> str:
    """Which agents and models made which attempts: `attempt 1 by claude sonnet, 3 by claude opus`."""
    return "attempt " + ", ".join(f"{attempt} by {one_line(worker, 80)}" for attempt, worker in step.workers)
