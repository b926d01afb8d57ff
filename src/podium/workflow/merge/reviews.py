"""Carries out `reviews`: how all reviews of a workflow are done.

    reviews: {parallel: false, dual: true}

With `parallel: false` the reviewers of a step judge one after the other. With `dual` a review by one role gets a second
reviewer: the same role, played by the agent of another vendor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from podium.workflow.merge.judging_roles import ancestors_of
from podium.workflow.merge.role_inheritance import Layer
from podium.workflow.merge.step_nodes import map_parts
from podium.workflow.source.nodes import Node, fields, items, node_from_value, text, with_field, without_keys

SECOND: Final = "_second"
USUAL: Final = 3
"""How many agents of the configuration, from the first, may play a second reviewer."""


def apply_reviews(root: Node, layers: Sequence[Layer]) -> tuple[Node, Layer]:
    """The workflow with its reviews changed and without the key, and the roles of the second reviewers."""
    policy = fields(root).get("reviews")
    if policy is None:
        return root, {}
    keys = fields(policy)
    is_dual = "dual" in keys and keys["dual"].value is True
    is_serial = "parallel" in keys and keys["parallel"].value is False
    seconds: dict[str, Node] = {}
    agents = list(fields(fields(root).get("agents")))[:USUAL]

    def change(part: Node) -> Node:
        reviewers = fields(part).get("review")
        if reviewers is None:
            return part
        name = text(reviewers)
        if is_dual and name is not None:
            seconds[f"{name}{SECOND}"] = _second(name, layers, agents, reviewers)
            pair = node_from_value([name, f"{name}{SECOND}"], reviewers.place)
            part = with_field(part, "review", pair)
        if is_serial and "parallel" not in fields(part) and len(items(fields(part)["review"])) > 1:
            part = with_field(part, "parallel", node_from_value(1, policy.place))
        return part

    return map_parts(without_keys(root, "reviews"), change), seconds


def _second(name: str, layers: Sequence[Layer], agents: Sequence[str], near: Node) -> Node:
    named = [
        agent
        for role in ancestors_of(name, layers)
        for layer in reversed(layers)
        if role in layer and (agent := text(fields(layer[role]).get("agent")))
    ]
    first = named[0] if named else agents[0]
    others = [agent for agent in agents if agent != first]
    value = {"extends": name, "agent": others[-1], "replace": ["fallback"], "fallback": others[:-1]}
    return node_from_value(value, near.place)
