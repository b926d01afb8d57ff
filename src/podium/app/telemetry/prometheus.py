"""The numbers of a project in the text format of Prometheus: `podium metrics --prometheus`, and for a server to mount.

Counters come from the history, which keeps the numbers of deleted runs, so they never fall.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from podium.app.history.catch_up import opened_history
from podium.app.metrics.query import FOREVER
from podium.ports.history import LocalHistory

if TYPE_CHECKING:
    from podium.app.project import Project

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
SECONDS: Final = (10, 60, 300, 900, 3600, 14400)


def prometheus_text(project: Project) -> str:
    """Bring the history up to date as far as that is quick, and write its numbers."""
    with opened_history(project) as (history, caught_up):
        lines = [*_counters(history), *_durations(history)]
    waiting = sum(head.status == "waiting" for head in project.runtime.heads())
    lines += _family("podium_runs_waiting", "gauge", "Runs that wait for a person, a timer or a quota.")
    lines.append(f"podium_runs_waiting {waiting}")
    lines += _family("podium_runs_uncounted", "gauge", "Runs whose log is damaged or was not read yet.")
    lines.append(f"podium_runs_uncounted {caught_up.late + len(caught_up.damaged)}")
    return "\n".join(lines) + "\n"


def _values(history: LocalHistory) -> dict[str, object]:
    own = history.own.id
    return {"since": 0, "until": FOREVER, "workflow": None, "project": own, "played": 0, "name": ""}


COUNTERS: Final = (
    ("podium_runs_total", "Runs by workflow and status.", "runs by status", ("workflow", "status")),
    ("podium_attempts_total", "Attempts of agents.", "attempts by kind", ("agent", "role", "kind")),
    ("podium_cost_usd_total", "Known cost of calls.", "cost by agent", ("agent", "model")),
    ("podium_unknown_calls_total", "Calls without a price.", "unknown by agent", ("agent", "model")),
    ("podium_tokens_total", "Tokens of calls.", "tokens by type", ("agent", "model", "type")),
)


def _counters(history: LocalHistory) -> Iterator[str]:
    values = _values(history)
    for name, about, query, labels in COUNTERS:
        yield from _family(name, "counter", about)
        for *words, number in history.query(query, values):
            yield f"{name}{_labels(dict(zip(labels, words, strict=True)))} {number:g}"


def _durations(history: LocalHistory) -> Iterator[str]:
    name = "podium_run_duration_seconds"
    yield from _family(name, "histogram", "Time from the start to the end of a run.")
    times: dict[str, list[float]] = {}
    for workflow, millis in history.query("run times", _values(history)):
        times.setdefault(workflow, []).append(millis / 1000)
    for workflow, seconds in times.items():
        for bound in SECONDS:
            labels = _labels({"workflow": workflow, "le": f"{bound}"})
            yield f"{name}_bucket{labels} {sum(each <= bound for each in seconds)}"
        yield f"{name}_bucket{_labels({'workflow': workflow, 'le': '+Inf'})} {len(seconds)}"
        yield f"{name}_sum{_labels({'workflow': workflow})} {sum(seconds):g}"
        yield f"{name}_count{_labels({'workflow': workflow})} {len(seconds)}"


def _family(name: str, kind: str, about: str) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]


def _labels(values: Mapping[str, object]) -> str:
    pairs = (f'{name}="{_escaped(str(value))}"' for name, value in values.items())
    return "{" + ",".join(pairs) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
