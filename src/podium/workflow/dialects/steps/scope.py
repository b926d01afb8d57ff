"""What a name means at one place of a file in the steps format: steps, context, items of loops, and paths."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from podium.core.fast_dataclass import dataclass
from podium.workflow.dialects.steps.shims import Shim
from podium.workflow.dialects.steps.text import Meaning, Part, Ref
from podium.workflow.dialects.translation import Names, Translation, name_of
from podium.workflow.source.nodes import Node, fields, text

FOLDER: Final = "workspace"
"""Where every step starts and where every path begins."""

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
    """Those steps that are done by an agent, which has no exit code."""
    files: Mapping[str, str]
    """What steps leave behind: the path below the folder, and the step."""
    shims: Mapping[Shim, str]
    """What the agents are called that are programs of their own."""
    read: dict[str, Node] = field(default_factory=dict)
    """Keys of the context that something reads, and where."""
    env: set[str] = field(default_factory=set)
    """Variables of the environment that a condition asks about."""
    item: tuple[str, ...] = ()
    """Items of the loops around."""
    in_loop: bool = False
    leave: str | None = None
    """The step of the loop around that ends it as passed, where one has to."""
    optional: frozenset[str] = frozenset()
    """References that may be missing at this step."""

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
        """The step that leaves this file behind, if one does."""
        return self.files.get(posixpath.normpath(path.removeprefix(f"{FOLDER}/")))

    def path(self, node: Node) -> str:
        """A path from the root of the project; what leaves it does so here too, and the reader says it."""
        written = text(node) or ""
        if posixpath.isabs(written):
            return written
        return posixpath.normpath(posixpath.join(FOLDER, written))

    def spelled(self, parts: Sequence[Part], expression: str) -> str:
        """The expression of these parts as a text, where it would be a number."""
        one = parts[0] if len(parts) == 1 else ""
        is_number = isinstance(one, Ref) and (
            one.name.startswith("loop.") or one.name.endswith((".exit_code", ".duration"))
        )
        return f"join([{expression}], '')" if is_number else expression

    def meaning(self, node: Node, page: Translation) -> Meaning:
        def of(ref: Ref) -> str:
            known = self._expression(ref.name, node)
            if known is None:
                page.complain(
                    node,
                    15,
                    f'"${{{ref.name}}}" names nothing',
                    "known: item, loop.*, steps.*, context.*, env.*",
                )
                return "''"
            return f"default({known}, '')" if ref.name in self.optional else known

        return of

    def _expression(self, name: str, node: Node) -> str | None:
        space, _, rest = name.partition(".")
        if not rest:
            return name_of(name) if name in self.item else None
        match space:
            case "loop":
                return LOOP.get(rest)
            case "context":
                self.read.setdefault(name_of(rest), node)
                return f"vars.{name_of(rest)}"
            case "env":
                return f"env.{rest}"
            case "steps":
                return self._result(rest)
            case _:
                return f"{name_of(space)}.{rest}" if space in self.item else None

    def _result(self, rest: str) -> str | None:
        step, _, result = rest.rpartition(".")
        if result not in RESULTS:
            return None
        return self.exit_code(step) if result == "exit_code" else f"steps.{self.names[step]}.{result}"


def artifact(step: str, file: str) -> str:
    """Where a step's output file lies, as other steps of such a file name it."""
    return posixpath.normpath(f"artifacts/{step}/{file}")


def all_steps(steps: tuple[Node, ...]) -> list[Node]:
    """Every step, those of loops and blocks too, in the order of the file."""
    found: list[Node] = []
    for step in steps:
        found.append(step)
        for key in ("for_each", "while", "parallel", "catch"):
            found += all_steps(inner_steps(fields(step).get(key)))
    return found


def inner_steps(node: Node | None) -> tuple[Node, ...]:
    """The body of a loop or block: a list of steps, or a map that has one."""
    if node is None:
        return ()
    inside = fields(node).get("steps", node)
    return inside.value if isinstance(inside.value, tuple) else ()
