"""The actions of a state on entry: `on_enter: [{log: ...}, {validate: input_exists}, {generate: run_summary.md}]`.

Every transition is in the log of the run, every run has a summary, and an input file must exist anyway. So only
the `log` text of a terminal state is kept: it becomes the message of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from podium.workflow.dialects.translation import Translation, new_node
from podium.workflow.problems import did_you_mean
from podium.workflow.source.nodes import Node, fields, items, text

ACTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "log": (),
    "validate": ("input_exists",),
    "generate": ("run_summary.md",),
}
"""The values each action may have; a log may have any text."""


def check_actions(name: str, state: Node, translation: Translation) -> None:
    for action in items(fields(state).get("on_enter")):
        translation.check_keys(action, f'on_enter of "{name}"', ACTIONS)
        for word, node in fields(action).items():
            allowed = ACTIONS.get(word, ())
            if allowed and node.value not in allowed:
                hint = did_you_mean(str(node.value), allowed) or f"use one of {', '.join(allowed)}"
                translation.add_problem(node, 2, f'on_enter does not support {word}: "{node.value}"', hint)
            if word == "log" and text(fields(state).get("type")) != "terminal":
                translation.add_note(node, "the log of the run already records that a state was entered")


def ending(word: str, state: Node) -> Any:
    """Where a terminal state leads, with the text of its last log action."""
    logs = [node for action in items(fields(state).get("on_enter")) if (node := fields(action).get("log"))]
    return {word: new_node(logs[-1].value, logs[-1])} if logs else word
