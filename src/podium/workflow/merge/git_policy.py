"""Carries out `git` of a configuration: the steps and gates that a workflow gets from it.

    git: {branch: "ai/${{ run.id }}", commit: true, preview: true, approval: risk, on_failure: stash}

The branch is made when the run starts, and everything that lands goes there. With `commit`, work lands at the end although no
step says so. With `preview` a person sees what git will do, and agrees, before it does. `approval` is the level or policy by
which people approve what lands; a rejection goes back to the last step that changes code. What a failed run leaves is kept
as an entry of `git stash`. A workflow inside another one only lands on the same branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from podium.workflow.merge.role_inheritance import Layer
from podium.workflow.merge.step_nodes import map_parts, needs_node
from podium.workflow.merge.switches import changes_code, with_gate
from podium.workflow.source.nodes import Node, fields, items, node_from_value, text, with_field, without_keys

START: Final = "git_start"
COMMIT: Final = "git_commit"
STASH: Final = "git_stash"
APPROVAL: Final = "landing_approval"
BRANCH_OF_RUN: Final = "${{ run.branch }}"
STASH_MESSAGE: Final = "podium ${{ run.id }}: ${{ run.name }} (${{ run.outcome }})"


def apply_git_policy(root: Node, *, is_child: bool, layers: Sequence[Layer] = ()) -> Node:
    """The workflow with its git policy carried out, and without the key."""
    policy = fields(root).get("git")
    if policy is None or "steps" not in fields(root):
        return root
    keys = fields(policy)
    branch = text(keys.get("branch"))
    root = without_keys(root, "git")
    if branch is not None:
        root = _land_on(root, branch, policy)
    if is_child:
        return root
    if _is_on(keys, "commit") and not _has_landing(root):
        root = _with_step(root, COMMIT, _landing(root, branch or BRANCH_OF_RUN), policy, first=False)
    if "approval" in keys:
        root = _with_approval(root, keys["approval"], layers)
    if _is_on(keys, "preview"):
        root = _with_previews(root, policy)
    if branch is not None:
        root = _with_step(
            root, START, _start(branch, has_preview=_is_on(keys, "preview")), policy, first=True
        )
    if text(keys.get("on_failure")) == "stash":
        step = {"when": "run.outcome != 'passed'", "git": {"stash": STASH_MESSAGE}}
        steps = {**fields(fields(root).get("finally")), STASH: _node(step, policy)}
        root = with_field(root, "finally", Node(steps, policy.place, policy.key))
    return root


def _is_on(keys: Any, name: str) -> bool:
    return name in keys and keys[name].value is True


def _node(value: Any, near: Node) -> Node:
    return node_from_value(value, near.place)


def _land_on(root: Node, branch: str, policy: Node) -> Node:
    def change(part: Node) -> Node:
        verb = fields(part).get("git")
        if verb is None or "land" not in fields(verb):
            return part
        return with_field(part, "git", with_field(verb, "land", _node(branch, policy)))

    return map_parts(root, change)


def _has_landing(root: Node) -> bool:
    landings: list[Node] = []

    def collect(part: Node) -> Node:
        if "git" in fields(part):
            landings.append(part)
        return part

    map_parts(root, collect)
    return bool(landings)


def _landing(root: Node, branch: str) -> dict[str, Any]:
    has_task = "task" in fields(fields(root).get("inputs"))
    return {"git": {"land": branch, "message": "${{ inputs.task }}" if has_task else "${{ run.name }}"}}


def _start(branch: str, *, has_preview: bool) -> dict[str, Any]:
    name = branch.replace("${{", "{{")
    question = f"Git preview: make the branch {name} at {{{{ run.branch }}}} ({{{{ run.base }}}}). Proceed?"
    return {"git": {"branch": branch}, **({"gates": [_question(question)]} if has_preview else {})}


def _question(words: str) -> dict[str, Any]:
    return {"name": "preview", "human": words, "show": ["diff"]}


def _with_approval(root: Node, level: Node, layers: Sequence[Layer]) -> Node:
    """A question about what lands, as a gate of each landing of the top block."""
    steps = dict(fields(fields(root)["steps"]))
    question = {"name": APPROVAL, "human": "May this change land?", "show": ["diff", "verdicts", "cost"]}
    gate = _node({**question, "level": level.value}, level)
    maker: str | None = None
    for name, step in steps.items():
        if "land" in fields(fields(step).get("git")):
            steps[name] = with_gate(step, gate)
            if maker is not None and "failed" not in fields(fields(step).get("on")):
                on = fields(step).get("on", _node({}, level))
                steps[name] = with_field(steps[name], "on", with_field(on, "failed", _node(maker, level)))
        maker = name if changes_code(step, layers) and "needs" not in fields(step) else maker
    return with_field(root, "steps", Node(steps, root.place, root.key))


def _with_previews(root: Node, policy: Node) -> Node:
    """A question before each landing, unless the step above it asks a person already."""
    steps = dict(fields(fields(root)["steps"]))
    is_approved = False
    for name, step in steps.items():
        verb = fields(fields(step).get("git"))
        if "land" in verb and not is_approved:
            branch, message = (str(verb[key].value).replace("${{", "{{") for key in ("land", "message"))
            question = _question(f'Git preview: commit "{message}" on {branch}. Proceed?')
            gates = [*items(fields(step).get("gates")), _node(question, policy)]
            steps[name] = with_field(step, "gates", Node(tuple(gates), policy.place, policy.key))
        is_approved = "human" in fields(step)
    return with_field(root, "steps", Node(steps, root.place, root.key))


def _with_step(root: Node, name: str, step: dict[str, Any], policy: Node, *, first: bool) -> Node:
    """The workflow with one more step at its beginning or its end, in a sequence or a graph."""
    steps = dict(fields(fields(root)["steps"]))
    if any("needs" in fields(each) for each in steps.values()):
        step = {**step, "needs": [] if first else list(steps)}
        if first:
            steps = {
                other: with_field(each, "needs", _node([name], policy)) if not _needs(each) else each
                for other, each in steps.items()
            }
    own = {name: _node(step, policy)}
    return with_field(
        root, "steps", Node({**own, **steps} if first else {**steps, **own}, root.place, root.key)
    )


def _needs(step: Node) -> bool:
    return bool(items(needs_node(step)))
