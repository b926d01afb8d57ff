"""How far a feature is: its phases and components with their codes and states, also those that have not begun."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple

from podium.core.expressions.feature_functions import components
from podium.core.types import Address
from podium.views.run.view import RunView, StepView

ComponentState = Literal["pending", "implementing", "testing", "review", "complete", "failed"]
PhaseState = Literal["pending", "in_progress", "complete", "failed"]
_VISIT: Final = re.compile(r"~\d+$")


class ComponentProgress(NamedTuple):
    code: str
    name: str
    state: ComponentState
    path: str
    """The address of its newest visit; empty if it has not begun."""


class PhaseProgress(NamedTuple):
    code: str
    name: str
    state: PhaseState
    components: tuple[ComponentProgress, ...]


class FeatureProgress(NamedTuple):
    step: str
    """The step that builds it."""
    state: PhaseState
    phases: tuple[PhaseProgress, ...]


def features_of(view: RunView) -> tuple[FeatureProgress, ...]:
    """The features that this run builds, in the order in which they began."""
    newest = {Address(_VISIT.sub("", step.path)): step for step in view.steps}
    loops = [step for step in view.steps if step.items and all(map(_is_phase, step.items))]
    features = []
    for loop in loops:
        phases = tuple(
            _phase(item, newest.get(Address(f"{loop.path}[{number}]")), newest, view)
            for number, item in enumerate(loop.items, 1)
        )
        features.append(FeatureProgress(loop.parent, _rolled_up(phase.state for phase in phases), phases))
    return tuple(features)


def _is_phase(item: Any) -> bool:
    return isinstance(item, Mapping) and {"code", "components", "barrier"} <= item.keys()


def _phase(
    item: Mapping[str, Any], step: StepView | None, newest: Mapping[Address, StepView], view: RunView
) -> PhaseProgress:
    loop = None if step is None else newest.get(Address(f"{step.path}/components"))
    entries = loop.items if loop is not None and loop.items else components(item)
    parts = tuple(
        _component(entry, None if loop is None else newest.get(Address(f"{loop.path}[{number}]")), view)
        for number, entry in enumerate(entries, 1)
    )
    return PhaseProgress(str(item["code"]), str(item["id"]), _rolled_up(part.state for part in parts), parts)


def _component(item: Mapping[str, Any], step: StepView | None, view: RunView) -> ComponentProgress:
    state = "pending" if step is None else _state(step, view)
    code, name = str(item.get("code", "")), str(item["id"])
    return ComponentProgress(code, name, state, "" if step is None else step.path)


def _state(step: StepView, view: RunView) -> ComponentState:
    """What is done at a component: commands test it, agents and people review it."""
    if step.outcome is not None:
        return "complete" if step.outcome in ("passed", "skipped") else "failed"
    judging = [
        other for other in view.steps if other.outcome is None and other.path.startswith(f"{step.path}#")
    ]
    if any(pending.path.startswith(step.path) for pending in view.pending):
        return "review"
    if not judging:
        return "implementing"
    inner = {other.parent for other in judging}
    is_reviewed = any(
        other.path in inner and other.path.count("/") > step.path.count("/") for other in judging
    )
    return "review" if is_reviewed else "testing"


def _rolled_up(states: Iterable[str]) -> PhaseState:
    present = list(states)
    if all(state == "complete" for state in present):
        return "complete"
    if "failed" in present:
        return "failed"
    return "pending" if all(state == "pending" for state in present) else "in_progress"
