"""Maps the engine's names of steps and gates to the ids in a file of the gates format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Final

from podium.fast_dataclass import dataclass
from podium.workflow.dialects.gates.labels import labels_of
from podium.workflow.source.files import tree_from_document
from podium.workflow.source.yaml import load

USED_UP: Final = "!exhausted"
_INSIDE: Final = re.compile(r"([^/~#\[]+)(?:~\d+)?#\d+/([^/~#\[]+)")
_ALONE: Final = re.compile(r"([^/~#\[]+)(?:~\d+)?")


@dataclass(frozen=True, slots=True)
class GateLabels:
    """The ids of a file by the engine's names, and its text."""

    id: str
    text: str
    steps: Mapping[str, str]
    gates: Mapping[str, str]
    """The key is `step/gate` for a gate inside a step, and the name for a gate that is a step of its own."""
    context_paths: Mapping[str, str] = field(default_factory=dict)
    """`retry_context_path` by the id of the gate, below the folder."""
    by_people: frozenset[str] = frozenset()
    """Files below the folder that people write, so Podium does not write them next to theirs."""


def read_labels(text: str) -> GateLabels | None:
    """None for a file of another format."""
    node = tree_from_document(load(text, name=""), Path()).node
    labels = None if node is None else labels_of(node)
    return (
        None
        if labels is None
        else GateLabels(labels.id, text, labels.steps, labels.gates, labels.context_paths, labels.by_people)
    )


def gate_of(path: str, labels: GateLabels) -> str | None:
    """The id of the gate at an address, also of the question after its last retry; None if there is no gate."""
    inside = _INSIDE.fullmatch(path)
    if inside is not None and inside[2] == USED_UP:
        own = labels.gates.get(inside[1])
        inner = (gate for name, gate in labels.gates.items() if name.startswith(f"{inside[1]}/"))
        return own or next(inner, None)
    if inside is not None:
        return labels.gates.get(f"{inside[1]}/{inside[2]}")
    alone = _ALONE.fullmatch(path)
    return None if alone is None else labels.gates.get(alone[1])


def is_step(path: str) -> bool:
    """Whether the address is that of a step of the file, not of something inside a step."""
    return _ALONE.fullmatch(path) is not None


def file_name(label: str) -> str:
    """A file name for an id, which may be any text; the name never leads out of its folder."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", label).lstrip(".") or "_"
