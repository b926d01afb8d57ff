"""Inserts a child's new steps into the order of its parent and routes the flow through them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from podium.fast_dataclass import dataclass
from podium.workflow.dialects.translation import (
    APPROVAL,
    NEXT_STEP,
    REVIEW_FORM,
    NextStep,
    ReviewForm,
    new_node,
)
from podium.workflow.problems import Problem, did_you_mean
from podium.workflow.source.nodes import Node, fields, text, with_field, without_keys

Block = Mapping[str, Node]


@dataclass(frozen=True, slots=True)
class OrderedSteps:
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
        return tuple(neighbour for name in names for neighbour in self.around(name))


def insert_new_steps(old: Block, steps: Block, child_steps: Block) -> OrderedSteps:
    """`steps` in their order. `old` are the parent's steps in order; `child_steps` are those in the child's file.

    Without steps in the parent the order of the file counts, so that a template is an ordinary workflow file.
    """
    new = {name: node for name, node in child_steps.items() if name not in old}
    problems = [*_position_problems(old, new, steps), *_moved_step_problems(old, child_steps)]
    anchors = {name: _anchor(node, steps) for name, node in new.items()}
    loose = tuple(name for name, anchor in anchors.items() if anchor is None)
    neighbours = _Neighbours(_group_by_anchor(anchors, "before"), _group_by_anchor(anchors, "after"))
    order = neighbours.group((*old, *loose))
    placed = frozenset(order)
    circular = [name for name in new if name not in placed]
    problems += _cycle_problems(circular, new)
    rerouted = _reroute({name: steps[name] for name in (*order, *circular)}, old, child_steps, neighbours)
    return OrderedSteps(rerouted, tuple(problems))


def _anchor(node: Node, steps: Block) -> tuple[str, str] | None:
    """`after` or `before` and the step it names; None if a new step has no valid position."""
    anchors = [(word, name) for word in ("after", "before") if (name := text(fields(node).get(word)))]
    return anchors[0] if len(anchors) == 1 and anchors[0][1] in steps else None


def _group_by_anchor(anchors: Mapping[str, tuple[str, str] | None], word: str) -> dict[str, tuple[str, ...]]:
    groups: dict[str, tuple[str, ...]] = {}
    for name, anchor in anchors.items():
        if anchor is not None and anchor[0] == word:
            groups[anchor[1]] = (*groups.get(anchor[1], ()), name)
    return groups


def _position_problems(old: Block, new: Block, steps: Block) -> Iterator[Problem]:
    for name, node in new.items():
        words = [word for word in ("after", "before") if word in fields(node)]
        # In a graph, `needs` decides the position of a step.
        if not words and old and "needs" not in fields(node):
            hint = f"add after: {list(old)[-1]}, or another step that it follows"
            yield Problem(*node.key, 33, f'new step "{name}" has neither after nor before', hint)
        if len(words) == 2:
            hint = "keep only one of them"
            yield Problem(*fields(node)["before"].key, 33, f'new step "{name}" has after and before', hint)
        for word in words:
            target = fields(node)[word]
            anchor = text(target)
            if anchor is not None and anchor not in steps:
                message = f'{word} of "{name}": step "{anchor}" does not exist in this block'
                yield Problem(*target.place, 33, message, did_you_mean(anchor, steps))


def _moved_step_problems(old: Block, child_steps: Block) -> Iterator[Problem]:
    for name, node in child_steps.items():
        for word in ("after", "before"):
            if name in old and word in fields(node):
                message = f'{word} can place only new steps, and "{name}" is not new'
                hint = "disable it and add a step with another name in the new place"
                yield Problem(*fields(node)[word].key, 33, message, hint)


def _cycle_problems(names: list[str], new: Block) -> Iterator[Problem]:
    if names:
        quoted = " and ".join(f'"{name}"' for name in names)
        fact = "is placed next to itself" if len(names) == 1 else "are placed next to each other"
        yield Problem(*new[names[0]].key, 33, f"{quoted} {fact}", "name an existing step")


def _reroute(steps: dict[str, Node], old: Block, child_steps: Block, neighbours: _Neighbours) -> Block:
    """Routes `passed` through new steps: X -> Y becomes X -> new -> Y, also where X names Y.

    Only `passed`: a failure that leads back to X repeats X, not the steps inserted before it.
    """
    for name in old:
        route = _inherited_route(name, old, child_steps)
        if route is None or text(route) == "next":
            continue
        after = neighbours.group(neighbours.after.get(name, ()))
        before = neighbours.group(neighbours.before.get(text(route) or "", ()))
        target = replace(route, value=before[0]) if before else route
        if after and "passed" not in fields(fields(steps[after[-1]]).get("on")):
            steps[after[-1]] = _with_passed(steps[after[-1]], target)
        steps[name] = _with_passed(steps[name], replace(route, value=after[0]) if after else target)
    return steps


def _inherited_route(name: str, old: Block, child_steps: Block) -> Node | None:
    """Where a step of the parent leads after it passed, unless the child sets that itself."""
    own = fields(fields(child_steps.get(name)).get("on"))
    return None if "passed" in own else fields(fields(old[name]).get("on")).get("passed")


def _with_passed(step: Node, route: Node) -> Node:
    on = fields(step).get("on") or Node({}, route.place, route.key)
    return with_field(step, "on", with_field(on, "passed", route))


def resolve_next_steps(steps: Block) -> OrderedSteps:
    """Routes each step with a `NextStep` to that step, unless it follows anyway."""
    order = list(steps)
    resolved: dict[str, Node] = {}
    problems: list[Problem] = []
    for name, step in steps.items():
        node = fields(step).get(NEXT_STEP)
        form: object = None if node is None else node.value
        if node is None or not isinstance(form, NextStep):
            resolved[name] = step
            continue
        step = without_keys(step, NEXT_STEP)
        if form.name not in steps:
            message = f'next of "{name}" leads to "{form.name}", which is not a step'
            problems.append(Problem(*node.place, 7, message, did_you_mean(form.name, steps)))
            resolved[name] = step
            continue
        target = f"{form.name}{APPROVAL}" if f"{form.name}{APPROVAL}" in steps else form.name
        follows = order[order.index(name) + 1 :][:1] == [target]
        is_default = follows and "passed" not in fields(fields(step).get("on"))
        resolved[name] = step if is_default else _with_both_forms(step, replace(node, value=target))
    return OrderedSteps(resolved, tuple(problems))


def write_next_steps(child: Node, merged: Node) -> Node:
    """A file that extends a template, with the routes that its steps have in the merged document."""
    block = fields(child).get("steps")
    if block is None:
        return child
    merged_steps = fields(fields(merged).get("steps"))
    steps = {name: _with_written_route(name, step, merged_steps) for name, step in fields(block).items()}
    return with_field(child, "steps", replace(block, value=steps))


def _with_written_route(name: str, step: Node, merged: Block) -> Node:
    node = fields(step).get(NEXT_STEP)
    form: object = None if node is None else node.value
    if node is None or not isinstance(form, NextStep):
        return step
    step = without_keys(step, NEXT_STEP)
    # The template may not be there when a file is converted.
    route = (
        fields(fields(merged.get(name)).get("on")).get("passed")
        if form.name in merged
        else replace(node, value=form.name)
    )
    return step if route is None else _with_both_forms(step, route)


def _with_both_forms(step: Node, route: Node) -> Node:
    """The step with the route, also in its form as a review."""
    node = fields(step).get(REVIEW_FORM)
    form: object = None if node is None else node.value
    if node is not None and isinstance(form, ReviewForm):
        review = new_node(ReviewForm(_with_passed(form.step, route)), node)
        step = with_field(step, REVIEW_FORM, review)
    return _with_passed(step, route)
