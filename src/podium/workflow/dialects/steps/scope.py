"""Resolves names at one place of a steps-format file: steps, context, loop items and paths."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Final

from podium.fast_dataclass import dataclass
from podium.workflow.dialects.steps.places import BlockPath, Places
from podium.workflow.dialects.steps.text import Meaning, Part, Ref
from podium.workflow.dialects.translation import Names, Translation, name_of
from podium.workflow.source.nodes import Node, text

FOLDER: Final = "workspace"
"""The folder where every step starts and which every path is relative to."""

LOOP: Final = {
    "index": "loop.index",
    "total": "loop.total",
    "iteration": "loop.number",
    "elapsed": "loop.elapsed",
}
RESULTS: Final = ("exit_code", "output", "duration")
WORD: Final = re.compile(r"[\w -]+(\.|$)")
"""What a name begins with; anything else in braces is probably meant for a shell."""
OWN: Final = "\0"
"""Begins the names of steps and variables that the translation adds, so that none is one of the file."""


@dataclass(frozen=True, slots=True)
class Jump:
    """A way out of a loop: to a step around it, to the end of the run, or to its failure."""

    label: str
    """What the variable `jump` is set to."""
    target: str
    """The name of the step in the file; empty for `end` and `error`."""


@dataclass(frozen=True, slots=True)
class Scope:
    names: Names
    """Every step of the file."""
    variables: Names
    """Every key of the context, and the variables that the translation adds."""
    without_process: frozenset[str]
    """The steps that are done by an agent, or that are blocks or set values: these have no exit code of their own."""
    without_output: frozenset[str]
    """The steps that are blocks or set values."""
    failing: frozenset[str]
    """The steps after whose failure the run can go on."""
    places: Places
    step: str = ""
    """The step that this is the scope of."""
    block: BlockPath = ()
    """The loops and parallel blocks around it."""
    read: dict[str, Node] = field(default_factory=dict)
    """Keys of the context that are read, each with a place that reads it."""
    env: set[str] = field(default_factory=set)
    """Environment variables that a condition checks."""
    kept_results: dict[str, set[str]] = field(default_factory=dict)
    """Results that are read where the native language cannot see them, and so are kept in variables."""
    jumps: dict[Jump, None] = field(default_factory=dict)
    """The ways out of the surrounding loop that its body takes."""
    added: dict[str, Node] = field(default_factory=dict)
    """Steps that the translation adds at the end of the surrounding block."""
    item: tuple[str, ...] = ()
    """The item names of the loops around the step."""
    is_soft: bool = False
    """Whether a failure that is routed out of an iteration has to count as passed."""
    optional: frozenset[str] = frozenset()
    """References that may be missing in this step."""

    @property
    def folder(self) -> str:
        return FOLDER

    @property
    def in_loop(self) -> bool:
        return bool(self.block) and not self.places.is_parallel(self.block)

    @property
    def in_parallel(self) -> bool:
        return self.places.is_parallel(self.block)

    @property
    def can_jump(self) -> bool:
        """Whether the run can go from here to the top level: no parallel block is in between."""
        return not any(self.places.is_parallel(self.block[:depth]) for depth in range(len(self.block) + 1))

    def results_to_keep(self, step: str) -> list[str]:
        """The step itself, or the steps of a parallel block, whose results have to be kept when `step` ends."""
        return [
            name
            for name in self.kept_results
            if name == step or (name in self.places and self.places.outermost_parallel(name) == step)
        ]

    def way_to(self, step: str, block: str) -> str:
        """How an expression reaches a step from beside the parallel block `block` that it is in."""
        around = self.places[step].block
        if block not in around:
            return ""
        return "".join(f"steps.{self.names[name]}." for name in around[around.index(block) :])

    def inside(self, item: str | None, *, is_soft: bool) -> Scope:
        """The scope of the body of this step, if it is a loop."""
        return replace(
            self,
            block=(*self.block, self.step),
            item=(*self.item, *([item] if item else [])),
            jumps={},
            added={},
            is_soft=is_soft,
        )

    def added_step(self, words: str) -> str:
        return self.names.add(f"{OWN}{words}")

    def added_variable(self, words: str) -> str:
        return self.variables.add(f"{OWN}{words}")

    def kept_variable(self, step: str, result: str) -> str:
        return self.added_variable(f"{step} {result}")

    def passed(self, step: str) -> str:
        outcome = self._read(step, "outcome", self.places.is_before)
        return f"default({outcome}, 'none') == 'passed'"

    def exit_code(self, step: str) -> str:
        """The exit code, which is missing if the step may not have run."""
        return self._read(step, "exit_code", self.places.is_before)

    def _read(self, step: str, result: str, is_visible: Callable[[str, str], bool]) -> str:
        """The expression for a result of a step, as this place can see it."""
        if is_visible(step, self.step):
            return self.own_result(step, result)
        block = self.places.outermost_parallel(step)
        if block and is_visible(block, self.step):
            return self.own_result(step, result, self.way_to(step, block))
        self.kept_results.setdefault(step, set()).add(result)
        return f"vars.{self.kept_variable(step, result)}"

    def own_result(self, step: str, result: str, around: str = "") -> str:
        """The expression for a result of a step in its own block, or in the parallel block `around`."""
        base = f"{around}steps.{self.names[step]}"
        if result == "exit_code" and step in self.without_process:
            return f"(0 if {base}.outcome == 'passed' else 1)"
        if result == "output" and step in self.failing:
            return f"default({base}.output, strip({base}.text))"
        return f"{base}.{result}"

    def path(self, node: Node) -> str:
        """A path from the root of the project; a path that leaves the project is reported later by the reader."""
        relative_path = below_folder(text(node) or "")
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
                translation.add_problem(node, 15, f'"${{{ref.name}}}" is not defined', self._hint(ref.name))
                return "''"
            return f"default({expression}, '')" if ref.name in self.optional else expression

        return of

    def _hint(self, name: str) -> str:
        step, _, result = name.removeprefix("steps.").rpartition(".")
        if result == "output" and step in self.without_output:
            return f'"{step}" prints nothing: read the output of a command or provider'
        if not WORD.match(name):
            return f'write "$${{{name}}}" for the text "${{{name}}}"'
        return "available: item, loop.*, steps.*, context.*, env.*"

    def _expression(self, name: str, node: Node) -> str | None:
        space, _, remainder = name.partition(".")
        if not remainder:
            return name_of(name) if name in self.item else None
        match space:
            case "loop":
                return LOOP.get(remainder)
            case "context":
                variable = self.variables.add(remainder)
                self.read.setdefault(variable, node)
                return f"vars.{variable}"
            case "env":
                return f"env.{remainder}"
            case "steps":
                return self._result(remainder)
            case _:
                return f"{name_of(space)}.{remainder}" if space in self.item else None

    def _result(self, remainder: str) -> str | None:
        step, _, result = remainder.rpartition(".")
        if result not in RESULTS or step not in self.places:
            return None
        if result == "output" and step in self.without_output:
            return None
        return self._read(step, result, self.places.has_run)


def below_folder(path: str) -> str:
    """Artifacts may also be named from the root of the project, as the document does in one place."""
    return path.removeprefix(f"{FOLDER}/") if path.startswith(f"{FOLDER}/artifacts/") else path
