"""The ids of a gates-format file by native name, for the files of a run in the format's own words."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from typing import Final

from podium.fast_dataclass import dataclass
from podium.workflow.dialects.gates.pipeline import Pipeline, gate_name, id_of, read_pipeline
from podium.workflow.source.nodes import Node, fields, text

FOLDER: Final = ".workflow/"


@dataclass(frozen=True, slots=True)
class Labels:
    """The ids of a file by native name; a gate inside a step is named `step/gate`."""

    id: str
    steps: Mapping[str, str]
    gates: Mapping[str, str]
    context_paths: Mapping[str, str]
    """`retry_context_path` by the id of the gate, below `.workflow/`."""
    by_people: frozenset[str]
    """Files below `.workflow/` by which people say that their steps are done."""


def labels_of(root: Node) -> Labels | None:
    """None for a file of another format."""
    pipeline = read_pipeline(root)
    if pipeline is None:
        return None
    gates: dict[str, str] = {}
    for step in pipeline.steps:
        gate = pipeline.gates.get(text(fields(step).get("gate")) or "")
        if gate is not None:
            own = pipeline.judges.get(id_of(step))
            gates[own or f"{pipeline.step(id_of(step))}/{gate_name(gate)}"] = id_of(gate)
    steps = {pipeline.step(id_of(step)): id_of(step) for step in pipeline.steps}
    paths = {
        name: path.removeprefix(FOLDER)
        for name, gate in pipeline.gates.items()
        for path in [context_path(gate)]
        if is_context_path(path)
    }
    name = text(fields(fields(root)["workflow"]).get("id")) or "gates"
    return Labels(name, steps, gates, paths, frozenset(_signals_of_people(pipeline)))


def _signals_of_people(pipeline: Pipeline) -> Iterator[str]:
    for step in pipeline.steps:
        launch = text(fields(fields(step).get("agent")).get("launch"))
        value = text(fields(fields(step).get("signal")).get("value")) or ""
        if launch == "interactive" and value.startswith(FOLDER):
            yield value.removeprefix(FOLDER)


def context_path(gate: Node) -> str:
    return text(fields(fields(gate).get("on_fail")).get("retry_context_path")) or ""


def is_context_path(path: str) -> bool:
    """Whether Podium may write the file: below `.workflow/`, which is Podium's and the format's."""
    return path.startswith(FOLDER) and path == posixpath.normpath(path) and path != FOLDER
