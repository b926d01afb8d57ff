"""Puts the new steps of a child into the order of its parent, and leads the way through them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from podium.core.fast_dataclass import dataclass
from podium.workflow.problems import Problem, did_you_mean
from podium.workflow.source.nodes import Node, fields, text, with_field

Block = Mapping[str, Node]


@dataclass(frozen=True, slots=True)
class Placed:
    steps: Block
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class _Neighbours:
    """New steps by the step they are placed at, each group in the order of the file."""

    before: Mapping[str, tuple[str, ...]]
    after: Mapping[str, tuple[str, ...]]

    def around(self, name: str) -> Iterator[str]:
        yield from self.group(self.before.get(name, ()))
        yield name
        yield from self.group(self.after.get(name, ()))

    def group(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(found for name in names for found in self.around(name))


def insert_new_steps(old: Block, steps: Block, said: Block) -> Placed:
    """`steps` in order. `old` are the parent's, already in order; `said` are those the child speaks of.

    Where nothing was before, the order of the file counts, so that a template is a file like any other.
    """
    new = {name: node for name, node in said.items() if name not in old}
    problems = [*_misplaced(old, new, steps), *_moved(old, said)]
    loose = tuple(name for name, node in new.items() if _anchor(node, steps) is None)
    neighbours = _Neighbours(_grouped(new, "before", steps), _grouped(new, "after", steps))
    order = neighbours.group((*old, *loose))
    circular = [name for name in new if name not in order]
    problems += _circular(circular, new)
    rewired = _rewired({name: steps[name] for name in (*order, *circular)}, old, said, neighbours)
    return Placed(rewired, tuple(problems))


def _anchor(node: Node, steps: Block) -> tuple[str, str] | None:
    """The word and the step that say where a new step goes; None if it does not say, or not well."""
    found = [(word, name) for word in ("after", "before") if (name := text(fields(node).get(word)))]
    return found[0] if len(found) == 1 and found[0][1] in steps else None


def _grouped(new: Block, word: str, steps: Block) -> dict[str, tuple[str, ...]]:
    groups: dict[str, tuple[str, ...]] = {}
    for name, node in new.items():
        anchor = _anchor(node, steps)
        if anchor is not None and anchor[0] == word:
            groups[anchor[1]] = (*groups.get(anchor[1], ()), name)
    return groups


def _misplaced(old: Block, new: Block, steps: Block) -> Iterator[Problem]:
    for name, node in new.items():
        words = [word for word in ("after", "before") if word in fields(node)]
        # In a graph the needs of a step say where it comes.
        if not words and old and "needs" not in fields(node):
            hint = f"say after: {list(old)[-1]}, or another step it follows"
            yield Problem(*node.key, 33, f'new step "{name}" needs after or before', hint)
        if len(words) == 2:
            hint = "one of them says it all"
            yield Problem(*fields(node)["before"].key, 33, f'new step "{name}" has after and before', hint)
        for word in words:
            target = fields(node)[word]
            wanted = text(target)
            if wanted is not None and wanted not in steps:
                message = f'{word} of "{name}": step "{wanted}" does not exist in this block'
                yield Problem(*target.place, 33, message, did_you_mean(wanted, steps))


def _moved(old: Block, said: Block) -> Iterator[Problem]:
    for name, node in said.items():
        for word in ("after", "before"):
            if name in old and word in fields(node):
                message = f'"{name}" is not new; {word} places only new steps'
                hint = "disable it and add a step of another name in the other place"
                yield Problem(*fields(node)[word].key, 33, message, hint)


def _circular(names: list[str], new: Block) -> Iterator[Problem]:
    if names:
        circle = " and ".join(f'"{name}"' for name in names)
        fact = "is placed at itself" if len(names) == 1 else "are placed at each other"
        yield Problem(*new[names[0]].key, 33, f"{circle} {fact}", "name a step that is already there")


def _rewired(steps: dict[str, Node], old: Block, said: Block, neighbours: _Neighbours) -> Block:
    """Sends `passed` through new steps: X -> Y becomes X -> new -> Y also where X names Y.

    Only `passed`: a failure that leads back to X is to do X again, not what was put before it.
    """
    for name in old:
        route = _inherited_route(name, old, said)
        if route is None or text(route) == "next":
            continue
        behind = neighbours.group(neighbours.after.get(name, ()))
        ahead = neighbours.group(neighbours.before.get(text(route) or "", ()))
        onward = replace(route, value=ahead[0]) if ahead else route
        if behind and "passed" not in fields(fields(steps[behind[-1]]).get("on")):
            steps[behind[-1]] = _with_passed(steps[behind[-1]], onward)
        steps[name] = _with_passed(steps[name], replace(route, value=behind[0]) if behind else onward)
    return steps


def _inherited_route(name: str, old: Block, said: Block) -> Node | None:
    """Where a step of the parent leads when it passed, unless the child has its own word about it."""
    own = fields(fields(said.get(name)).get("on"))
    return None if "passed" in own else fields(fields(old[name]).get("on")).get("passed")


def _with_passed(step: Node, route: Node) -> Node:
    on = fields(step).get("on") or Node({}, route.place, route.key)
    return with_field(step, "on", with_field(on, "passed", route))
