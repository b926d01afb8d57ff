"""Runs as OpenTelemetry traces and as Prometheus text, sent to a sink on loopback (R224)."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

SECRET_WORDS = "words of the answer that stay here"
WORKFLOW = """
podium: 1
name: fix
agents:
  builder: {type: command, command: [sh, agent.sh], price: {input: 1, output: 1}}
steps:
  build:
    agent: builder
    prompt: Write out.txt, please.
    touches: [out.txt]
    gates: [{run: "grep -q good out.txt"}]
    retry: {attempts: 2, on_exhausted: fail}
  sign: {human: "Is it good?"}
"""
AGENT = f"""
if [ -e out.txt ]; then echo good > out.txt; else echo bad > out.txt; fi
printf '{{"podium": 1, "text": "{SECRET_WORDS}", "usage": {{"input": 10, "output": 5}}, "cost_usd": 0.10}}'
"""


class Sink:
    """What a collector has received; a span that comes again replaces the one with its id."""

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self.bodies: list[tuple[str, bytes]] = []
        self.lock = threading.Lock()

    @property
    def spans(self) -> dict[bytes, Any]:
        found: dict[Any, Any] = {}
        for path, body in self.bodies:
            if path == "/v1/traces":
                for group in ExportTraceServiceRequest.FromString(body).resource_spans:
                    found |= {span.span_id: span for scope in group.scope_spans for span in scope.spans}
        return found

    @property
    def metrics(self) -> dict[str, Any]:
        found: dict[Any, Any] = {}
        for path, body in self.bodies:
            if path == "/v1/metrics":
                for group in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                    found |= {
                        metric.name: metric for scope in group.scope_metrics for metric in scope.metrics
                    }
        return found


@contextmanager
def sink(status: int = 200, *, metrics: int = 0) -> Iterator[Sink]:
    """A collector that answers everything with `status`, and metrics with another one."""
    received = Sink(0)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            with received.lock:
                received.bodies.append((self.path, body))
            self.send_response(metrics if metrics and self.path == "/v1/metrics" else status)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    received.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def project_of(folder: Path) -> Project:
    return new_project(folder / "place", {"fix.yaml": WORKFLOW, "agent.sh": AGENT})


def finish(project: Project) -> None:
    project.podium("run", "fix.yaml", "--sandbox", "limits", "--yes", "--json")
    done = project.podium("approve", "--by", "ann")
    assert done.code == 0, done.err


def attributes(span: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in span.attributes}


@pytest.mark.req("R224")
def test_a_run_that_is_sent_twice_is_one_trace(tmp_path: Path) -> None:
    with sink() as received, closing(project_of(tmp_path)) as project:
        finish(project)
        first = project.podium("export", "--otlp", received.address, "--json")
        once = dict(received.spans)
        second = project.podium("export", "--otlp", received.address, "--json")

        assert first.data() == second.data()
        assert first.data()["spans"] == len(once) == len(received.spans)
        assert {id_: span.SerializeToString() for id_, span in once.items()} == {
            id_: span.SerializeToString() for id_, span in received.spans.items()
        }
        (trace,) = {span.trace_id for span in once.values()}
        assert len(trace) == 16
        roots = [span for span in once.values() if not span.parent_span_id]
        assert [span.name for span in roots] == ["invoke_workflow fix"]
        assert all(span.parent_span_id in once for span in once.values() if span not in roots)
        agents = [span for span in once.values() if span.name == "invoke_agent builder"]
        assert len(agents) == 2
        assert attributes(agents[0])["gen_ai.usage.input_tokens"] == 10
        assert attributes(agents[0])["podium.cost.usd"] == pytest.approx(0.1)
        assert attributes(roots[0])["podium.cost.usd"] == pytest.approx(0.2)
        (question,) = [span for span in once.values() if span.name == "ask sign"]
        assert [event.name for event in question.events] == ["answered"]
        tokens = received.metrics["gen_ai.client.token.usage"].histogram.data_points
        assert sum(point.sum for point in tokens) == 30
        assert received.metrics["podium.runs"].sum.data_points[0].as_double == 1
        everything = b"".join(body for _, body in received.bodies)
        for private in (SECRET_WORDS.encode(), b"Write out.txt", b"ann", b"Is it good"):
            assert private not in everything


def test_answers_are_sent_only_if_they_are_asked_for(tmp_path: Path) -> None:
    with sink() as received, closing(project_of(tmp_path)) as project:
        finish(project)
        project.podium("export", "--otlp", received.address, "--content")

        assert any(SECRET_WORDS.encode() in body for _, body in received.bodies)


def test_spans_are_sent_while_the_run_is_driven(tmp_path: Path) -> None:
    with sink() as received, closing(project_of(tmp_path)) as project:
        project.env["PODIUM_OTLP"] = received.address
        project.podium("run", "fix.yaml", "--sandbox", "limits", "--yes", "--json")
        early = {span.name for span in received.spans.values()}
        project.podium("approve", "--by", "ann")
        names = {span.name for span in received.spans.values()}
        live = set(received.spans)
        project.podium("export", "--otlp", received.address)

        assert "build" in early
        assert "invoke_workflow fix" not in early
        assert {"invoke_workflow fix", "ask sign"} <= names
        assert set(received.spans) == live


def test_a_collector_that_is_gone_does_not_hold_up_a_run(tmp_path: Path) -> None:
    with sink(status=503) as received, closing(project_of(tmp_path)) as project:
        project.env["PODIUM_OTLP"] = received.address
        done = project.podium("run", "fix.yaml", "--sandbox", "limits", "--yes", "--json")
        refused = project.podium("export", "--otlp", received.address)
        wrong = project.podium("export", "--otlp", "http://user:word@localhost:1")

    assert done.code == 6, done.err
    assert done.err.count("telemetry: ") == 1
    assert refused.code == 1
    assert "answered 503" in refused.err
    assert wrong.code == 2
    assert "word" not in wrong.err.split("hint")[0].replace("password", "")


def test_a_collector_of_traces_only_gets_the_spans(tmp_path: Path) -> None:
    """Phoenix answers metrics with 405."""
    with sink(metrics=405) as received, closing(project_of(tmp_path)) as project:
        finish(project)
        sent = project.podium("export", "--otlp", received.address)
        data = project.podium("export", "--otlp", received.address, "--json").data()

        assert sent.code == 0, sent.err
        assert "no metrics, which the collector does not take, of run" in sent.out
        assert data["spans"] == len(received.spans) > 0
        assert data["points"] == 0


def test_prometheus_gets_counters_that_a_deleted_run_does_not_lower(tmp_path: Path) -> None:
    with closing(project_of(tmp_path)) as project:
        finish(project)
        before = project.podium("metrics", "--prometheus")
        assert project.podium("gc", "--older-than", "0d", "--yes").code == 0
        after = project.podium("metrics", "--prometheus")

    assert before.code == 0, before.err
    assert 'podium_runs_total{workflow="fix",status="passed"} 1' in before.out
    assert 'podium_attempts_total{agent="builder",role="-",kind="gates"} 1' in before.out
    assert 'podium_cost_usd_total{agent="builder",model="-"} 0.2' in before.out
    assert 'podium_tokens_total{agent="builder",model="-",type="input"} 20' in before.out
    assert 'podium_run_duration_seconds_count{workflow="fix"} 1' in before.out
    assert after.out == before.out


@contextmanager
def serving(project: Project, *words: str) -> Iterator[dict[str, str]]:
    """`podium serve --web`; the addresses that it prints, by what they are for."""
    process = subprocess.Popen(
        (sys.executable, "-m", "podium", "serve", "--web", "--json", *words),
        cwd=project.root,
        env=project.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    told: dict[str, str] = {}
    try:
        while "watching" not in told:
            line = json.loads(process.stdout.readline())
            told[line["did"]] = line["text"]
        yield told
    finally:
        process.terminate()
        process.communicate()
    assert process.returncode == 0


def answer_of(address: str, key: str = "", method: str = "GET", host: str = "") -> tuple[int, str]:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    headers |= {"host": host} if host else {}
    request = Request(address, headers=headers, method=method)  # an address of this test
    try:
        with urlopen(request) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.req("R224")
def test_prometheus_reads_the_numbers_over_http_with_a_key_that_opens_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "metrics.key"
    with closing(project_of(tmp_path)) as project:
        finish(project)
        printed = project.podium("metrics", "--prometheus").out
        with serving(project, "--metrics-key", str(file)) as told:
            address = told["metrics"].split()[0]
            key = file.read_text().strip()
            pages, _, page_key = told["pages"].partition("#key=")

            assert answer_of(address, key) == (200, printed)
            assert answer_of(address)[0] == 401
            assert answer_of(address, "wrong")[0] == 401
            assert answer_of(address, page_key)[0] == 401
            assert answer_of(pages, key)[0] == 401
            assert answer_of(f"{pages}runs", key)[0] == 401
            assert answer_of(address, key, method="POST")[0] == 405
            assert answer_of(address, key, host="evil.example")[0] == 421
        with serving(project, "--metrics-key", str(file)):
            assert file.read_text().strip() == key
        file.chmod(0o644)
        open_to_all = project.podium("serve", "--web", "--once", "--metrics-key", str(file))

    assert file.stat().st_mode & 0o777 == 0o644
    assert open_to_all.code == 2
    assert f"{file} may be read by other users" in open_to_all.err
