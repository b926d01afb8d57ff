"""The expected result of a foreign block: it runs, it is loaded as a setting, or it contradicts itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Key = tuple[str, str, int]
Blocks = Mapping[Key, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    key: Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs(Expectation):
    """A workflow. `text` fills in what the document omits with "..."; `files` are the rest of the project."""

    text: Callable[[Blocks], str]
    steps: tuple[str, ...]
    """The steps in the order they end, without loop rounds and members."""
    status: str = "passed"
    cast: str = "[]\n"
    files: Mapping[str, str | Key] = field(default_factory=dict)
    """File contents, or other blocks."""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    answers: tuple[str, ...] = ()
    """The answers of a person, in order."""
    artifacts: tuple[str, ...] = ()
    repository: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Loads(Expectation):
    """A file other than a workflow, put in its place in a project; a workflow that uses it then has these settings."""

    kind: str
    path: str
    gives: Mapping[str, Any]
    """Values of the resolved document by path."""
    also: tuple[str, ...] = ()
    """Parts of the native form that no resolved workflow contains."""
    user: str = 'podium: 1\nname: uses\nsteps: {one: {run: ["true"]}}\n'
    text: Callable[[str], str] = str
    files: Mapping[str, str | Key] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradicts(Expectation):
    """A block that contradicts itself; `decision` records the choice, `message` is the error the user gets."""

    decision: str
    message: str
    text: Callable[[str], str] = str
