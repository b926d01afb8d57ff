"""One document out of a template and those that extend it, the most distant parent first.

Rule 1: steps, gates and inputs are merged by name; scalars replace, lists append, maps merge.
Rule 2: what a verb is given replaces what it was given; a new verb takes the old one's keys with it.
Rule 3: new steps are placed first, then `disable` takes steps out, so a child may place a step at one it removes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Final

from podium.core.fast_dataclass import dataclass
from podium.workflow.merge.disable_steps import remove_disabled
from podium.workflow.merge.insert_steps import insert_new_steps
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
    without_keys,
)

BLOCKS: Final = ("steps", "finally")
APPENDED: Final = ("context", "env", "protect", "secrets")
"""Top keys whose lists grow; in the others, which may also stand in a configuration, the child's list counts."""

MODIFIERS: Final = ("parallel", "pass", "join")
"""Keys that speak about several members; whether a step has any depends on its verb."""

STEP_RULES: Final[Mapping[str, MergeRule]] = MappingProxyType(
    {**dict.fromkeys((*VERBS, "for_each"), keep_top), "on": merge_keys, "replace": keep_top}
)

FILE_WORDS: Final = {"extends": is_text, "disable": is_texts}
STEP_WORDS: Final = {"after": is_text, "before": is_text, "replace": is_texts, "required": is_flag}
"""The words of templates, and when they are spelled so that they have been understood."""


@dataclass(frozen=True, slots=True)
class Composed:
    root: Node
    problems: tuple[Problem, ...] = ()


def merge_templates(files: Sequence[Node]) -> Composed:
    """The template words are gone from the result, and `roles` too: those have rules of their own."""
    problems: list[Problem] = []
    root = replace(files[0], value={})
    for file in files:
        root = _extended(root, without_keys(file, "roles"), problems)
        remaining = remove_disabled(root, items(fields(file).get("disable")))
        problems.extend(remaining.problems)
        root = remaining.root
    return Composed(_settled_file(root), tuple(dict.fromkeys(problems)))


def _extended(parent: Node, child: Node, problems: list[Problem]) -> Node:
    rules: dict[str, MergeRule] = {
        **dict.fromkeys(APPENDED, merge_appending),
        **dict.fromkeys(BLOCKS, partial(_merged_block, problems=problems)),
        "gates": partial(merge_maps, join=partial(_merged_step, problems=problems)),
        "inputs": partial(merge_maps, join=_merged_input),
        "outputs": merge_keys,
        "vars": merge_keys,
    }
    return merge_maps(_with_blocks(parent, child), child, merge_replacing, rules)


def _with_blocks(parent: Node, child: Node) -> Node:
    """The parent with an empty block where only the child has one, so that its steps are placed all the same."""
    new = {
        key: replace(node, value={})
        for key, node in fields(child).items()
        if key in BLOCKS and key not in fields(parent)
    }
    return replace(parent, value={**fields(parent), **new}) if new else parent


def _merged_block(parent: Node, child: Node, problems: list[Problem]) -> Node:
    if not isinstance(child.value, Mapping):
        return child
    said = fields(child)
    empty = {name: replace(node, value={}) for name, node in said.items()}
    base = replace(parent, value={**empty, **fields(parent)})
    steps = merge_maps(base, child, partial(_merged_step, problems=problems))
    done = insert_new_steps(fields(parent), fields(steps), said)
    problems.extend(done.problems)
    return replace(steps, value=done.steps)


def _merged_step(base: Node, top: Node, problems: list[Problem]) -> Node:
    dropped = [name for item in items(fields(top).get("replace")) if (name := text(item))]
    inherited = _fitting(without_keys(base, *dropped), top)
    rules: dict[str, MergeRule] = {**STEP_RULES, "steps": partial(_merged_block, problems=problems)}
    return merge_maps(_with_blocks(inherited, top), top, merge_appending, rules)


def _merged_input(base: Node, top: Node) -> Node:
    """`flag: bool` is `flag: {type: bool}`; a default is a value, so a list there does not grow."""
    return merge_maps(_long_input(base), _long_input(top), merge_appending, {"default": keep_top})


def _long_input(node: Node) -> Node:
    return node if isinstance(node.value, Mapping) else replace(node, value={"type": node})


def _fitting(base: Node, top: Node) -> Node:
    """What is left of a step when its verb changes: the keys and routes that also fit the new one."""
    old, new = _verb(base), _verb(top)
    if old is None or new is None or old == new:
        return base
    misfits = [key for key in fields(base) if key in VERBS or new not in VERBS_OF_KEY.get(key, (new,))]
    if "for_each" not in fields(base):
        misfits += MODIFIERS
    rest = without_keys(base, *misfits)
    on = fields(rest).get("on")
    lost = set(OUTCOMES_OF_VERB[old]) - set(OUTCOMES_OF_VERB[new])
    return rest if on is None else with_field(rest, "on", without_keys(on, *lost))


def _verb(step: Node) -> str | None:
    """`role` and `agent` are one verb: a child may say who plays the role."""
    return next(("agent" if key == "role" else key for key in fields(step) if key in VERBS), None)


def _settled_file(root: Node) -> Node:
    """Without the template words, unless they are so wrong that the schema must speak."""
    done = [key for key, is_sound in FILE_WORDS.items() if is_sound(fields(root).get(key))]
    return _settled_blocks(without_keys(root, *done))


def _settled_blocks(node: Node) -> Node:
    for key in BLOCKS:
        block = fields(node).get(key)
        if block is not None and isinstance(block.value, Mapping):
            steps = {name: _settled_step(step) for name, step in block.value.items()}
            node = with_field(node, key, replace(block, value=steps))
    return node


def _settled_step(step: Node) -> Node:
    done = [key for key, is_sound in STEP_WORDS.items() if is_sound(fields(step).get(key))]
    return _settled_blocks(without_keys(step, *done))
