"""Generated role hierarchies over several layers, compared with a plain model of the rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.workflow.merge.role_inheritance import effective_roles
from podium.workflow.source.nodes import Node, SourceLocation, node_from_value, plain

NAMES = ("a", "b", "c", "d")
LISTS = ("tools", "strengths")
words = st.sampled_from(["x", "y", "z"])
lists = st.lists(words, max_size=3, unique=True)
definitions = st.fixed_dictionaries(
    {},
    optional={
        "extends": st.sampled_from([*NAMES, "ghost"]),
        "model": words,
        "tools": lists,
        "strengths": lists,
        "with": st.dictionaries(words, words, max_size=2),
        "context": st.fixed_dictionaries({}, optional={"include": lists, "exclude": lists}),
        "system": words,
        "replace": st.lists(
            st.sampled_from(["model", "tools", "with", "system", "context"]), max_size=2, unique=True
        ),
    },
)
families = st.lists(st.dictionaries(st.sampled_from(NAMES), definitions, min_size=1), min_size=1, max_size=3)

Definition = Mapping[str, Any]
Layers = Sequence[Mapping[str, Definition]]


class Broken(Exception):
    """The ancestry of a role has a cycle or a missing parent."""


def ancestry_of(name: str, layers: Layers, level: int, path: tuple[str, ...]) -> list[Definition]:
    """The definitions of a role, the most distant ancestor first, by the documented rules."""
    at = next((at for at in range(level - 1, -1, -1) if name in layers[at]), None)
    if at is None:
        return []
    definition = layers[at][name]
    parent = definition.get("extends")
    if parent in (None, name):
        below = ancestry_of(name, layers, at, path)
        if parent == name and not below:
            raise Broken("extends itself")
    elif parent in path:
        raise Broken("extends itself")
    else:
        below = ancestry_of(parent, layers, len(layers), (*path, name))
        if not below:
            raise Broken(f'"{name}" extends "{parent}", which does not exist')
    return [*below, definition]


def expected(line: Sequence[Definition]) -> dict[str, Any]:
    actual: dict[str, Any] = {}
    for definition in line:
        for key in definition.get("replace", []):
            actual.pop(key, None)
        for key, value in definition.items():
            if key in LISTS:
                actual[key] = list(dict.fromkeys([*actual.get(key, []), *value]))
            elif key == "with":
                actual[key] = {**actual.get(key, {}), **value}
            elif key == "context":
                old = actual.get(key, {})
                actual[key] = {
                    **old,
                    **{part: list(dict.fromkeys([*old.get(part, []), *value[part]])) for part in value},
                }
            elif key == "system":
                actual[key] = f"{actual[key].rstrip()}\n\n{value}\n" if key in actual else value
            elif key not in ("extends", "replace"):
                actual[key] = value
    context = actual.get("context", {})
    if "include" in context:
        gone = context.get("exclude", [])
        context = {**context, "include": [item for item in context["include"] if item not in gone]}
        actual["context"] = context
    return actual


def layer_nodes(layers: Layers) -> list[dict[str, Node]]:
    """Layers as nodes: each layer is a file, each of its roles one line."""
    return [
        {
            name: node_from_value(definition, SourceLocation(f"{at}.yaml", number, 1))
            for number, (name, definition) in enumerate(layer.items())
        }
        for at, layer in enumerate(layers)
    ]


@pytest.mark.req("R073", "R075", "C25")
@settings(max_examples=200)
@given(families)
def test_two_hundred_hierarchies_follow_the_rules_or_report_the_fault(layers: Layers) -> None:
    for name in sorted({name for layer in layers for name in layer}):
        roles = effective_roles([name], layer_nodes(layers), texts={})
        line, broken = ancestry_or_fault(name, layers)
        if broken:
            (problem,) = roles.problems
            assert broken in problem.message
            says = list(layers[int(problem.file[0])].values())[problem.line]
            assert "extends" in says, "the place is that of the word that leads nowhere"
        else:
            assert roles.problems == ()
            assert plain(roles.nodes[name]) == expected(line)


def ancestry_or_fault(name: str, layers: Layers) -> tuple[list[Definition], str]:
    try:
        return ancestry_of(name, layers, len(layers), ()), ""
    except Broken as broken:
        return [], str(broken)


@settings(max_examples=200)
@given(families)
def test_every_value_names_a_definition_that_sets_it(layers: Layers) -> None:
    names = sorted({name for layer in layers for name in layer})
    for node in effective_roles(names, layer_nodes(layers), texts={}).nodes.values():
        for path, leaf in leaves_of(node, ()):
            for place in (*leaf.other_places, leaf.place):
                definition: Any = list(layers[int(place.file[0])].values())[place.line]
                for part in path:
                    definition = definition[part] if isinstance(part, str) else definition
                text = str(leaf.value)
                assert leaf.value in definition if isinstance(definition, list) else str(definition) in text


def leaves_of(node: Node, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Node]]:
    if isinstance(node.value, Mapping):
        for key, inner in node.value.items():
            yield from leaves_of(inner, (*path, key))
    elif isinstance(node.value, tuple):
        for number, inner in enumerate(node.value):
            yield from leaves_of(inner, (*path, number))
    else:
        yield path, node


@pytest.mark.parametrize("length", [2, 3, 7])
def test_a_cycle_of_any_length_is_reported_once_with_its_path(length: int) -> None:
    names = [f"r{number}" for number in range(length)]
    layer = {
        name: node_from_value({"extends": names[(at + 1) % length]}, SourceLocation("f.yaml", at + 1, 1))
        for at, name in enumerate(names)
    }

    (problem,) = effective_roles(names, [layer], texts={}).problems

    assert problem.hint == " -> ".join([*names, "r0"])
