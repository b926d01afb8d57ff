"""What the gates format says about branches: pull requests that are signals, and what DONE means."""

from __future__ import annotations

from collections.abc import Mapping

from podium.workflow.dialects.gates.pipeline import Pipeline, id_of
from podium.workflow.dialects.translation import new_node
from podium.workflow.source.nodes import Node, fields, text


def request_branch(step: Node, header: Mapping[str, Node]) -> str:
    value = text(fields(fields(step).get("signal")).get("value"))
    return value or f"{text(header.get('id')) or 'gates'}/{id_of(step)}"


def request_step(step: Node, header: Mapping[str, Node]) -> Node:
    """Opens the pull request by which the step says that it is done; agents have no login to do it themselves."""
    git = {"branch": request_branch(step, header), "pull_request": "open"}
    return new_node({"git": git}, fields(step)["signal"])


def landing_step(pipeline: Pipeline, header: Mapping[str, Node], near: Node) -> Node:
    """What DONE means: the pull request is merged; without one, the work lands on the branch that the run began on."""
    requested = [step for step in pipeline.steps if pipeline.opens_request(step)]
    if requested:
        branch = request_branch(requested[-1], header)
        return new_node({"git": {"branch": branch, "pull_request": "merge"}}, near)
    title = (text(header.get("name")) or text(header.get("id")) or "gates").strip()
    return new_node(
        {"when": 'run.branch != ""', "git": {"land": "${{ run.branch }}", "message": title}}, near
    )
