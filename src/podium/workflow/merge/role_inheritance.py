"""Merges a role with its parents and with the layers below it.

Rule 1: scalars replace, lists append, maps merge, `system` is appended.
Rule 2: `replace: [keys]` drops the inherited values of these keys; `context.exclude` removes what it names.
Rule 3: a role without a parent, or with itself as parent, refines the role of the same name in the layers below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Final, TypeAlias

from podium.fast_dataclass import dataclass
from podium.workflow.merge.placeholders import KEY as PLACEHOLDERS
from podium.workflow.merge.placeholders import fill_placeholders
from podium.workflow.problems import Problem, did_you_mean
from podium.workflow.schema.fields import known_keys
from podium.workflow.schema.file import Role
from podium.workflow.source.files import is_prompt_file
from podium.workflow.source.nodes import (
    Node,
    SourceLocation,
    fields,
    is_text,
    is_texts,
    items,
    keep_top,
    merge_appending,
    merge_maps,
    text,
    with_field,
    without_keys,
)

Layer: TypeAlias = Mapping[str, Node]
"""The roles that one folder or file defines."""

ROLE_KEYS: Final = known_keys(Role)


@dataclass(frozen=True, slots=True)
class Lineage:
    """The definitions that make up a role, the most distant ancestor first."""

    nodes: tuple[Node, ...]
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Roles:
    nodes: Mapping[str, Node]
    problems: tuple[Problem, ...]


def effective_roles(
    names: Iterable[str], layers: Sequence[Layer], *, texts: Mapping[str, str], role_names: Iterable[str] = ()
) -> Roles:
    """The complete roles. Layers are in ascending precedence; `texts` holds the prompt files by path."""
    candidates = tuple(sorted({*role_names, *(name for layer in layers for name in layer)}))
    lineages = {name: lineage(name, layers, candidates) for name in sorted(set(names))}
    problems = [
        problem
        for ancestry in lineages.values()
        for problem in (*ancestry.problems, *_merge_problems(ancestry, texts))
    ]
    join = partial(refine_role, texts=texts)
    nodes = {
        name: fill_placeholders(strip_merge_keys(reduce(join, ancestry.nodes)), texts)
        for name, ancestry in lineages.items()
        if ancestry.nodes
    }
    return Roles(nodes, tuple(dict.fromkeys(problems)))


def lineage(name: str, layers: Sequence[Layer], role_names: Sequence[str]) -> Lineage:
    return _lineage_below(name, len(layers), layers, role_names, {})


def _lineage_below(
    name: str,
    level: int,
    layers: Sequence[Layer],
    role_names: Sequence[str],
    path: Mapping[str, SourceLocation],
) -> Lineage:
    """The role without the layers from `level` on. `path` maps each role on the way here to its `extends`."""
    index = next((at for at in range(level - 1, -1, -1) if name in layers[at]), None)
    if index is None:
        return Lineage(())
    node = layers[index][name]
    parent = fields(node).get("extends")
    parent_name = text(parent) or name
    if parent_name == name or parent is None:
        below = _lineage_below(name, index, layers, role_names, path)
        if parent is not None and not below.nodes:
            below = Lineage((), (_cycle_problem({name: parent.place}),))
    elif parent_name in path:
        cycle = dict(list({**path, name: parent.place}.items())[list(path).index(parent_name) :])
        below = Lineage((), (_cycle_problem(cycle),))
    else:
        below = _lineage_below(parent_name, len(layers), layers, role_names, {**path, name: parent.place})
        if not below.nodes and not below.problems:
            below = Lineage((), (_missing_parent(name, parent_name, parent.place, role_names),))
    return Lineage((*below.nodes, node), below.problems)


def _cycle_problem(path: Mapping[str, SourceLocation]) -> Problem:
    """The problem does not depend on which role of the cycle was asked for first."""
    names = list(path)
    start = names.index(min(names))
    names = [*names[start:], *names[:start]]
    hint = " -> ".join((*names, names[0])) if len(names) > 1 else "remove extends"
    return Problem(*path[names[0]], 21, f'role "{names[0]}" extends itself', hint)


def _missing_parent(name: str, parent_name: str, place: SourceLocation, role_names: Sequence[str]) -> Problem:
    message = f'role "{name}" extends "{parent_name}", which does not exist'
    return Problem(*place, 21, message, did_you_mean(parent_name, role_names))


def _merge_problems(ancestry: Lineage, texts: Mapping[str, str]) -> Iterator[Problem]:
    """Problems that only merging shows; all others are found in the merged role."""
    for node in ancestry.nodes:
        for item in items(fields(node).get("replace")):
            name = text(item)
            if name is not None and name not in ROLE_KEYS:
                hint = did_you_mean(name, ROLE_KEYS)
                yield Problem(*item.place, 3, f'replace: "{name}" is not a key of a role', hint)
    systems = [system for node in ancestry.nodes if (system := fields(node).get("system")) is not None]
    is_read = len(systems) > 1 or any(PLACEHOLDERS in fields(node) for node in ancestry.nodes)
    for system in systems if is_read else ():
        name = text(system)
        if name is not None and is_prompt_file(name) and name not in texts:
            yield Problem(*system.place, 20, f"{name} does not exist")


def refine_role(base: Node, top: Node, texts: Mapping[str, str]) -> Node:
    """Merges `top` over `base`, both as written."""
    dropped = [name for item in items(fields(top).get("replace")) if (name := text(item))]
    inherited = without_keys(base, *dropped)
    system = partial(_join_texts, texts=texts)
    return merge_maps(inherited, top, merge_appending, {"system": system, "replace": keep_top})


def strip_merge_keys(node: Node) -> Node:
    """A role without the keys that only control merging, unless they are malformed and the schema must report them."""
    keys = fields(node)
    valid = [
        key for key, is_valid in (("extends", is_text), ("replace", is_texts)) if is_valid(keys.get(key))
    ]
    role = without_keys(node, *valid)
    context = fields(role).get("context")
    excluded = {text(item) for item in items(fields(context).get("exclude"))}
    if context is None or not excluded:
        return role
    for key in ("include", "always"):
        included = fields(context).get(key)
        if included is not None and isinstance(included.value, tuple):
            remaining = tuple(item for item in included.value if text(item) not in excluded)
            context = with_field(context, key, replace(included, value=remaining))
    return with_field(role, "context", context)


def _join_texts(base: Node, top: Node, texts: Mapping[str, str]) -> Node:
    """Both texts with a blank line between; the name of a file is replaced by its content."""
    if not isinstance(base.value, str) or not isinstance(top.value, str):
        return top
    parts = [texts.get(part, part).strip("\n") for part in (base.value, top.value)]
    return replace(top, value="\n\n".join(parts) + "\n", other_places=(*base.other_places, base.place))
