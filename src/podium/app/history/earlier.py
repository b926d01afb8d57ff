"""What the history says about earlier runs of a workflow when a new one starts, for its plan and its summary.

It becomes part of the first event of the run, so a summary that is written again years later says the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from podium.app.history.catch_up import opened_history
from podium.core.messages import Start
from podium.core.payloads import AgentScore, EarlierRuns, Spread
from podium.errors import PodiumError
from podium.ports.history import LocalHistory

if TYPE_CHECKING:
    from podium.app.project import Project

PATIENCE_S: Final = 0.5
"""How long the start of a run waits for logs that the history has not read yet."""
PAST: Final = 20
RECENT: Final = 10
LEAST: Final = 5
"""With fewer runs there is no usual cost."""
LEAST_SCORES: Final = 5
"""With fewer scored runs nothing is said about the trend of an agent."""


def with_earlier(project: Project, start: Start, now: int) -> Start:
    """With what the summary of the run will compare it with."""
    earlier = earlier_runs(project, start.run.name, start.run.subject, now)
    return replace(start, run=replace(start.run, earlier=earlier))


def earlier_runs(project: Project, workflow: str, subject: str, now: int) -> EarlierRuns | None:
    """None if there are no earlier runs, or if the history cannot be used: a run starts without it."""
    if not any(head.workflow == workflow for head in project.runtime.heads()):
        return None
    try:
        with opened_history(project, patience_s=PATIENCE_S) as (history, _):
            return read_earlier(history, workflow, subject, now)
    except (PodiumError, OSError):
        return None


def read_earlier(history: LocalHistory, workflow: str, subject: str, now: int) -> EarlierRuns | None:
    values: dict[str, Any] = {
        "workflow": workflow,
        "project": history.own.id,
        "name": subject,
        "since": 0,
        "until": now,
        "played": 0,
    }
    past = history.query("past runs", {**values, "most": PAST})
    scored = history.query("past scores", {**values, "most": RECENT})
    about = history.query("past iterations", values) if subject else ()
    # A run that continues another one is the same iteration; the last of them has the score.
    iterations: dict[str, float | None] = {}
    for run, continues, score in about:
        iterations.pop(continues, None)
        iterations[run] = score
    scores = [(run, score) for run, score in iterations.items() if score is not None]
    best = max(scores, key=lambda each: each[1], default=None)
    earlier = EarlierRuns(
        iteration=len(iterations) + 1 if subject else 0,
        best=None if best is None else best[1],
        best_run="" if best is None else best[0],
        scores=tuple(score for _, score in scores[-RECENT:]),
        usd=_spread([usd for usd, unknown, _ in past if not unknown]),
        time=_spread([time for _, _, time in past]),
        agents=_agents(scored),
    )
    return None if earlier in (EarlierRuns(), EarlierRuns(iteration=1)) else earlier


def _spread(values: Sequence[int]) -> Spread | None:
    if len(values) < LEAST:
        return None
    ordered = sorted(values)
    low, middle, high = (_quantile(ordered, share) for share in (0.25, 0.5, 0.75))
    return Spread(low, middle, high, len(ordered))


def _quantile(ordered: Sequence[int], share: float) -> float:
    """With linear interpolation between the two nearest values."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _agents(rows: Sequence[tuple[Any, ...]]) -> tuple[AgentScore, ...]:
    return tuple(AgentScore(agent, mean, runs) for agent, mean, runs in rows if runs >= LEAST_SCORES)
