"""What every dialect works with: new nodes at old places, names, complaints, and notes for the person who converts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from podium.core.fast_dataclass import dataclass
from podium.workflow.problems import Problem, did_you_mean
from podium.workflow.source.nodes import Node, SourceLocation, fields

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})

Kind: TypeAlias = Literal["workflow", "configuration", "role", "feature"]
"""As what a file is read: where it stands decides that, not what is in it."""


@dataclass(slots=True)
class Translation:
    """Collects what is to be said about one file."""

    problems: list[Problem] = field(default_factory=list)
    notes: list[tuple[SourceLocation, str]] = field(default_factory=list)
    """What has no native form, and what stands for it."""

    def complain(self, node: Node, rule: int, message: str, hint: str = "") -> None:
        self.problems.append(Problem(*node.place, rule, message, hint))

    def note(self, node: Node, text: str) -> None:
        self.notes.append((node.key, text))

    def check_keys(self, node: Node, thing: str, known: Iterable[str]) -> None:
        keys = tuple(known)
        for key, value in fields(node).items():
            if key not in keys:
                hint = did_you_mean(key, keys)
                self.problems.append(Problem(*value.key, 3, f'{thing} has no key "{key}"', hint))


Translator: TypeAlias = Callable[[Node, Kind, Translation], Node | None]
"""The native document for one of another format; None if it is not of this one."""


def new_node(value: Any, near: Node) -> Node:
    """A tree for a value that has no place of its own but stands for `near`; nodes inside keep theirs.

    A key whose value is None is left out.
    """
    if isinstance(value, Node):
        return value
    if isinstance(value, Mapping):
        inner = {str(key): new_node(item, near) for key, item in value.items() if item is not None}
        return Node(inner, near.place, near.key)
    if isinstance(value, list | tuple):
        return Node(tuple(new_node(item, near) for item in value), near.place, near.key)
    return Node(value, near.place, near.key)


def name_of(written: str) -> str:
    """A native name for a foreign one: `CrossAudit` and `cross-audit` are `cross_audit`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", written)
    name = re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")
    return name if name[:1].isalpha() else f"x_{name}".rstrip("_")


class Names:
    """Foreign names and the native ones they got; two that would become one are told apart by a number."""

    def __init__(self, written: Iterable[str] = (), *, called: Mapping[str, str] = NOTHING) -> None:
        """`called` are those that have their native name already."""
        self._names: dict[str, str] = dict(called)
        for word in written:
            self.add(word)

    def add(self, written: str) -> str:
        if written in self._names:
            return self._names[written]
        wanted = name_of(written)
        taken = set(self._names.values())
        same = (wanted if number == 1 else f"{wanted}_{number}" for number in range(1, len(taken) + 2))
        name = self._names[written] = next(name for name in same if name not in taken)
        return name

    def __getitem__(self, written: str) -> str:
        """The name of a known one; an unknown one is only spelled as a name, and the reader says that it is missing."""
        return self._names.get(written, name_of(written))


def seconds(node: Node | None) -> Any:
    """A number of seconds as a duration; anything else is left for the reader to judge."""
    if node is None or isinstance(node.value, bool) or not isinstance(node.value, int):
        return node
    total = node.value
    for unit, size in (("h", 3600), ("m", 60)):
        if total and total % size == 0:
            return new_node(f"{total // size}{unit}", node)
    return new_node(f"{total}s", node)
