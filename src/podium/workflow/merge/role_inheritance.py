"""What a role is once its parents and the layers below are laid under it.

Rule 1: scalars replace, lists append, maps merge, `system` is appended.
Rule 2: `replace: [keys]` drops what was inherited under these keys; `context.exclude` removes what it names.
Rule 3: a role that names no parent, or itself, refines the role of that name in the layers below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Final, TypeAlias

from podium.core.fast_dataclass import dataclass
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
"""The roles that one place defines."""

ROLE_KEYS: Final = known_keys(Role)


@dataclass(frozen=True, slots=True)
class Lineage:
    """The definitions that make up a role, the most distant first."""

    nodes: tuple[Node, ...]
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Roles:
    nodes: Mapping[str, Node]
    problems: tuple[Problem, ...]


def effective_roles(
    names: Iterable[str], layers: Sequence[Layer], *, texts: Mapping[str, str], known: Iterable[str] = ()
) -> Roles:
    """The named roles in full. Layers begin with the most distant; `texts` holds the prompt files by path."""
    candidates = tuple(sorted({*known, *(name for layer in layers for name in layer)}))
    lines = {name: lineage(name, layers, candidates) for name in sorted(set(names))}
    problems = [problem for line in lines.values() for problem in (*line.problems, *_faults(line, texts))]
    join = partial(refined, texts=texts)
    found = {name: settled(reduce(join, line.nodes)) for name, line in lines.items() if line.nodes}
    return Roles(found, tuple(dict.fromkeys(problems)))


def lineage(name: str, layers: Sequence[Layer], known: Sequence[str]) -> Lineage:
    return _below(name, len(layers), layers, known, {})


def _below(
    name: str, level: int, layers: Sequence[Layer], known: Sequence[str], path: Mapping[str, SourceLocation]
) -> Lineage:
    """The role as it is without the layers from `level` on. `path` holds who extended whom on the way here."""
    index = next((at for at in range(level - 1, -1, -1) if name in layers[at]), None)
    if index is None:
        return Lineage(())
    node = layers[index][name]
    parent = fields(node).get("extends")
    wanted = text(parent) or name
    if wanted == name or parent is None:
        below = _below(name, index, layers, known, path)
        if parent is not None and not below.nodes:
            below = Lineage((), (_circle({name: parent.place}),))
    elif wanted in path:
        circle = dict(list({**path, name: parent.place}.items())[list(path).index(wanted) :])
        below = Lineage((), (_circle(circle),))
    else:
        below = _below(wanted, len(layers), layers, known, {**path, name: parent.place})
        if not below.nodes and not below.problems:
            below = Lineage((), (_orphan(name, wanted, parent.place, known),))
    return Lineage((*below.nodes, node), below.problems)


def _circle(path: Mapping[str, SourceLocation]) -> Problem:
    """The same problem whichever of its roles was asked for first."""
    names = list(path)
    start = names.index(min(names))
    names = [*names[start:], *names[:start]]
    hint = " -> ".join((*names, names[0])) if len(names) > 1 else "leave extends out"
    return Problem(*path[names[0]], 21, f'role "{names[0]}" extends itself', hint)


def _orphan(name: str, wanted: str, place: SourceLocation, known: Sequence[str]) -> Problem:
    message = f'role "{name}" extends "{wanted}", which does not exist'
    return Problem(*place, 21, message, did_you_mean(wanted, known))


def _faults(line: Lineage, texts: Mapping[str, str]) -> Iterator[Problem]:
    """What only shows while roles are laid over each other; the rest is seen in the result."""
    for node in line.nodes:
        for item in items(fields(node).get("replace")):
            name = text(item)
            if name is not None and name not in ROLE_KEYS:
                hint = did_you_mean(name, ROLE_KEYS)
                yield Problem(*item.place, 3, f'replace: "{name}" is not a key of a role', hint)
    systems = [system for node in line.nodes if (system := fields(node).get("system")) is not None]
    for system in systems if len(systems) > 1 else ():
        name = text(system)
        if name is not None and is_prompt_file(name) and name not in texts:
            yield Problem(*system.place, 20, f"{name} does not exist")


def refined(base: Node, top: Node, texts: Mapping[str, str]) -> Node:
    """`top` on `base`; both as they are written."""
    dropped = [name for item in items(fields(top).get("replace")) if (name := text(item))]
    inherited = without_keys(base, *dropped)
    system = partial(_joined, texts=texts)
    return merge_maps(inherited, top, merge_appending, {"system": system, "replace": keep_top})


def settled(node: Node) -> Node:
    """A role without the words that only say how it came about, unless they are so wrong that the schema must."""
    said = fields(node)
    done = [key for key, is_sound in (("extends", is_text), ("replace", is_texts)) if is_sound(said.get(key))]
    role = without_keys(node, *done)
    context = fields(role).get("context")
    gone = {text(item) for item in items(fields(context).get("exclude"))}
    if context is None or not gone:
        return role
    for key in ("include", "always"):
        packed = fields(context).get(key)
        if packed is not None and isinstance(packed.value, tuple):
            kept = tuple(item for item in packed.value if text(item) not in gone)
            context = with_field(context, key, replace(packed, value=kept))
    return with_field(role, "context", context)


def _joined(base: Node, top: Node, texts: Mapping[str, str]) -> Node:
    """Both texts with a blank line between; a file is read, since a path cannot stand inside a text."""
    if not isinstance(base.value, str) or not isinstance(top.value, str):
        return top
    parts = [texts.get(part, part).strip("\n") for part in (base.value, top.value)]
    return replace(top, value="\n\n".join(parts) + "\n", other_places=(*base.other_places, base.place))
