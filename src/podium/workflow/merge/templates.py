"""Merges a template and the files that extend it into one document, the most distant parent first.

Rule 1: steps, gates and inputs are merged by name; scalars replace, lists append, maps merge.
Rule 2: the value of a verb replaces the inherited one; a new verb removes the keys of the old one.
Rule 3: new steps are inserted first, then `disable` removes steps, so a child may place a step next to one it removes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Final

from podium.fast_dataclass import dataclass
from podium.workflow.merge.disable_steps import remove_disabled
from podium.workflow.merge.insert_steps import insert_new_steps, resolve_next_steps
from podium.workflow.outcomes import OUTCOMES_OF_VERB
from podium.workflow.problems import Problem
from podium.workflow.schema.step import VERBS
from podium.workflow.schema.verb_keys import VERBS_OF_KEY
from podium.workflow.source.nodes import (
    MergeRule,
    Node,
    fields,
    is_flag,
    is_text,
    is_texts,
    items,
    keep_top,
    merge_appending,
    merge_keys,
    merge_maps,
    merge_replacing,
    text,
    with_field,
    with_value,
    without_keys,
)

BLOCKS: Final = ("steps", "finally")
APPENDED: Final = ("context", "env", "protect", "secrets", "switches")
"""Top-level keys whose lists are appended; other lists that a configuration may also set are replaced."""

MODIFIERS: Final = ("parallel", "pass", "join")
"""Keys that apply to several members; whether a step has members depends on its verb."""

STEP_RULES: Final[Mapping[str, MergeRule]] = MappingProxyType(
    {**dict.fromkeys((*VERBS, "for_each"), keep_top), "on": merge_keys, "replace": keep_top}
)

FILE_KEYS: Final = {"extends": is_text, "disable": is_texts}
STEP_KEYS: Final = {"after": is_text, "before": is_text, "replace": is_texts, "required": is_flag}
"""The keys of templates, each with the test for a valid value."""
_STRIPPED: Final = frozenset((*STEP_KEYS, *BLOCKS))
"""The keys of a step that the merged document has without template keys, or not at all."""


@dataclass(frozen=True, slots=True)
class MergedTemplates:
    root: Node
    problems: tuple[Problem, ...] = ()


def merge_templates(files: Sequence[Node]) -> MergedTemplates:
    """The result has no template keys and no `roles`, which are merged by other rules."""
    problems: list[Problem] = []
    root = replace(files[0], value={})
    for file in files:
        root = _extend(root, without_keys(file, "roles"), problems)
        remaining = remove_disabled(root, items(fields(file).get("disable")))
        problems.extend(remaining.problems)
        root = remaining.root
    return MergedTemplates(_strip_file(root), tuple(dict.fromkeys(problems)))


def _extend(parent: Node, child: Node, problems: list[Problem]) -> Node:
    rules: dict[str, MergeRule] = {
        **dict.fromkeys(APPENDED, merge_appending),
        **dict.fromkeys(BLOCKS, partial(_merge_block, problems=problems)),
        "gates": partial(merge_maps, join=partial(_merge_step, problems=problems)),
        "inputs": partial(merge_maps, join=_merge_input),
        "outputs": merge_keys,
        "vars": merge_keys,
    }
    return merge_maps(_with_blocks(parent, child), child, merge_replacing, rules)


def _with_blocks(parent: Node, child: Node) -> Node:
    """The parent with an empty block where only the child has one, so that the child's steps are inserted as usual."""
    new = {
        key: replace(node, value={})
        for key, node in fields(child).items()
        if key in BLOCKS and key not in fields(parent)
    }
    return replace(parent, value={**fields(parent), **new}) if new else parent


def _merge_block(parent: Node, child: Node, problems: list[Problem]) -> Node:
    if not isinstance(child.value, Mapping):
        return child
    child_steps = fields(child)
    empty = {name: with_value(node, {}) for name, node in child_steps.items()}
    base = replace(parent, value={**empty, **fields(parent)})
    steps = merge_maps(base, child, partial(_merge_step, problems=problems))
    ordered = insert_new_steps(fields(parent), fields(steps), child_steps)
    resolved = resolve_next_steps(ordered.steps)
    problems.extend((*ordered.problems, *resolved.problems))
    return replace(steps, value=resolved.steps)


def _merge_step(base: Node, top: Node, problems: list[Problem]) -> Node:
    if not base.value and fields(top).keys().isdisjoint(BLOCKS):
        return top  # Most steps are new.
    dropped = [name for item in items(fields(top).get("replace")) if (name := text(item))]
    inherited = _keep_fitting_keys(without_keys(base, *dropped), top)
    rules: dict[str, MergeRule] = {**STEP_RULES, "steps": partial(_merge_block, problems=problems)}
    return merge_maps(_with_blocks(inherited, top), top, merge_appending, rules)


def _merge_input(base: Node, top: Node) -> Node:
    """`flag: bool` is `flag: {type: bool}`; a default is a value, so a list in it is replaced."""
    return merge_maps(_long_input(base), _long_input(top), merge_appending, {"default": keep_top})


def _long_input(node: Node) -> Node:
    return node if isinstance(node.value, Mapping) else replace(node, value={"type": node})


def _keep_fitting_keys(base: Node, top: Node) -> Node:
    """The keys and routes of a step that still fit when its verb changes."""
    old, new = _verb(base), _verb(top)
    if old is None or new is None or old == new:
        return base
    misfits = [key for key in fields(base) if key in VERBS or new not in VERBS_OF_KEY.get(key, (new,))]
    if "for_each" not in fields(base):
        misfits += MODIFIERS
    fitting = without_keys(base, *misfits)
    on = fields(fitting).get("on")
    lost = set(OUTCOMES_OF_VERB[old]) - set(OUTCOMES_OF_VERB[new])
    return fitting if on is None else with_field(fitting, "on", without_keys(on, *lost))


def _verb(step: Node) -> str | None:
    """The verb of a step; `role` and `agent` count as the same verb, so a child may choose the agent for a role."""
    return next(("agent" if key == "role" else key for key in fields(step) if key in VERBS), None)


def _strip_file(root: Node) -> Node:
    """The document without template keys, unless they are malformed and the schema must report them."""
    valid = [key for key, is_valid in FILE_KEYS.items() if is_valid(fields(root).get(key))]
    return _strip_blocks(without_keys(root, *valid))


def _strip_blocks(node: Node) -> Node:
    for key in BLOCKS:
        block = fields(node).get(key)
        if block is not None and isinstance(block.value, Mapping):
            has_driver = "driver" in fields(node)
            steps = {name: _strip_step(step, has_driver=has_driver) for name, step in block.value.items()}
            node = with_field(node, key, replace(block, value=steps))
    return node


def _strip_step(step: Node, *, has_driver: bool) -> Node:
    """`required` also says what a driver may not leave out; it goes when the driver has become steps."""
    if fields(step).keys().isdisjoint(_STRIPPED):
        return step
    valid = [
        key
        for key, is_valid in STEP_KEYS.items()
        if is_valid(fields(step).get(key)) and not (has_driver and key == "required")
    ]
    return _strip_blocks(without_keys(step, *valid))
