"""Sends spans and metrics to an OpenTelemetry collector: OTLP over HTTP, as protobuf.

Sending again changes nothing there: spans have the same ids, and points of a run that has ended have the same times.
"""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from podium.errors import ConfigurationError, PodiumError
from podium.views.telemetry import names
from podium.views.telemetry.points import Histogram, Point
from podium.views.telemetry.spans import Span, Value

try:
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
    from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Metric
    from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtoSpan
    from opentelemetry.proto.trace.v1.trace_pb2 import Status
except ImportError as error:
    raise ConfigurationError(
        "sending to OpenTelemetry needs the extra `otel`", hint='pip install "podium[otel]"'
    ) from error

TIMEOUT_S: Final = 10.0
PER_REQUEST: Final = 1_000
MILLION: Final = 1_000_000
"""Nanoseconds in a millisecond."""
_CODES: Final = {
    "unset": Status.STATUS_CODE_UNSET,
    "ok": Status.STATUS_CODE_OK,
    "error": Status.STATUS_CODE_ERROR,
}


class TelemetryError(PodiumError):
    """The collector cannot be reached, or refuses what was sent."""

    code = "telemetry"


class MissingPath(TelemetryError):
    """The collector takes nothing at this path."""


class Otlp:
    """A collector, by the address that it documents as OTEL_EXPORTER_OTLP_ENDPOINT: without /v1/traces."""

    def __init__(self, address: str, headers: Mapping[str, str] | None = None) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError(
                "the address of the collector cannot be read", hint="write http://HOST:4318"
            )
        if parts.username or parts.password:
            raise ConfigurationError(
                "an address with a password would be visible to others on this machine",
                hint="put it into a header: OTEL_EXPORTER_OTLP_HEADERS=authorization=...",
            )
        self.place = f"{parts.scheme}://{parts.netloc}"
        self._parts = parts
        self._headers = dict(headers or {})

    def send_spans(self, run: str, spans: Sequence[Span]) -> int:
        for first in range(0, len(spans), PER_REQUEST):
            request = ExportTraceServiceRequest()
            group = request.resource_spans.add()
            group.resource.attributes.extend(_attributes({names.SERVICE: names.SCOPE}))
            scope = group.scope_spans.add()
            scope.scope.name = names.SCOPE
            scope.spans.extend(_span(span) for span in spans[first : first + PER_REQUEST])
            self._post("/v1/traces", request.SerializeToString())
        return len(spans)

    def send_points(self, run: str, points: Sequence[Point], started: int, ended: int) -> int:
        """Returns how many were sent: none to a collector of traces only, such as Phoenix 20."""
        if not points:
            return 0
        request = ExportMetricsServiceRequest()
        group = request.resource_metrics.add()
        group.resource.attributes.extend(_attributes({names.SERVICE: names.SCOPE, names.INSTANCE: run}))
        scope = group.scope_metrics.add()
        scope.scope.name = names.SCOPE
        metrics: dict[str, Metric] = {}
        for point in points:
            if point.name not in metrics:
                metrics[point.name] = scope.metrics.add(name=point.name, unit=point.unit)
            _add_point(metrics[point.name], point, started * MILLION, ended * MILLION)
        try:
            self._post("/v1/metrics", request.SerializeToString())
        except MissingPath:
            return 0
        return len(points)

    def _post(self, path: str, body: bytes) -> None:
        parts = self._parts
        host, port = parts.hostname or "", parts.port
        connection: http.client.HTTPConnection
        if parts.scheme == "https":
            context = ssl.create_default_context()
            connection = http.client.HTTPSConnection(host, port, timeout=TIMEOUT_S, context=context)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
        headers = {**self._headers, "Content-Type": "application/x-protobuf"}
        try:
            connection.request("POST", parts.path.rstrip("/") + path, body, headers)
            answer = connection.getresponse()
            answer.read(4096)
        except (OSError, http.client.HTTPException) as error:
            raise TelemetryError(
                f"{self.place} cannot be reached: {error}", hint="is the collector running?"
            ) from error
        finally:
            connection.close()
        if answer.status in NO_SUCH_PATH:
            raise MissingPath(f"{self.place}{path} answered {answer.status} {answer.reason}")
        if not HTTP_OK <= answer.status < HTTP_MULTIPLE:
            raise TelemetryError(f"{self.place}{path} answered {answer.status} {answer.reason}")


HTTP_OK: Final = 200
HTTP_MULTIPLE: Final = 300
NO_SUCH_PATH: Final = (404, 405, 501)


def _span(span: Span) -> ProtoSpan:
    made = ProtoSpan(
        trace_id=span.trace,
        span_id=span.id,
        parent_span_id=span.parent,
        name=span.name,
        kind=ProtoSpan.SPAN_KIND_INTERNAL,
        start_time_unix_nano=span.started * MILLION,
        end_time_unix_nano=span.ended * MILLION,
        attributes=_attributes(span.attributes),
        status=Status(code=_CODES[span.status], message=span.message),
    )
    for event in span.events:
        made.events.add(
            name=event.name, time_unix_nano=event.at * MILLION, attributes=_attributes(event.attributes)
        )
    return made


def _add_point(metric: Metric, point: Point, started: int, ended: int) -> None:
    shared: dict[str, Any] = {
        "attributes": _attributes(point.attributes),
        "start_time_unix_nano": started,
        "time_unix_nano": ended,
    }
    cumulative = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
    if isinstance(point.value, Histogram):
        metric.histogram.aggregation_temporality = cumulative
        metric.histogram.data_points.add(
            **shared,
            count=point.value.samples,
            sum=point.value.sum,
            bucket_counts=point.value.counts,
            explicit_bounds=point.value.bounds,
        )
    else:
        metric.sum.aggregation_temporality = cumulative
        metric.sum.is_monotonic = True
        metric.sum.data_points.add(**shared, as_double=point.value)


def _attributes(values: Mapping[str, Value]) -> list[KeyValue]:
    return [KeyValue(key=name, value=_any(value)) for name, value in values.items()]


def _any(value: Value) -> AnyValue:
    match value:
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case str():
            return AnyValue(string_value=value.encode("utf-8", "replace").decode())
