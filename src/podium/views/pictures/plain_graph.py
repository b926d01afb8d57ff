"""Draws named boxes and the edges between them: as a picture, for Mermaid and for Graphviz. Knows nothing of workflows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from podium.core.types import Address
from podium.views.pictures.channels import place_graph
from podium.views.pictures.figure import Box, Figure, Row
from podium.views.plain import cells, cut_to_cells, one_line

WIDEST = 44


class PlainNode(NamedTuple):
    name: str
    notes: tuple[str, ...] = ()


class PlainEdge(NamedTuple):
    """From a box to one that it depends on; edges that are `back` close a circle and are drawn as a line of text."""

    source: str
    target: str
    label: str = ""
    back: bool = False


def figure(nodes: Sequence[PlainNode], edges: Sequence[PlainEdge]) -> Figure:
    """What others depend on is above them. The edges that are not `back` make no circle."""
    index = {node.name: number for number, node in enumerate(nodes)}
    needs = [
        [index[edge.target] for edge in edges if edge.source == node.name and not edge.back] for node in nodes
    ]
    parts = [
        _box(node, [f"back to {edge.target}" for edge in edges if edge.source == node.name and edge.back])
        for node in nodes
    ]
    return place_graph(parts, needs, ["all"] * len(nodes))


def _box(node: PlainNode, exits: Sequence[str]) -> Figure:
    texts = [
        ("title", node.name),
        *(("note", note) for note in node.notes),
        *(("exit", text) for text in exits),
    ]
    path = Address(node.name)
    rows = tuple(
        Row(number + 1, kind, cut_to_cells(one_line(text, 400), WIDEST), path)  # type: ignore[arg-type]  # the three kinds above
        for number, (kind, text) in enumerate(texts)
    )
    width = max(cells(row.text) for row in rows) + 4
    box = Box(path, "step", 0, 0, width, len(rows) + 2, rows)
    return Figure(width, box.height, (box,))


def as_mermaid(nodes: Sequence[PlainNode], edges: Sequence[PlainEdge]) -> str:
    index = {node.name: f"c{number}" for number, node in enumerate(nodes)}
    lines = ["flowchart TD"]
    for node in nodes:
        label = "<br/>".join((node.name, *node.notes)).replace('"', "#quot;")
        lines.append(f'  {index[node.name]}["{label}"]')
    for edge in edges:
        label = f'|"{edge.label}"|' if edge.label else ""
        lines.append(f"  {index[edge.source]} {'-.->' if edge.back else '-->'}{label} {index[edge.target]}")
    return "\n".join(lines) + "\n"


def as_dot(title: str, nodes: Sequence[PlainNode], edges: Sequence[PlainEdge]) -> str:
    lines = [f"digraph {_dot(title)} {{", "  node [shape=box, style=rounded]"]
    lines += [f"  {_dot(node.name)} [label={_dot(chr(10).join((node.name, *node.notes)))}]" for node in nodes]
    for edge in edges:
        style = ", style=dashed" if edge.back else ""
        lines.append(f"  {_dot(edge.source)} -> {_dot(edge.target)} [label={_dot(edge.label)}{style}]")
    return "\n".join([*lines, "}"]) + "\n"


def _dot(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
