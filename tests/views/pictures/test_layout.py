"""Pictures of random workflows: nothing overlaps, every step is drawn once, every line ends at its boxes (R209)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import TypeAlias
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given

from podium.core.expressions.nodes import Const
from podium.core.model import Block, Check, Step, Workflow
from podium.core.types import Address
from podium.views.pictures import box_text, svg
from podium.views.pictures.figure import Box, Figure, Line, Point
from podium.views.pictures.layout import layout
from podium.views.pictures.states import SIGNS, NodeState, Tone
from podium.views.plain import cells
from tests.core.bias import Bias
from tests.core.strategies import Case, cases
from tests.workflow.compiling import compile_text

ANY = Bias(depth=3)
Read: TypeAlias = Callable[[str], Workflow]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    return lambda text: compile_text(tmp_path, dedent(text))


def inside(box: Box, other: Box) -> bool:
    return box.x < other.x and other.right < box.right and box.y < other.y and other.bottom < box.bottom


def overlaps(box: Box, other: Box) -> bool:
    return not (box.right < other.x or other.right < box.x or box.bottom < other.y or other.bottom < box.y)


def cells_of(line: Line) -> list[Point]:
    return list(line.cells())


def on_border(box: Box, point: Point) -> bool:
    in_columns = box.x <= point.x <= box.right and point.y in (box.y, box.bottom)
    return in_columns or (box.y <= point.y <= box.bottom and point.x in (box.x, box.right))


def crossed(figure: Figure, line: Line) -> Iterator[Box]:
    """The boxes that a line passes through, other than those around both of its ends and its ends."""
    path = cells_of(line)[1:-1]
    for box in figure.boxes:
        around = line.source.startswith(f"{box.path}/") and line.target.startswith(f"{box.path}/")
        if box.path in (line.source, line.target) or around:
            continue
        if any(box.x <= point.x <= box.right and box.y <= point.y <= box.bottom for point in path):
            yield box


@given(cases(ANY))
def test_boxes_are_beside_or_inside_each_other(case: Case) -> None:
    boxes = layout(case.workflow).boxes
    for number, box in enumerate(boxes):
        for other in boxes[number + 1 :]:
            assert not overlaps(box, other) or inside(box, other), (box.path, other.path)


@given(cases(ANY))
def test_every_step_is_drawn_once(case: Case) -> None:
    drawn = Counter(box.path for box in layout(case.workflow).boxes)

    assert set(drawn.values()) <= {1}
    assert {step.name for step in case.workflow.body.steps} <= {path for path in drawn if "/" not in path}


@given(cases(ANY))
def test_lines_lead_from_border_to_border_and_cross_no_other_box(case: Case) -> None:
    figure = layout(case.workflow)
    boxes = {box.path: box for box in figure.boxes}
    for line in figure.lines:
        assert on_border(boxes[line.source], line.points[0])
        assert on_border(boxes[line.target], line.points[-1])
        assert all(a.x == b.x or a.y == b.y for a, b in pairwise(line.points))
        assert list(crossed(figure, line)) == []


@given(cases(ANY))
def test_texts_fit_into_their_boxes_and_boxes_into_the_picture(case: Case) -> None:
    figure = layout(case.workflow)
    for box in figure.boxes:
        assert box.right < figure.width
        assert box.bottom < figure.height
        for row in box.rows:
            assert 0 < row.y < box.height - 1
            assert cells(row.text) <= box.width - 4
    assert all(
        0 <= p.x <= figure.width and 0 <= p.y < figure.height for ln in figure.lines for p in ln.points
    )


@given(cases(ANY))
def test_the_same_workflow_gives_the_same_picture_in_every_form(case: Case) -> None:
    figure = layout(case.workflow)

    assert figure == layout(case.workflow)
    text = box_text.paint(figure, unicode=False)
    assert text.isascii()
    assert len(text.splitlines()) == figure.height
    drawn = ET.fromstring(svg.paint(figure, case.workflow.name))
    names = [node.get("data-path") for node in drawn.iter("{http://www.w3.org/2000/svg}g")]
    assert names == [str(box.path) for box in figure.boxes]


def test_every_route_back_to_one_step_uses_one_lane(read: Read) -> None:
    workflow = read(
        """\
        podium: 1
        name: back
        steps:
          work: {run: [make, work]}
          check: {run: [make, check], on: {failed: work}}
          audit: {run: [make, audit], on: {failed: check, timeout: work}}
          land: {human: "Land it?", on: {rejected: work}}
        """
    )
    jumps = [line for line in layout(workflow).lines if line.kind == "jump"]

    assert sorted((line.source, line.target, line.label) for line in jumps) == [
        ("audit", "check", "failed"),
        ("audit", "work", "timeout"),
        ("check", "work", "failed"),
        ("land", "work", "rejected"),
    ]
    lanes = {line.target: {point.x for point in line.points[1:3]} for line in jumps}
    assert all(len(xs) == 1 for xs in lanes.values())
    assert lanes[Address("work")] != lanes[Address("check")]


GRAPH = """\
podium: 1
name: diamond
steps:
  fetch: {run: [make, fetch], needs: []}
  parse: {run: [make, parse], needs: [fetch]}
  lint: {run: [make, lint], needs: [fetch]}
  report: {run: [make, report], needs: [fetch, parse, lint]}
"""


def test_a_need_that_skips_a_row_goes_round_it(read: Read) -> None:
    figure = layout(read(GRAPH))
    needs = {(line.source, line.target): line for line in figure.lines}
    boxes = {box.path: box for box in figure.boxes}

    assert boxes[Address("parse")].y == boxes[Address("lint")].y
    far = needs[Address("fetch"), Address("report")]
    leftmost = min(box.x for box in figure.boxes)
    assert min(point.x for point in far.points) < leftmost
    assert len(needs) == 5


def test_a_graph_is_painted_in_box_characters(read: Read) -> None:
    assert box_text.paint(layout(read(GRAPH))) == PAINTED


PAINTED = """\
           ┌────────────────┐
           │ fetch          │
           │ run make fetch │
           └────────┬───────┘
                    │
┌───────────────────┤
│          ┌────────┤
│          │        └─────────┐
│          ▼                  ▼
│ ┌────────────────┐  ┌───────────────┐
│ │ parse          │  │ lint          │
│ │ run make parse │  │ run make lint │
│ └────────┬───────┘  └───────┬───────┘
│          │                  │
└──────────┴────────┬─────────┘
                    ▼
           ┌─────────────────┐
           │ report          │
           │ run make report │
           └─────────────────┘
"""


@pytest.mark.parametrize("most", [1, 3, 300])
def test_a_large_workflow_is_drawn_with_its_blocks_folded(read: Read, most: int) -> None:
    steps = "\n".join(f"      s{number}: {{run: [make, '{number}']}}" for number in range(4))
    workflow = read(f"podium: 1\nname: nested\nsteps:\n  outer:\n    steps:\n{steps}\n")
    boxes = layout(workflow, most=most).boxes

    assert len(boxes) == (5 if most == 300 else 1)
    assert most == 300 or boxes[0].rows[-1].text == "4 steps"


def test_a_workflow_of_ten_thousand_steps_is_laid_out_once_per_step() -> None:
    steps = tuple(Step(f"s{number}", Check(Const(True))) for number in range(10_000))

    assert len(layout(Workflow("long", Block("seq", steps))).boxes) == 10_000


@pytest.mark.parametrize("tone", sorted(SIGNS))
def test_a_state_is_shown_by_sign_word_and_colour(read: Read, tone: Tone) -> None:
    workflow = read("podium: 1\nname: one\nsteps:\n  work: {run: [make]}\n")
    states = {Address("work"): NodeState(tone, f"it is {tone}", "2 attempts")}
    figure = layout(workflow, states)

    text = box_text.paint(figure, states)
    assert f"{SIGNS[tone]} work" in text
    assert f"it is {tone}, 2 attempts" in text
    drawn = svg.paint(figure, "one", states)
    assert f'class="box step {tone}"' in drawn
    assert f"work: it is {tone}, 2 attempts" in drawn


def test_what_a_command_is_called_cannot_leave_the_picture(read: Read) -> None:
    workflow = read(
        """\
        podium: 1
        name: hostile
        steps:
          work: {run: ["</text><script>alert(1)</script>", "\\e[2J\\u202e"]}
        """
    )
    drawn = svg.paint(layout(workflow), '"><script>')

    assert "<script" not in drawn
    assert "\x1b" not in drawn
    assert "\u202e" not in drawn
    ET.fromstring(drawn)
    assert "\x1b" not in box_text.paint(layout(workflow))
