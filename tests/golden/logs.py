"""Stored logs of runs, and all that is made of them: what one version of Podium has written, every later one must read.

`tools/golden.py` writes them. Until the first release they may be written anew; afterwards cases are only added.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Final

from podium.app.author.load import open_workflow
from podium.core.codec import decode
from podium.core.events import Event
from podium.core.evolve.evolve import fold
from podium.core.messages import Cancel, Guide, Message, Pause, RaiseLimit, Recover, Resume, Signal
from podium.core.model import Workflow
from podium.core.state import State
from podium.core.types import Address, Millis
from podium.engine.log import to_text
from podium.engine.run_folder import RunFolder
from podium.redaction.mask import Mask
from podium.simulate.run import SIMULATED, simulate
from podium.simulate.scripted_world import ScriptedWorld
from podium.workflow.scripted.cast import read_cast

ROOT: Final = FilePath(__file__).parent
LOG: Final = "events.jsonl"
FOLDED: Final = "state.txt"
HOUR: Final = 3_600_000
SAID: Final[dict[str, dict[Millis, Message]]] = {
    "cancelled": {
        Millis(1): Guide("ann", "be brief"),
        Millis(2): RaiseLimit(Address(""), "usd", 9_000_000, "ann"),
        Millis(3): Pause("ann"),
        Millis(4): Resume("ann"),
        Millis(5): Recover(2),
        Millis(HOUR): Cancel("ann", "enough"),
    },
    "waits": {Millis(1): Signal("other", 1, "ann"), Millis(9 * HOUR): Signal("ready", None, "ann")},
}
"""What somebody says to the run of a case, and when."""


def cases() -> tuple[FilePath, ...]:
    return tuple(sorted(path.parent for path in ROOT.glob("*/workflow.yaml")))


def played(case: FilePath) -> str:
    """The log of a new run of the case."""
    workflow, world = open_workflow(case / "workflow.yaml"), ScriptedWorld(read_cast(case / "cast.yaml"))
    done = simulate(workflow, world, facts=replace(SIMULATED, id=case.name), messages=SAID.get(case.name))
    return "".join(f"{to_text(event)}\n" for event in done.events)


def made_of(case: FilePath, log: str) -> dict[str, str]:
    """Everything that a log stands for, by the name of its file."""
    workflow = open_workflow(case / "workflow.yaml")
    events = tuple(read(log))
    state = fold(workflow, events)
    with tempfile.TemporaryDirectory() as folder:
        RunFolder(FilePath(folder), Mask()).write(events, state)
        views = {path.name: path.read_text("utf-8") for path in sorted(FilePath(folder).iterdir())}
    return {FOLDED: folded(workflow, state), **views}


def read(log: str) -> list[Event]:
    return [decode(json.loads(line)) for line in log.splitlines()]


def folded(workflow: Workflow, state: State) -> str:
    """The state in words that a change inside of it leaves alone."""
    lines = [f"{workflow.name}: {'waits' if state.ended is None else state.ended.status}"]
    for path, instance in sorted(dict(state.instances.items()).items()):
        ending = instance.ending
        lines.append(f"{path} {'-' if ending is None else f'{ending.outcome} {ending.reason} {ending.tree}'}")
    lines += [f"pending {kind} {path}" for kind, path in sorted(state.pending.keys())]
    return "".join(f"{line.rstrip()}\n" for line in lines)
