"""The memories of a run: each is pinned before its first use and merged when the run passes.

A memory is a small folder of text that outlives runs. The core knows its versions as trees and decides when to read and
when to merge; both are facts that it asks for, so that a crash repeats the question and never the answer.
"""

from __future__ import annotations

from podium.core.addresses import ROOT
from podium.core.events import FactsAsked, StepEnded
from podium.core.payloads import RunMemory
from podium.core.state import Leaf, State
from podium.core.types import MERGE_MEMORY, PIN_MEMORY, Millis


def memory_of(state: State, name: str) -> RunMemory | None:
    """The memory with this name, if a step of the run has used it."""
    return next((memory for memory in state.memories if memory.name == name), None)


def pin_request(state: State, leaf: Leaf, now: Millis) -> FactsAsked | StepEnded | None:
    """The event before the first attempt of a step that names a memory; None if it may start."""
    name, path = leaf.place.step.memory, leaf.place.path
    if not name:
        return None
    memory = memory_of(state, name)
    if memory is None:
        return FactsAsked(now, path, PIN_MEMORY, name, None)
    if memory.tip is None:
        return StepEnded(now, path, "error", "memory", 1, message=f'memory "{name}" could not be read')
    return None


def merge_request(state: State, ending: StepEnded) -> FactsAsked | None:
    """The request to merge one memory before a run that has passed ends; None if nothing is left to merge."""
    if ending.path != ROOT or ending.outcome != "passed" or ending.exit:
        return None
    for memory in state.memories:
        if memory.changes and memory.merge is None:
            return FactsAsked(ending.at, ROOT, MERGE_MEMORY, memory.name, None)
    return None
