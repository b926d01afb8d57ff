"""What becomes of a foreign block: it runs, it is loaded as something, or it contradicts itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Key = tuple[str, str, int]
Blocks = Mapping[Key, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    key: Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs(Fate):
    """A workflow. `text` completes what the document leaves out by "..."; `files` are the project around it."""

    text: Callable[[Blocks], str]
    story: tuple[str, ...]
    """The steps, in the order they end; without rounds of loops and members."""
    status: str = "passed"
    cast: str = "[]\n"
    files: Mapping[str, str | Key] = field(default_factory=dict)
    """Texts, or other blocks."""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    answers: tuple[str, ...] = ()
    """What a person does when asked, one after the other."""
    artifacts: tuple[str, ...] = ()
    repository: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Loads(Fate):
    """Something else than a workflow, put where a project has it; a workflow that uses it then has these settings."""

    kind: str
    path: str
    gives: Mapping[str, Any]
    """Values of the resolved document by their path in it."""
    also: tuple[str, ...] = ()
    """Parts of the native form that no resolved workflow shows."""
    user: str = 'podium: 1\nname: uses\nsteps: {one: {run: ["true"]}}\n'
    text: Callable[[str], str] = str
    files: Mapping[str, str | Key] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradicts(Fate):
    """It cannot mean what it says; the decision says what was chosen, the message what the user is told."""

    decision: str
    message: str
    text: Callable[[str], str] = str
