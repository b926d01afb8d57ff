"""Shared by all dialects: new nodes at existing places, native names, problems, and notes for `podium convert`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from podium.fast_dataclass import dataclass
from podium.workflow.dialects.key_register import Part, is_harmless
from podium.workflow.problems import EFFECT_RULE, Problem, did_you_mean
from podium.workflow.source.nodes import Node, SourceLocation, fields

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})

TASK_PROMPT: Final = "{{ inputs.task }}"
PLAN_PROMPT: Final = "{{ inputs.task }}\n{{ steps.plan.output | json }}"
"""The prompt of a step that gets the plan; a file cannot tell whether the template it extends has one."""
PLAN_TITLE: Final = "${{ steps.plan.output.title }}"
TASK_TITLE: Final = "${{ inputs.task }}"

LOOP_RULES: Final = ("visits", "cycle", "repeat", "plateau", "reversals")
"""The rules of a breaker that Podium ships."""

REVIEW_FORM: Final = "as_review"
"""The key of a translated step for its `ReviewForm`."""

Kind: TypeAlias = Literal["workflow", "configuration", "role", "feature"]
"""What a file is read as; its location decides that, not its content."""


@dataclass(frozen=True, slots=True)
class ReviewForm:
    """A step as a review, for when its role turns out to be a reviewer; no text of a file has this type."""

    step: Node


NEXT_STEP: Final = "next_step"
"""The key of a translated step for its `NextStep`."""
QUOTED: Final = re.compile(r"'[^']*'")
SHELL_SIGN: Final = re.compile(r"\$[\w({]|`|^~|^\w+=|^[^\"]*[*?]")
APPROVAL: Final = "_approval"
"""Ends the name of the step that asks a person before another one."""


@dataclass(frozen=True, slots=True)
class NextStep:
    """The step that one of a template's child leads to; the merged order shows whether it follows anyway."""

    name: str


@dataclass(slots=True)
class Translation:
    """Collects the problems and notes of one translated file."""

    problems: list[Problem] = field(default_factory=list)
    notes: list[tuple[SourceLocation, str]] = field(default_factory=list)
    """What looks different in the native file although nothing is lost; `podium convert` writes it as comments."""

    def add_problem(self, node: Node, rule: int, message: str, hint: str = "") -> None:
        self.problems.append(Problem(*node.place, rule, message, hint))

    def add_note(self, node: Node, text: str) -> None:
        self.notes.append((node.key, text))

    def add_warning(self, node: Node, message: str, hint: str = "") -> None:
        """Reports what has no effect, at the place of its key."""
        self.problems.append(Problem(*node.key, EFFECT_RULE, message, hint, warning=True))

    def check_part(self, node: Node, thing: str, part: Part) -> None:
        """Reports unknown, refused and ineffective keys of one mapping, and anything else in its place."""
        if node.value is not None and not isinstance(node.value, Mapping):
            self.problems.append(Problem(*node.place, 2, f"{thing} must be a map of keys", ""))
        for name, value in fields(node).items():
            key = part.keys.get(name)
            if key is None:
                message, hint = f'{thing} has an unknown key "{name}"', did_you_mean(name, part)
                self.problems.append(Problem(*value.key, 3, message, hint))
            elif key.fate == "refused":
                message = f'{thing} cannot have "{name}": {key.meaning}'
                self.problems.append(Problem(*value.key, 3, message, key.instead))
            elif key.fate == "no effect" and not is_harmless(key, value.value):
                self.add_warning(value, f'"{name}" of {thing} has no effect: {key.meaning}')


Translator: TypeAlias = Callable[[Node, Kind, Translation], Node | None]
"""Returns the native document for a file of another format; None if the file is not of this format."""


def new_node(value: Any, near: Node) -> Node:
    """A tree for a value that was not in the file and takes its place from `near`; nodes inside keep their own places.

    A key whose value is None is omitted.
    """
    if isinstance(value, Node):
        return value
    if isinstance(value, Mapping):
        inner = {str(key): new_node(item, near) for key, item in value.items() if item is not None}
        return Node(inner, near.place, near.key)
    if isinstance(value, list | tuple):
        return Node(tuple(new_node(item, near) for item in value), near.place, near.key)
    return Node(value, near.place, near.key)


def name_of(foreign_name: str) -> str:
    """The native form of a foreign name: `CrossAudit` and `cross-audit` become `cross_audit`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", foreign_name)
    name = re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")
    return name if name[:1].isalpha() else f"x_{name}".rstrip("_")


class Names:
    """Foreign names with their native names; a number is appended where two would become the same."""

    def __init__(
        self,
        foreign_names: Iterable[str] = (),
        *,
        native_names: Mapping[str, str] = NOTHING,
        reserved: Iterable[str] = (),
    ) -> None:
        """`native_names` are those that already have a native name, `reserved` are words that cannot be one."""
        self._names: dict[str, str] = dict(native_names)
        self._reserved = frozenset(reserved)
        for foreign_name in foreign_names:
            self.add(foreign_name)

    def add(self, foreign_name: str) -> str:
        if foreign_name in self._names:
            return self._names[foreign_name]
        base = name_of(foreign_name)
        used = {*self._names.values(), *self._reserved}
        candidates = (base if number == 1 else f"{base}_{number}" for number in range(1, len(used) + 2))
        name = self._names[foreign_name] = next(name for name in candidates if name not in used)
        return name

    def get(self, foreign_name: str) -> str | None:
        return self._names.get(foreign_name)

    def items(self) -> Iterable[tuple[str, str]]:
        """Each foreign name with its native name."""
        return tuple(self._names.items())

    def __getitem__(self, foreign_name: str) -> str:
        """The native name; an unknown name is only converted, and the reader then reports that it is missing."""
        return self._names.get(foreign_name, name_of(foreign_name))


def needs_shell(line: str) -> bool:
    """Whether a line has operators, redirections or wildcards outside of quotes, or variables outside of single quotes."""
    try:
        words = shlex.shlex(line, posix=False, punctuation_chars="();<>|&")
        words.whitespace_split = True
        listed = list(words)
    except ValueError:
        return True
    return any(
        set(word) <= set("();<>|&") or bool(SHELL_SIGN.search(QUOTED.sub("", word))) for word in listed
    )


def shell_command(command: Node) -> Any:
    """A line of a shell as the value of `run`: its words, or a script if it needs a shell."""
    return {"script": command} if needs_shell(str(command.value)) else command


def without_rules(near: Node, *names: str) -> dict[str, Node]:
    """A breaker without rules that Podium ships, for a format whose files say themselves when a loop ends."""
    return {name: Node(None, near.place, near.key) for name in names or LOOP_RULES}


def labels_of_steps(labels: Mapping[str, str]) -> dict[str, Any] | None:
    """The `labels` of a workflow: what its author calls each step, by native name; None if it is the same for all."""
    return None if all(native == label for native, label in labels.items()) else {"steps": labels}


def seconds(node: Node | None) -> Any:
    """A number of seconds as a duration; any other value is left for the reader to check."""
    if node is None or isinstance(node.value, bool) or not isinstance(node.value, int):
        return node
    total = node.value
    for unit, size in (("h", 3600), ("m", 60)):
        if total and total % size == 0:
            return new_node(f"{total // size}{unit}", node)
    return new_node(f"{total}s", node)


def one_more(count: Node) -> Any:
    """A number of retries as a number of attempts; any other value is left for the reader to check."""
    return count.value + 1 if isinstance(count.value, int) else count


def filled(entries: Mapping[str, Any]) -> dict[str, Any] | None:
    """The entries that have a value; None if none has."""
    return {key: value for key, value in entries.items() if value is not None} or None
