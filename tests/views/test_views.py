"""Outlines, graphs, traces and formatted numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.app.author.load import open_workflow
from podium.core.types import MicroUsd, Millis
from podium.simulate.run import simulate
from podium.simulate.scripted_world import ScriptedWorld
from podium.views.format import count, dollars, duration
from podium.views.run.trace import trace
from podium.views.text.graph import as_mermaid, as_text
from podium.workflow.scripted.cast import NO_CAST

FLOW = """\
podium: 1
name: all
vars: {n: 0}
steps:
  people: {agent: human, prompt: Do it by hand.}
  panel: {agent: [claude, codex], prompt: "Say \\"so\\".", join: discard}
  each:
    for_each: [a, b]
    steps:
      inner: {run: [echo, "${{ item }}"]}
      over: {check: vars.n == 0}
  again:
    repeat: {until: vars.n > 0, max: 2}
    set: {n: 1}
  graph:
    steps:
      one: {needs: [], run: make one}
      two: {needs: [one], run: make two, when: "vars.n > 0", on: {failed: one}}
  beside:
    parallel: true
    steps:
      left: {run: make left}
      right: {run: make right}
  pause: {wait: {timer: 5m}}
  ask: {human: "Good?", on: {rejected: people}}
  publish: {git: {branch: x, push: origin}}
finally:
  clean: {run: make clean}
"""


@pytest.fixture
def flow(tmp_path: Path) -> Path:
    path = tmp_path / "all.yaml"
    path.write_text(FLOW)
    return path


@pytest.mark.req("R010")
def test_an_outline_has_a_line_for_every_step(flow: Path) -> None:
    text = as_text(open_workflow(flow))

    for line in (
        "  people  [person human]",
        "  panel  [agents claude, codex]",
        "  each  [for each item: steps]",
        "      inner  [run echo ...]",
        "      over  [check]",
        "  again  [repeat until: set n]",
        "  graph  [graph]",
        "      two  [run make two]  when ...",
        "        needs one",
        "        failed -> one",
        "  beside  [parallel]",
        "  pause  [wait for timer]",
        "    rejected -> people",
        "  publish  [git branch]",
        "  finally",
        "    clean  [run make clean]",
    ):
        assert line in text.splitlines(), line


def test_a_mermaid_chart_has_nodes_groups_and_labelled_edges(flow: Path) -> None:
    chart = as_mermaid(open_workflow(flow))

    assert '  subgraph graph["graph: graph"]' in chart
    assert "  graph_one --> graph_two" in chart
    assert "  graph_two -->|failed| graph_one" in chart
    assert "  ask -->|rejected| people" in chart
    assert "  people --> panel" in chart


def test_a_trace_needs_only_the_events(flow: Path) -> None:
    workflow = open_workflow(flow)
    run = simulate(workflow, ScriptedWorld(NO_CAST))

    seen = trace(run.events)

    assert seen.status == "passed"
    assert seen.usd == run.state.usd
    assert [step.path for step in seen.steps if "/" not in step.path and "[" not in step.path] == [
        "people",
        "panel",
        "each",
        "again",
        "graph",
        "beside",
        "pause",
        "ask",
        "publish",
        "finally",
    ]


def test_a_trace_without_events_is_empty() -> None:
    empty = trace(())

    assert (empty.status, empty.steps, empty.ended) == (None, (), 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (dollars(MicroUsd(0)), "$0.00"),
        (dollars(MicroUsd(1_234_567)), "$1.23"),
        (dollars(MicroUsd(1_200)), "$0.0012"),
        (duration(Millis(59_000)), "59s"),
        (duration(Millis(240)), "0.2s"),
        (duration(Millis(2_000)), "2s"),
        (duration(Millis(9_960)), "10s"),
        (duration(Millis(61_000)), "1m01s"),
        (duration(Millis(3_660_000)), "1h01m"),
        (duration(Millis(180_000_000)), "2d02h"),
        (count(999), "999"),
        (count(12_345), "12k"),
        (count(34_000_000), "34M"),
    ],
)
def test_numbers_are_short(text: str, expected: str) -> None:
    assert text == expected
