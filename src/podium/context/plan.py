"""What a pack is to contain, and where its texts come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Protocol

from podium.context.facts import FileFacts
from podium.context.manifest import Depth
from podium.context.rank import Ranked
from podium.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Redacted:
    text: str
    matches: int
    """How many secrets were removed."""


class Files(Protocol):
    """The files that may be shown: everything that is excluded, hidden or too large is already gone."""

    @property
    def blobs(self) -> Mapping[str, str]:
        """The hash of the content of each file; "" if it is not known."""

    def read(self, paths: Sequence[str]) -> Mapping[str, bytes]:
        """The contents, in the order of the paths."""

    def facts(self, paths: Sequence[str]) -> Mapping[str, FileFacts]:
        """What is known about those that are code."""


@dataclass(frozen=True, slots=True)
class DiffPiece:
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class PackPlan:
    """What the pack is to contain; every list is in order of importance."""

    depth: Depth
    budget: int
    always: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    """The files the step is about; they are shown with `shows_target`."""
    shows_target: bool = False
    interfaces: tuple[str, ...] = ()
    diff: tuple[DiffPiece, ...] = ()
    changed: tuple[str, ...] = ()
    """Changed files to show beside the diff."""
    include: tuple[str, ...] = ()
    public_api: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    related: tuple[Ranked, ...] = ()
    symbols: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For related files, the definitions that fit the task best."""
    shows_related: bool = False
    shows_tree: bool = False
    only_public: frozenset[str] = frozenset()
    """Files of which nothing but the public form may be shown."""
    task_words: tuple[str, ...] = ()
    command: tuple[str, str] | None = None
    """The name of a program and what it printed, which is packed last."""
    notes: tuple[str, ...] = ()
