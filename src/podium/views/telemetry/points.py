"""The metrics of a run, computed from its spans: sums and histograms of what has ended."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from podium.views.telemetry import names
from podium.views.telemetry.spans import Span, Value

SECONDS: Final = (0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 14400)
TOKENS: Final = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304)
"""The boundaries that the conventions advise for token counts."""


class Histogram(NamedTuple):
    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    """One more than bounds."""
    samples: int
    sum: float


class Point(NamedTuple):
    name: str
    unit: str
    attributes: Mapping[str, Value]
    value: float | Histogram
    """A number is a sum."""


def points_of(spans: Iterable[Span]) -> list[Point]:
    """One point for each metric and set of attributes."""
    samples: dict[tuple[str, str, tuple[tuple[str, Value], ...]], list[float]] = {}

    def add(name: str, unit: str, value: float, attributes: Mapping[str, Value]) -> None:
        samples.setdefault((name, unit, tuple(sorted(attributes.items()))), []).append(value)

    for span in spans:
        seconds = (span.ended - span.started) / 1000
        operation = span.attributes.get(names.OPERATION)
        if operation == names.INVOKE_WORKFLOW:
            shared = _some(span, names.WORKFLOW_NAME)
            add(names.WORKFLOW_DURATION, "s", seconds, shared)
            add(names.RUNS_METRIC, "{run}", 1, {**shared, **_some(span, names.RUN_STATUS)})
        elif operation == names.INVOKE_AGENT:
            _add_agent(add, span, seconds)
        if names.QUESTION_KIND in span.attributes:
            add(names.WAIT_METRIC, "s", seconds, _some(span, names.QUESTION_KIND))
    return [
        Point(name, unit, dict(attributes), _value(unit, values))
        for (name, unit, attributes), values in samples.items()
    ]


def _add_agent(add: Any, span: Span, seconds: float) -> None:
    shared = {**_some(span, names.AGENT_NAME, names.PROVIDER, names.RESPONSE_MODEL)}
    add(names.AGENT_DURATION, "s", seconds, shared)
    add(names.ATTEMPTS_METRIC, "{attempt}", 1, {**shared, **_some(span, names.ERROR_TYPE)})
    cost = span.attributes.get(names.COST)
    if isinstance(cost, float):
        add(names.COST_METRIC, "{USD}", cost, shared)
    for kind, key in (("input", names.INPUT_TOKENS), ("output", names.OUTPUT_TOKENS)):
        tokens = span.attributes.get(key)
        if isinstance(tokens, int):
            add(names.TOKEN_USAGE, "{token}", tokens, {**shared, names.TOKEN_TYPE: kind})


def _some(span: Span, *keys: str) -> dict[str, Value]:
    return {key: span.attributes[key] for key in keys if key in span.attributes}


def _value(unit: str, values: list[float]) -> float | Histogram:
    if unit not in ("s", "{token}"):
        return sum(values)
    bounds = SECONDS if unit == "s" else TOKENS
    counts = [0] * (len(bounds) + 1)
    for value in values:
        counts[bisect_left(bounds, value)] += 1
    return Histogram(tuple(map(float, bounds)), tuple(counts), len(values), sum(values))
