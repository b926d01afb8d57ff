"""Resolves names at one place of a steps-format file: steps, context, loop items and paths."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from podium.fast_dataclass import dataclass
from podium.workflow.dialects.steps.shims import Shim
from podium.workflow.dialects.steps.text import Meaning, Part, Ref
from podium.workflow.dialects.translation import Names, Translation, name_of
from podium.workflow.source.nodes import Node, fields, text

FOLDER: Final = "workspace"
"""The folder where every step starts and which every path is relative to."""

LOOP: Final = {
    "index": "loop.index",
    "total": "loop.total",
    "iteration": "loop.number",
    "elapsed": "loop.elapsed",
}
RESULTS: Final = ("exit_code", "output", "duration")


@dataclass(frozen=True, slots=True)
class Scope:
    names: Names
    """Every step of the file."""
    agents: frozenset[str]
    """The steps done by an agent, which has no exit code."""
    files: Mapping[str, str]
    """The output files of steps: the step by the path below the folder."""
    shims: Mapping[Shim, str]
    """The names of agents that are separate programs."""
    read: dict[str, Node] = field(default_factory=dict)
    """Keys of the context that are read, each with a place that reads it."""
    env: set[str] = field(default_factory=set)
    """Environment variables that a condition checks."""
    item: tuple[str, ...] = ()
    """The item names of the loops around the step."""
    in_loop: bool = False
    leave: str | None = None
    """The step that ends the surrounding loop as passed, if the loop needs one."""
    optional: frozenset[str] = frozenset()
    """References that may be missing in this step."""

    @property
    def folder(self) -> str:
        return FOLDER

    def inside(self, item: str | None, leave: str | None) -> Scope:
        return replace(self, item=(*self.item, *([item] if item else [])), in_loop=True, leave=leave)

    def passed(self, step: str) -> str:
        return f"default(steps.{self.names[step]}.outcome, 'none') == 'passed'"

    def exit_code(self, step: str) -> str:
        name = self.names[step]
        return (
            f"(0 if steps.{name}.outcome == 'passed' else 1)"
            if step in self.agents
            else f"steps.{name}.exit_code"
        )

    def maker_of(self, path: str) -> str | None:
        """The step that writes this file, if there is one."""
        return self.files.get(posixpath.normpath(path.removeprefix(f"{FOLDER}/")))

    def path(self, node: Node) -> str:
        """A path from the root of the project; a path that leaves the project is reported later by the reader."""
        relative_path = text(node) or ""
        if posixpath.isabs(relative_path):
            return relative_path
        return posixpath.normpath(posixpath.join(FOLDER, relative_path))

    def as_text(self, parts: Sequence[Part], expression: str) -> str:
        """The expression for these parts, converted to text if it would be a number."""
        one = parts[0] if len(parts) == 1 else ""
        is_number = isinstance(one, Ref) and (
            one.name.startswith("loop.") or one.name.endswith((".exit_code", ".duration"))
        )
        return f"join([{expression}], '')" if is_number else expression

    def meaning(self, node: Node, translation: Translation) -> Meaning:
        def of(ref: Ref) -> str:
            expression = self._expression(ref.name, node)
            if expression is None:
                translation.add_problem(
                    node,
                    15,
                    f'"${{{ref.name}}}" is not defined',
                    "available: item, loop.*, steps.*, context.*, env.*",
                )
                return "''"
            return f"default({expression}, '')" if ref.name in self.optional else expression

        return of

    def _expression(self, name: str, node: Node) -> str | None:
        space, _, remainder = name.partition(".")
        if not remainder:
            return name_of(name) if name in self.item else None
        match space:
            case "loop":
                return LOOP.get(remainder)
            case "context":
                self.read.setdefault(name_of(remainder), node)
                return f"vars.{name_of(remainder)}"
            case "env":
                return f"env.{remainder}"
            case "steps":
                return self._result(remainder)
            case _:
                return f"{name_of(space)}.{remainder}" if space in self.item else None

    def _result(self, remainder: str) -> str | None:
        step, _, result = remainder.rpartition(".")
        if result not in RESULTS:
            return None
        return self.exit_code(step) if result == "exit_code" else f"steps.{self.names[step]}.{result}"


def artifact(step: str, file: str) -> str:
    """The path of a step's output file, as other steps of the file name it."""
    return posixpath.normpath(f"artifacts/{step}/{file}")


def all_steps(steps: tuple[Node, ...]) -> list[Node]:
    """Every step, including those inside loops and blocks, in the order of the file."""
    nested: list[Node] = []
    for step in steps:
        nested.append(step)
        for key in ("for_each", "while", "parallel", "catch"):
            nested += all_steps(inner_steps(fields(step).get(key)))
    return nested


def inner_steps(node: Node | None) -> tuple[Node, ...]:
    """The body of a loop or block: a list of steps, or a map that contains one."""
    if node is None:
        return ()
    inside = fields(node).get("steps", node)
    return inside.value if isinstance(inside.value, tuple) else ()
