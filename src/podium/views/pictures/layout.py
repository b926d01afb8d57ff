"""Lays out a workflow: boxes in boxes, as it is written.

A sequence is a column. Members of a parallel block and of a list are side by side in a grid. A graph has rows by its longest
paths. Every step that routes lead to has one lane at the right of its column, which all of them join.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, assert_never

from podium.core import model
from podium.core.addresses import FINALLY, ROOT, child, gates
from podium.core.model import Block, Step, Workflow
from podium.core.queries.graph import targets_of
from podium.core.queries.steps import children_of
from podium.core.types import Address, Outcome
from podium.views.format import plural
from podium.views.pictures.channels import place_graph
from podium.views.pictures.figure import Box, BoxKind, Figure, Line, Point, Row, RowKind
from podium.views.pictures.states import NodeState
from podium.views.plain import cells, cut_to_cells, one_line
from podium.views.text.graph import describe_verb, uses

WIDEST: Final = 44
"""The longest text of a box, in cells; a longer one is cut."""

GRID_WIDTH: Final = 110
"""Where a row of parallel boxes is broken, in cells."""

MOST_BOXES: Final = 300
"""A workflow with more steps is drawn with its inner blocks folded."""

GAP: Final = 2
SIGN: Final = 2


class Exit(NamedTuple):
    """Where some outcomes of a step lead; `step` is its index in the same block, or -1."""

    label: str
    kind: str
    step: int


def layout(
    workflow: Workflow, states: Mapping[Address, NodeState] | None = None, *, most: int = MOST_BOXES
) -> Figure:
    """The picture of a workflow, with `states` that of a run.

    If it has more steps than `most`, its innermost blocks are drawn as one box each.
    """
    drawer = _Drawer(_depth_for(workflow, most), states or {})
    body = drawer.block(workflow.body, ROOT, 1)
    if workflow.finally_ is None:
        return body
    return _stacked([body, drawer.step(workflow.finally_, child(ROOT, FINALLY), 1, ())])


def _depth_for(workflow: Workflow, most: int) -> int:
    """How many levels of blocks can be drawn with at most this many boxes; at least one."""
    level, depth, total = [*workflow.body.steps, *filter(None, [workflow.finally_])], 0, 0
    while level:
        total += len(level)
        if depth and total > most:
            return depth
        depth += 1
        level = [inner for step in level for inner in _inner_steps(step)]
    return depth


def _inner_steps(step: Step) -> tuple[Step, ...]:
    verb = step.verb
    if isinstance(verb, model.ForEach | model.Repeat):
        return _inner_steps(verb.body)
    return children_of(verb) if isinstance(verb, model.ScopeVerb) else ()


class _Drawer:
    def __init__(self, depth: int, states: Mapping[Address, NodeState]) -> None:
        self._depth = depth
        self._states = states

    def block(self, block: Block, path: Address, level: int) -> Figure:
        parts = [self.step(step, child(path, step.name), level, _exits(block, step)) for step in block.steps]
        match block.kind:
            case "seq":
                return _with_lanes(_column(parts, _leads_on(block.steps)), block, parts)
            case "par":
                return _grid(parts)
            case "dag":
                rules = [step.needs_rule for step in block.steps]
                return place_graph(parts, [step.needs for step in block.steps], rules)
            case _:
                assert_never(block.kind)

    def step(self, step: Step, path: Address, level: int, exits: Sequence[Exit]) -> Figure:
        kind, inner = self._inside(step.verb, path, level)
        rows = [*_head(step, path, inner, self._states.get(path)), *_gates(step, path)]
        feet: list[tuple[RowKind, str, Address]] = [("exit", _exit_text(each), path) for each in exits]
        return _boxed(path, kind, rows, inner, feet)

    def _inside(self, verb: model.Verb, path: Address, level: int) -> tuple[BoxKind, Figure | None]:
        """How a step is drawn, and what is drawn in it."""
        match verb:
            case model.ForEach() | model.Repeat():
                return "loop", self._inside(verb.body.verb, path, level)[1]
            case model.Call():
                return "frame", self._folded(verb.workflow.body, path, level)
            case Block():
                return "together" if verb.kind == "par" else "frame", self._folded(verb, path, level)
            case model.Members() | model.Review():
                return "together", _grid(
                    [self._member(each, path) for each in verb.members]
                ) if verb.members else None
            case _:
                return "step", None

    def _member(self, step: Step, path: Address) -> Figure:
        at = child(path, step.name)
        rows = [row for row in _head(step, at, None, self._states.get(at)) if row[0] in ("title", "state")]
        return _boxed(at, "member", [*rows, *_gates(step, at)], None, [])

    def _folded(self, block: Block, path: Address, level: int) -> Figure | None:
        return self.block(block, path, level + 1) if level < self._depth else None


def _head(
    step: Step, path: Address, inner: Figure | None, state: NodeState | None
) -> list[tuple[RowKind, str, Address]]:
    rows: list[tuple[RowKind, str, Address]] = [
        ("title", step.name, path),
        ("about", _about(step.verb), path),
    ]
    if state is not None:
        rows.append(("state", ", ".join(filter(None, (state.word, state.detail))), path))
    hidden = len(_inner_steps(step))
    if inner is None and hidden:
        rows.append(("note", plural(hidden, "step"), path))
    rows += [("note", text, path) for text in uses(step)]
    if step.when is not None:
        rows.append(("note", "only if its condition holds", path))
    return rows


def _about(verb: model.Verb) -> str:
    """What a step does; the members of a list are drawn, not named once more."""
    if isinstance(verb, model.Members | model.Review) and verb.panel is None:
        return "review" if isinstance(verb, model.Review) else "agents with the same task"
    return describe_verb(verb)


def _gates(step: Step, path: Address) -> list[tuple[RowKind, str, Address]]:
    if step.gates is None or not isinstance(step.gates.verb, model.Gates):
        return []
    return [("gate", f"gate {gate.name}", child(gates(path), gate.name)) for gate in step.gates.verb.members]


def _exits(block: Block, step: Step) -> tuple[Exit, ...]:
    """Where the outcomes of a step lead, one entry per target; the usual way on is left out."""
    outcomes: dict[tuple[str, int], list[Outcome]] = {}
    for outcome, target in targets_of(step):
        if not (outcome == "passed" and target.kind == "next"):
            outcomes.setdefault((target.kind, target.step), []).append(outcome)
    exits = [Exit(", ".join(dict.fromkeys(names)), kind, index) for (kind, index), names in outcomes.items()]
    if block.kind == "seq":
        return tuple(exits)
    # Only a column has lanes; elsewhere the text names the step.
    return tuple(
        each._replace(kind=block.steps[each.step].name, step=-1) if each.kind == "step" else each
        for each in exits
    )


def _exit_text(each: Exit) -> str:
    return each.label if each.step >= 0 else f"{each.label} -> {each.kind}"


def _boxed(
    path: Address,
    kind: BoxKind,
    rows: Sequence[tuple[RowKind, str, Address]],
    inner: Figure | None,
    feet: Sequence[tuple[RowKind, str, Address]],
) -> Figure:
    """A box around its texts and what is in it."""
    texts = [(row, cut_to_cells(one_line(text, 400), WIDEST), at) for row, text, at in (*rows, *feet)]
    # A sign comes before the title and before gates once they have run.
    widths = [cells(text) + SIGN * (row in ("title", "gate")) for row, text, _ in texts]
    width = max(*widths, 0 if inner is None else inner.width) + 4
    below = len(rows) + 1
    height = below + (inner.height + 1 if inner is not None else 0) + len(feet) + 1
    placed = [
        Row(number + 1 if number < len(rows) else height - 1 - len(texts) + number, row, text, at)
        for number, (row, text, at) in enumerate(texts)
    ]
    box = Box(path, kind, 0, 0, width, height, tuple(placed))
    if inner is None:
        return Figure(width, height, (box,))
    moved = inner.moved((width - inner.width) // 2, below + 1 if kind != "together" else below)
    return Figure(width, height, (box, *moved.boxes), moved.lines)


def _leads_on(steps: Sequence[Step]) -> list[bool]:
    """For each step, whether a passed one is followed by the next."""
    targets = [[target.kind for outcome, target in targets_of(step) if outcome == "passed"] for step in steps]
    return [not kinds or "next" in kinds for kinds in targets]


def _column(parts: Sequence[Figure], leads_on: Sequence[bool]) -> Figure:
    if not parts:
        return Figure(0, 0)
    middle = max(part.boxes[0].middle for part in parts)
    placed: list[Figure] = []
    lines: list[Line] = []
    y = 0
    for number, part in enumerate(parts):
        placed.append(part.moved(middle - part.boxes[0].middle, y))
        y += part.height + GAP
        if number and leads_on[number - 1]:
            above, below = placed[number - 1].boxes[0], placed[number].boxes[0]
            points = (Point(middle, above.bottom), Point(middle, below.y))
            lines.append(Line("next", above.path, below.path, "", points))
    return _joined(placed, lines)


def _stacked(parts: Sequence[Figure]) -> Figure:
    """Parts below each other, without lines between them."""
    y, placed = 0, []
    for part in parts:
        placed.append(part.moved(0, y))
        y += part.height + GAP
    return _joined(placed, ())


def _grid(parts: Sequence[Figure]) -> Figure:
    x = y = height = 0
    placed: list[Figure] = []
    for part in parts:
        if placed and x + part.width > GRID_WIDTH:
            x, y, height = 0, y + height + 1, 0
        placed.append(part.moved(x, y))
        x += part.width + GAP
        height = max(height, part.height)
    return _joined(placed, ())


def _joined(parts: Sequence[Figure], lines: Sequence[Line]) -> Figure:
    boxes = tuple(box for part in parts for box in part.boxes)
    right = max((box.right + 1 for box in boxes), default=0)
    ends = [point.x + 1 for part in parts for line in part.lines for point in line.points]
    return Figure(
        max([right, *ends]),
        max((box.bottom + 1 for box in boxes), default=0),
        boxes,
        (*(line for part in parts for line in part.lines), *lines),
    )


def _with_lanes(column: Figure, block: Block, parts: Sequence[Figure]) -> Figure:
    """The column with a lane for every step that routes of the block lead to."""
    tops = _tops(column, parts)
    sources: dict[int, list[tuple[Box, Row]]] = {}
    labels: dict[tuple[Address, int], str] = {}
    for box, step in zip(tops, block.steps, strict=True):
        exits = _exits(block, step)
        feet = [row for row in box.rows if row.kind == "exit"]
        for each, row in zip(exits, feet, strict=True):
            if each.step >= 0:
                sources.setdefault(each.step, []).append((box, row))
                labels[box.path, each.step] = each.label
    spans = {
        index: [tops[index].y + 1, *(box.y + row.y for box, row in rows)] for index, rows in sources.items()
    }
    lanes = _assign_lanes({index: (min(ys), max(ys)) for index, ys in spans.items()})
    lines: list[Line] = []
    for index, rows in sources.items():
        x = column.width + 1 + GAP * lanes[index]
        target = tops[index]
        for box, row in rows:
            at = box.y + row.y
            points = (
                Point(box.right, at),
                Point(x, at),
                Point(x, target.y + 1),
                Point(target.right, target.y + 1),
            )
            lines.append(Line("jump", box.path, target.path, labels[box.path, index], points))
    width = column.width + (GAP * (max(lanes.values()) + 1) if lanes else 0)
    return column._replace(width=width, lines=(*column.lines, *lines))


def _tops(column: Figure, parts: Sequence[Figure]) -> list[Box]:
    """The outer box of each part, as the column has placed it."""
    tops, at = [], 0
    for part in parts:
        tops.append(column.boxes[at])
        at += len(part.boxes)
    return tops


def _assign_lanes(spans: Mapping[int, tuple[int, int]]) -> dict[int, int]:
    """A lane for each span: short ones are nearest to the column, and spans that overlap never share one."""
    lanes: list[list[tuple[int, int]]] = []
    chosen: dict[int, int] = {}
    for index, (first, last) in sorted(spans.items(), key=lambda span: (span[1][1] - span[1][0], span[0])):
        free = (
            number
            for number, used in enumerate(lanes)
            if all(last < other_first or other_last < first for other_first, other_last in used)
        )
        lane = next(free, len(lanes))
        if lane == len(lanes):
            lanes.append([])
        lanes[lane].append((first, last))
        chosen[index] = lane
    return chosen
