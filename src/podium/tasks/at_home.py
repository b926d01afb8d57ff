"""What belongs into the folder from which a run was started, its home, and so cannot be done on any machine."""

from __future__ import annotations

from typing import Final

from podium.core.addresses import ROOT
from podium.core.effects import Effect, FindFact, RunAttempt, Watch
from podium.core.model import Agent, Step, Wait
from podium.core.queries.graph import workflow_of
from podium.core.state import State
from podium.core.types import MEMORY_FACTS

HOME: Final = "home"
"""The label of the machine and folder from which a run was started."""


def reason_for_home(step: Step) -> str:
    """Why a step needs the folder of the person who started the run; empty if it does not."""
    match step.verb:
        case Agent(by_hand=True):
            return "a person works in this checkout"
        case Wait(what="file" | "step" as what):
            return f"wait: {what} looks at this folder"
        case _ if step.settings.workspace.mode == "inplace":
            return "workspace: inplace means this folder"
        case _ if step.memory:
            return "memories are kept in this repository"
        case _ if HOME in step.settings.runs_on:
            return "runs_on: home"
        case _:
            return ""


def is_at_home(effect: Effect, state: State) -> bool:
    """Whether only the home of the run can perform an effect."""
    match effect:
        case RunAttempt(started=started, by_hand=by_hand):
            path = started.path
            if by_hand:
                return True
        case Watch(wait=waited):
            path = waited.path
            verb = state.instances[path].place.step.verb
            if isinstance(verb, Wait) and verb.what in ("file", "step"):
                return True
        case FindFact(query=query):
            if query.function in MEMORY_FACTS:
                return True
            path = query.path
        case _:
            return False
    if path not in state.instances:
        path = ROOT
    place = state.instances[path].place
    if workflow_of(state, place).config.works_in_project:
        return True
    return place.step.settings.workspace.mode == "inplace"
