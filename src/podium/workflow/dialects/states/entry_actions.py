"""What a state does when it is entered: `on_enter: [{log: ...}, {validate: input_exists}, {generate: run_summary.md}]`.

Every move of control is in the run's records, every run has a summary, and the file a run is about must be there. So
only the words of an end are carried over: they become the message of the run.
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
"""By their word: what they may name; a log may say anything."""


def check_actions(name: str, state: Node, page: Translation) -> None:
    for action in items(fields(state).get("on_enter")):
        page.check_keys(action, f'on_enter of "{name}"', ACTIONS)
        for word, node in fields(action).items():
            known = ACTIONS.get(word, ())
            if known and node.value not in known:
                hint = did_you_mean(str(node.value), known) or f"it knows {', '.join(known)}"
                page.complain(node, 2, f'on_enter cannot {word} "{node.value}"', hint)
            if word == "log" and text(fields(state).get("type")) != "terminal":
                page.note(node, "that a state was entered is in the records of the run, under its name")


def ending(word: str, state: Node) -> Any:
    """Where a terminal state leads, with the last thing it says."""
    said = [node for action in items(fields(state).get("on_enter")) if (node := fields(action).get("log"))]
    return {word: new_node(said[-1].value, said[-1])} if said else word
