"""The channels that a configuration file defines. They belong to no workflow, so they are read on their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from podium.workflow.merge.merge import Merged, config_problems
from podium.workflow.problems import Problem
from podium.workflow.schema.channels import Channel
from podium.workflow.schema.file import Config
from podium.workflow.schema.reader import read
from podium.workflow.source.files import read_tree
from podium.workflow.source.nodes import fields, with_value


def channels_in(path: Path) -> tuple[Mapping[str, Channel] | tuple[str, ...], tuple[Problem, ...]]:
    """The channels by name, or only the names of those to use, and what is wrong with them."""
    if not path.is_file():
        return {}, ()
    tree = read_tree(path, None)
    own = fields(tree.node).get("notify")
    if tree.node is None or own is None:
        return {}, tree.problems
    only = with_value(tree.node, {"notify": own})
    reading = read(Config, Merged(only).value)
    problems = (*tree.problems, *config_problems(only))
    return ({} if reading.value is None else reading.value.notify), problems
