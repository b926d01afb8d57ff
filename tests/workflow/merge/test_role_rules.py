"""The rules of role inheritance, on generated hierarchies with scalars, lists, maps and a system text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.workflow.merge.merge import Merged
from podium.workflow.merge.role_inheritance import effective_roles
from podium.workflow.source.nodes import Node, SourceLocation, node_from_value, plain

KEYS = ("model", "timeout")
values = st.sampled_from(["a", "b", "c", "d"])
texts = st.lists(values, max_size=3, unique=True)
definitions = st.fixed_dictionaries(
    {},
    optional={
        "model": values,
        "timeout": values,
        "tools": texts,
        "touches": texts,
        "context": st.fixed_dictionaries({}, optional={"include": texts, "budget": values}),
        "with": st.dictionaries(values, values, max_size=3),
        "system": values,
    },
)
hierarchies = st.lists(definitions, min_size=1, max_size=5)


def family(chain: Sequence[dict[str, Any]]) -> dict[str, Node]:
    """The roles r0 <- r1 <- r2 ..., each on its own line."""
    return {
        f"r{at}": node_from_value(
            {**definition, **({"extends": f"r{at - 1}"} if at else {})}, SourceLocation("f.yaml", at + 1, 1)
        )
        for at, definition in enumerate(chain)
    }


def last_of(chain: Sequence[dict[str, Any]]) -> Node:
    roles = effective_roles([f"r{len(chain) - 1}"], [family(chain)], texts={})
    assert roles.problems == ()
    (node,) = roles.nodes.values()
    return node


@pytest.mark.req("R073")
@given(hierarchies)
def test_every_generated_hierarchy_follows_the_rules(chain: list[dict[str, Any]]) -> None:
    actual = plain(last_of(chain))

    for key in KEYS:
        definition = [role[key] for role in chain if key in role]
        assert actual.get(key) == (definition[-1] if definition else None)
    for key in ("tools", "touches"):
        appended = list(dict.fromkeys(item for role in chain for item in role.get(key, [])))
        assert actual.get(key, []) == appended
    parameters: dict[str, str] = {}
    for role_said in chain:
        parameters |= role_said.get("with", {})
    assert actual.get("with", {}) == parameters
    systems = [role["system"] for role in chain if "system" in role]
    assert "\n\n".join(systems) == actual.get("system", "").rstrip("\n")


@given(hierarchies)
def test_every_value_of_a_role_comes_from_a_definition_that_sets_it(chain: list[dict[str, Any]]) -> None:
    node = last_of(chain)
    merged = Merged(node)

    for path, value in leaves_of(plain(node), ()):
        definition = chain[merged.origin(path).line - 1]
        for part in path:
            if isinstance(part, str):
                definition = definition[part]
        assert (
            value in definition
            if isinstance(path[-1], int)
            else str(value).rstrip("\n").endswith(str(definition))
        )


def leaves_of(value: Any, path: tuple[str | int, ...]) -> list[tuple[tuple[str | int, ...], Any]]:
    pairs = (
        list(value.items())
        if isinstance(value, dict)
        else list(enumerate(value))
        if isinstance(value, list)
        else []
    )
    if not pairs:
        return [] if isinstance(value, dict | list) else [(path, value)]
    return [leaf for key, inner in pairs for leaf in leaves_of(inner, (*path, key))]


@given(hierarchies, st.data())
def test_a_hierarchy_may_be_merged_in_two_parts(chain: list[dict[str, Any]], data: st.DataObject) -> None:
    """Extending a merged role gives the same result as merging the whole chain."""
    cut = data.draw(st.integers(1, len(chain)))
    below = plain(last_of(chain[:cut]))

    assert plain(last_of([below, *chain[cut:]])) == plain(last_of(chain))


@given(hierarchies)
def test_layers_are_merged_like_parents(chain: list[dict[str, Any]]) -> None:
    layers = [{"r": node_from_value(definition, SourceLocation("f.yaml", 1, 1))} for definition in chain]

    assert plain(effective_roles(["r"], layers, texts={}).nodes["r"]) == plain(last_of(chain))
