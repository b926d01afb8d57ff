"""The live tree fits every terminal, whatever the run, and shows what matters most."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.core.types import Address, MicroUsd, Millis
from podium.views.plain import cells
from podium.views.run.activity import Activities, Activity
from podium.views.run.builder import run_view
from podium.views.run.questions import with_state
from podium.views.run.view import RunView, StepStatus, StepView
from podium.views.run.why import Cause, one_text
from podium.views.text.live_tree import ASCII, UNICODE, Frame, draw
from podium.views.text.terminal import no_paint
from tests.views.kit import tell


def view_with(steps: tuple[StepView, ...], example: RunView) -> RunView:
    return example._replace(steps=steps, pending=())


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    told = tell(tmp_path_factory.mktemp("told"))
    return with_state(run_view(told.events), told.state)


STATUSES: st.SearchStrategy[StepStatus] = st.sampled_from(
    ["queued", "running", "checking", "retrying", "waiting", "ended"]
)
TEXT = st.text(max_size=80)


@st.composite
def steps(draw_: st.DrawFn) -> tuple[StepView, ...]:
    drawn = []
    for number in range(draw_(st.integers(0, 40))):
        status = draw_(STATUSES)
        drawn.append(
            StepView(
                path=Address(f"step{number}" + draw_(st.sampled_from(["", "~2"]))),
                parent=Address(""),
                role="step",
                visit=1,
                entered=Millis(0),
                status=status,
                outcome=draw_(st.sampled_from(["passed", "failed", "skipped"]))
                if status == "ended"
                else None,
                message=draw_(TEXT),
                attempts=draw_(st.integers(0, 3)),
                worked=draw_(st.booleans()),
                usd=MicroUsd(draw_(st.integers(0, 10**7))),
                cause=Cause(Address("tests"), one_text(draw_(TEXT))),
            )
        )
    return tuple(drawn)


@given(
    steps=steps(),
    columns=st.integers(20, 200),
    rows=st.integers(3, 60),
    words=TEXT,
    glyphs=st.sampled_from([ASCII, UNICODE]),
    upcoming=st.lists(st.text("abc_", min_size=1, max_size=90), max_size=30),
)
def test_every_frame_fits_its_terminal(
    example: RunView,
    steps: tuple[StepView, ...],
    columns: int,
    rows: int,
    words: str,
    glyphs: object,
    upcoming: list[str],
) -> None:
    assert glyphs in (ASCII, UNICODE)
    activities = Activities()
    for step in steps:
        activities.take(step.path, Activity("text", words))
    frame = Frame(Millis(70_000), columns, rows, 3, ASCII if glyphs is ASCII else UNICODE)
    lines = list(draw(view_with(steps, example), activities, frame, no_paint, upcoming=upcoming))

    assert len(lines) <= rows
    assert all(cells(line) <= columns for line in lines)
    assert all(line.isprintable() for line in lines)
    active = [
        step for step in steps if step.status == "waiting" or (step.status == "running" and step.worked)
    ]
    if columns >= 60 and len(active) < rows - 2:
        shown = "\n".join(lines)
        assert all(re.search(rf"\b{re.escape(step.path)}(?![\d~])", shown) for step in active)


@given(steps=steps(), rows=st.integers(3, 20))
def test_rows_that_do_not_fit_are_counted(example: RunView, steps: tuple[StepView, ...], rows: int) -> None:
    view = view_with(steps, example)
    lines = list(draw(view, Activities(), Frame(Millis(1), 200, rows, 0, ASCII), no_paint))
    if len(steps) <= rows - 2:
        assert len(lines) == len(steps) + 1
        return
    *shown, last = lines[1:]
    assert last.startswith("... ")
    assert len(shown) + sum(map(int, re.findall(r"(\d+) (?:running|failed|done|to come)", last))) == len(
        steps
    )


def test_a_loop_shows_how_many_of_its_iterations_are_over_and_only_those_that_run(tmp_path: Path) -> None:
    flow = """\
podium: 1
name: loop
steps:
  each:
    for_each: [red, green, blue]
    steps: {paint: {run: [echo, "${{ item }}"]}}
"""
    told = tell(tmp_path, flow=flow, cast=None)
    moments = [with_state(run_view(moment.events), moment.state) for moment in told.moments()]
    frames = [
        "\n".join(draw(view, Activities(), Frame(view.at, 80, 24, 0, ASCII), no_paint)) for view in moments
    ]
    middle = next(frame for frame in frames if "1 of 3" in frame and "green" in frame)

    assert re.search(r"\| each +\S+  1 of 3", middle)
    assert "each[2] green" in middle
    assert "each[1]" not in middle
    assert "round" not in middle
