"""Carries out `switches`: inputs that are true or false, each with a requirement.

What a switch requires is added to the workflow, unless one of its steps or gates does it already. A switch that is off and
that nothing reads is not even an input: setting it would change nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from podium.fast_dataclass import dataclass
from podium.workflow.merge.judging_roles import is_kind_of
from podium.workflow.merge.role_inheritance import Layer
from podium.workflow.problems import Problem, did_you_mean
from podium.workflow.source.nodes import (
    Node,
    fields,
    items,
    node_from_value,
    plain,
    text,
    with_field,
    without_keys,
)

BRANCH: Final = "ai/${{ run.id }}"
GATES: Final[Mapping[str, Mapping[str, Any]]] = {
    "require_tests": {"name": "tests", "run": "make test"},
    "require_changelog": {
        "name": "changelog",
        "check": 'touched("CHANGELOG*", "CHANGES*", "docs/changelog*", "changelog.d/**")',
    },
}
"""Gates of the steps that change code."""

BEFORE_LANDING: Final[Mapping[str, Mapping[str, Any]]] = {
    "security_review": {"review": "security_auditor"},
    "human_approval": {"human": "Land this change?", "show": ["diff", "verdicts", "cost"]},
}
"""Steps before the first that lands or publishes, in this order; a rejection goes back to the last that changes code."""

PULL_REQUEST: Final[Mapping[str, Mapping[str, Any]]] = {
    "pull_request_branch": {"git": {"branch": BRANCH, "push": "origin"}},
    "pull_request": {
        "run": ["gh", "pr", "create", "--draft", "--head", BRANCH, "--title", "${{ inputs.task }}",
                "--body", "${{ inputs.task }}"],
        "network": ["api.github.com"],
        "secrets": ["GH_TOKEN"],
        "recovery": "ask",
    },
}  # fmt: skip
SWITCHES: Final = (*GATES, *BEFORE_LANDING, "auto_pr")
DONE_BY: Final[Mapping[str, re.Pattern[str]]] = {
    "require_tests": re.compile(r"'run': [^}]*test"),
    "require_changelog": re.compile(r"touched\([^)]*CHANGELOG"),
    "security_review": re.compile(r"'review': [^}]*security"),
    "human_approval": re.compile(r"'human': |'level': 'human'"),
    "auto_pr": re.compile(r"gh\b.*\bpr\b.*\bcreate|glab\b.*\bmr\b.*\bcreate"),
}
"""How a workflow shows that it does what a switch requires."""


@dataclass(frozen=True, slots=True)
class Switched:
    root: Node
    problems: tuple[Problem, ...] = ()


def apply_switches(root: Node, layers: Sequence[Layer], *, disabled: Collection[str] = ()) -> Switched:
    """The workflow with what its switches require, and without the key; a step that the author disabled stays away."""
    names = [name for name in items(fields(root).get("switches")) if name.value not in disabled]
    root = without_keys(root, "switches")
    problems = [_unknown(name) for name in names if name.value not in SWITCHES]
    words = str([plain(fields(root)[key]) for key in ("steps", "gates", "finally") if key in fields(root)])
    unread = [name for name in names if name.value in SWITCHES and f"inputs.{name.value}" not in words]
    off = [str(name.value) for name in unread if _default(root, str(name.value)) is not True]
    if off:
        root = with_field(root, "inputs", without_keys(fields(root)["inputs"], *off))
    needed = [name for name in unread if name.value not in off and not DONE_BY[str(name.value)].search(words)]
    if not needed:
        return Switched(root, tuple(problems))
    steps = dict(fields(fields(root).get("steps")))
    if any("needs" in fields(step) for step in steps.values()):
        message = f"switches add steps to a sequence, and these steps have needs: {_listed(needed)}"
        problems.append(Problem(*needed[0].place, 33, message, "add what they require yourself"))
        return Switched(root, tuple(problems))
    for name in sorted(needed, key=lambda node: SWITCHES.index(str(node.value))):
        steps = _with_requirement(steps, name, layers)
    root = with_field(root, "steps", Node(steps, root.place, root.key))
    return Switched(_with_secret(root, needed), tuple(problems))


def _default(root: Node, name: str) -> object:
    declared = fields(fields(fields(root).get("inputs")).get(name)).get("default")
    return None if declared is None else declared.value


def _with_secret(root: Node, needed: Sequence[Node]) -> Node:
    if not any(name.value == "auto_pr" for name in needed):
        return root
    secrets = [str(each.value) for each in items(fields(root).get("secrets"))]
    return with_field(root, "secrets", node_from_value([*dict.fromkeys([*secrets, "GH_TOKEN"])], root.place))


def _unknown(name: Node) -> Problem:
    hint = did_you_mean(str(name.value), SWITCHES) or f"there are {', '.join(SWITCHES)}"
    return Problem(*name.place, 33, f'"{name.value}" is not a switch', hint)


def _listed(names: Sequence[Node]) -> str:
    return ", ".join(str(name.value) for name in names)


def _with_requirement(steps: dict[str, Node], name: Node, layers: Sequence[Layer]) -> dict[str, Node]:
    word = str(name.value)
    when = {"when": f"inputs.{word}"}
    makers = [each for each, step in steps.items() if changes_code(step, layers)]
    if word in GATES:
        gate = node_from_value({**GATES[word], **when}, name.place)
        return {other: with_gate(step, gate) if other in makers else step for other, step in steps.items()}
    if word == "auto_pr":
        more = {key: node_from_value({**step, **when}, name.place) for key, step in PULL_REQUEST.items()}
        return {**steps, **more}
    back = {"on": {"rejected": makers[-1]}} if makers else {}
    judged = {"of": makers} if makers and word == "security_review" else {}
    step = node_from_value({**BEFORE_LANDING[word], **judged, **when, **back}, name.place)
    return _insert(steps, word, step)


def changes_code(step: Node, layers: Sequence[Layer]) -> bool:
    return is_kind_of("implementer", text(fields(step).get("role")) or "", layers)


def with_gate(step: Node, gate: Node) -> Node:
    gates = (*items(fields(step).get("gates")), gate)
    return with_field(step, "gates", Node(gates, gate.place, gate.key))


def _insert(steps: dict[str, Node], name: str, step: Node) -> dict[str, Node]:
    """The steps with one more before the first that lands or publishes, else at the end; no route leads around it."""
    order = list(steps)
    position = next((at for at, other in enumerate(order) if "git" in fields(steps[other])), len(order))
    landing = order[position] if position < len(order) else "end"
    before = {other: _led_through(steps[other], landing, name) for other in order[:position]}
    return {**before, name: step, **{other: steps[other] for other in order[position:]}}


def _led_through(step: Node, landing: str, name: str) -> Node:
    on = fields(step).get("on")
    passed = fields(on).get("passed")
    if on is None or passed is None or text(passed) != landing:
        return step
    return with_field(step, "on", with_field(on, "passed", replace(passed, value=name)))
