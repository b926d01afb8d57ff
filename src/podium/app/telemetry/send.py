"""Sends the trace and the metrics of runs to an OpenTelemetry collector, made from their logs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

from podium.core.hash_chain import RunId
from podium.errors import ConfigurationError
from podium.runtime.records import events_of
from podium.views.telemetry.points import points_of
from podium.views.telemetry.spans import spans_of

if TYPE_CHECKING:
    from podium.app.project import Project

HEADERS: Final = "OTEL_EXPORTER_OTLP_HEADERS"


class Sent(NamedTuple):
    run: RunId
    spans: int
    points: int


def send_run(project: Project, run: RunId, address: str, *, content: bool = False) -> Sent:
    """Send what has ended of one run. The log is verified first; sending it again changes nothing."""
    # Imported here: it is an extra.
    from podium.adapters.exporters.otlp import Otlp

    collector = Otlp(address, headers_of(os.environ))
    log = events_of(project.runtime.checked_events(run))
    if not log:
        raise ConfigurationError(f"run {run} never began", hint="podium resume starts it")
    spans = list(spans_of(log, content=content, vendors=vendors()))
    sent = collector.send_spans(run, spans)
    points = points_of(spans)
    return Sent(run, sent, collector.send_points(run, points, log[0].at, max(event.at for event in log)))


def vendors() -> dict[str, str]:
    """By agent, who makes its models, as far as its type tells."""
    # Imported here: it imports every agent.
    from podium.adapters.agents.registry import agent_types

    types = agent_types()
    capabilities = ((name, types.find(name)) for name in types.built_in)
    return {name: each.vendor for name, each in capabilities if each is not None and each.vendor}


def headers_of(env: Mapping[str, str]) -> dict[str, str]:
    """The headers in the variable that OpenTelemetry defines for them: `name=value,name=value`, percent-encoded."""
    pairs: Sequence[str] = [pair for pair in env.get(HEADERS, "").split(",") if "=" in pair]
    return {
        unquote(name.strip()): unquote(value.strip())
        for name, _, value in (pair.partition("=") for pair in pairs)
    }
