"""Where the steps of a steps-format file are: the loops and parallel blocks around each, and its position among the others.

The steps of a `catch` are in the block of the step that they follow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from podium.workflow.source.nodes import Node, fields, items, text

BLOCKS: Final = ("for_each", "while", "parallel")
OUTCOMES: Final = ("success", "failure", "timeout")

BlockPath: TypeAlias = tuple[str, ...]
"""The names of the loops and parallel blocks around a step, from the outside to the inside."""


class Place(NamedTuple):
    block: BlockPath
    position: int


class Places:
    def __init__(self, steps: tuple[Node, ...]) -> None:
        self.first = step_name(steps[0]) if steps else ""
        self._places: dict[str, Place] = {}
        self._parallel: set[BlockPath] = set()
        self._after: dict[str, str] = {}
        self._add(steps, ())
        self._back: dict[BlockPath, float] = {}
        self._uncertain: set[str] = set()
        self._follow_jumps(steps)

    def __contains__(self, step: str) -> bool:
        return step in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __getitem__(self, step: str) -> Place:
        return self._places[step]

    @property
    def has_jump_back(self) -> bool:
        return bool(self._back)

    def after(self, step: str) -> str | None:
        """The step that follows in the same block, not counting its `catch`."""
        return self._after.get(step)

    def is_parallel(self, block: BlockPath) -> bool:
        return block in self._parallel

    def outermost_parallel(self, step: str) -> str:
        """The outermost parallel block around a step, if there are only parallel blocks in between, else nothing."""
        block, outermost = self._places[step].block, ""
        while block and self.is_parallel(block):
            block, outermost = block[:-1], block[-1]
        return outermost

    def is_below_parallel(self, step: str) -> bool:
        """Whether a loop is in between a step and a parallel block around it."""
        block = self._places[step].block
        while block and self.is_parallel(block):
            block = block[:-1]
        return any(self.is_parallel(block[: depth + 1]) for depth in range(len(block)))

    def above(self, step: str, block: BlockPath) -> int:
        """The position of a step, or of what it is in, in a block around it."""
        place = self._places[step]
        return place.position if place.block == block else self._places[place.block[len(block)]].position

    def has_run(self, step: str, reader: str) -> bool:
        """Whether a step that is above has certainly run."""
        return step not in self._uncertain and self.is_before(step, reader)

    def is_before(self, step: str, reader: str) -> bool:
        """Whether the native reader sees the result of a step: it is above, and no jump back makes it stale."""
        place, block = self._places[step], self._places[reader].block
        if block[: len(place.block)] != place.block:
            return False
        return place.position < min(self.above(reader, place.block), self._back.get(place.block, math.inf))

    def _add(self, steps: tuple[Node, ...], block: BlockPath) -> None:
        names = [step_name(step) for step in steps]
        self._after.update(pairwise(names))
        for index, step in enumerate(with_handlers(steps)):
            name = step_name(step)
            self._places[name] = Place(block, index)
            for kind in BLOCKS:
                if kind in fields(step):
                    inner = (*block, name)
                    self._parallel.update([inner] if kind == "parallel" else [])
                    self._add(inner_steps(fields(step)[kind]), inner)

    def _follow_jumps(self, steps: tuple[Node, ...]) -> None:
        """Finds for each block the first step that something leads back to, and the steps that may be jumped over."""
        for step in all_steps(steps):
            handlers = inner_steps(fields(step).get("catch"))
            self._uncertain.update(step_name(each) for each in with_handlers(handlers))
            if "when" in fields(step):
                self._uncertain.add(step_name(step))
            for action in (fields(fields(step).get("on")).get(word) for word in OUTCOMES):
                goto = None if action is None else text(fields(action).get("goto"))
                self._follow(step_name(step), self.first if goto == "_start" else goto or "")

    def _follow(self, step: str, target: str) -> None:
        if target not in self._places:
            return
        block, position = self._places[target]
        if self._places[step].block[: len(block)] != block:
            return
        start = self.above(step, block)
        if position <= start:
            self._back[block] = min(position, self._back.get(block, math.inf))
        self._uncertain.update(
            name
            for name, place in self._places.items()
            if place.block == block and start < place.position < position
        )


def step_name(step: Node) -> str:
    return text(fields(step).get("name")) or "step"


def with_handlers(steps: tuple[Node, ...]) -> list[Node]:
    """The steps of a block in order, each followed by those of its `catch`."""
    listed: list[Node] = []
    for step in steps:
        listed += [step, *with_handlers(inner_steps(fields(step).get("catch")))]
    return listed


def all_steps(steps: tuple[Node, ...]) -> list[Node]:
    """Every step, including those inside loops and blocks, in the order of the file."""
    nested: list[Node] = []
    for step in steps:
        nested.append(step)
        for key in (*BLOCKS, "catch"):
            nested += all_steps(inner_steps(fields(step).get(key)))
    return nested


def inner_steps(node: Node | None) -> tuple[Node, ...]:
    """The body of a loop or block: a list of steps, or a map that contains one."""
    if node is None:
        return ()
    inside = fields(node).get("steps", node)
    return items(inside) if isinstance(inside.value, tuple) else ()
