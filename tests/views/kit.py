"""Simulated runs in a project: their events in a store, and their run folders."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator

from podium.adapters.stores.sqlite import SqliteStore
from podium.app.author.load import open_workflow
from podium.app.author.schemas import schema_text
from podium.app.project import Project as Facade
from podium.core.codec import encode
from podium.core.events import Event
from podium.core.evolve.evolve import fold
from podium.core.hash_chain import FIRST_HASH, RunId
from podium.core.model import Workflow
from podium.core.state import State
from podium.engine.local import LocalRuntime
from podium.engine.run_folder import RunFolder
from podium.files.project_paths import ProjectPaths
from podium.ports.store import RunHead, Store
from podium.redaction.mask import Mask
from podium.simulate.run import SIMULATED, simulate
from podium.simulate.scripted_world import ScriptedWorld
from podium.wiring import exporters_for, make_host, open_history
from podium.workflow.scripted.cast import NO_CAST, read_cast

FLOW = """\
podium: 1
name: ship
inputs: {task: string}
limits: {usd: 5}
gates: {tests: {run: make test}}
steps:
  plan: {role: planner, prompt: Plan it.}
  implement: {role: implementer, prompt: Do it., gates: [tests]}
  each:
    for_each: [a, b]
    steps:
      inner: {run: [echo, "${{ item }}"]}
  review: {review: [reviewer_gemini, reviewer_codex], of: implement, on: {rejected: implement}}
  approve: {human: "Land this?", show: [diff, cost], on: {rejected: implement}}
"""

CAST = """\
- match: {step: implement/tests, visit: 1, attempt: 1}
  exit: 1
  text: "1 failed: greet() returned None"
- match: {step: implement}
  write: {src/greet.py: "hello"}
  cost_usd: 0.18
"""

SILENT = CAST + "- match: {step: approve}\n  silent: true\n"


class Told(NamedTuple):
    """A simulated run with its workflow and events."""

    workflow: Workflow
    events: tuple[Event, ...]
    state: State

    def until(self, number: int) -> Told:
        """The same run after its first `number` events."""
        events = self.events[:number]
        return Told(self.workflow, events, fold(self.workflow, events))

    def moments(self) -> Iterator[Told]:
        return (self.until(number) for number in range(1, len(self.events) + 1))


def tell(folder: Path, *, flow: str = FLOW, cast: str | None = CAST, run: str = "r1", **inputs: Any) -> Told:
    """Simulate one run of a workflow, which is written into the folder."""
    file = folder / "ship.yaml"
    file.write_text(flow)
    script = NO_CAST
    if cast is not None:
        (folder / "cast.yaml").write_text(cast)
        script = read_cast(folder / "cast.yaml")
    workflow = open_workflow(file)
    given = inputs or ({"task": "greet people"} if workflow.inputs else {})
    done = simulate(workflow, ScriptedWorld(script), inputs=given, facts=replace(SIMULATED, id=run))
    return Told(workflow, done.events, done.state)


def facade_of(store: Store, folder: Path = Path()) -> Facade:
    """A project whose runs are in this store."""
    paths = ProjectPaths(folder)
    return Facade(
        paths,
        user_dir=None,
        host_for=make_host,
        exporters_for=exporters_for,
        make_runtime=lambda project: LocalRuntime(store, paths, project),
        open_history=lambda: open_history(paths),
    )


def keep(
    store: Store, run_events: Told, *, run: str = "r1", created: int = 1, status: str | None = None
) -> RunHead:
    """Store a run like the engine does."""
    name = RunId(run)
    if status is None:
        status = "waiting" if run_events.state.ended is None else run_events.state.ended.status
    source = json.dumps({"file": "ship.yaml"})
    fingerprint = run_events.workflow.fingerprint
    store.create(
        RunHead(name, run_events.workflow.name, fingerprint, created, 0, 0, FIRST_HASH, status, source)
    )
    bodies = [(type(event).__name__, json.dumps(encode(event))) for event in run_events.events]
    store.append(name, bodies, after=0, epoch=0, cause="test", status=status)
    head = store.head(name)
    assert head is not None
    return head


def project(folder: Path, *tales: tuple[str, Told]) -> Path:
    """A project with these runs, oldest first, each with its folder."""
    store = SqliteStore(folder / ".podium" / "podium.db")
    for number, (run, told) in enumerate(tales, start=1):
        head = keep(store, told, run=run, created=number)
        run_dir = folder / ".podium" / "runs" / run
        RunFolder(run_dir, Mask()).write(told.events, told.state)
        (run_dir / "chain_head").write_text(f"{head.last_seq:>12} {head.last_hash}\n")
    store.close()
    return folder


def conforms(data: Any, schema: str) -> None:
    Draft202012Validator(json.loads(schema_text(schema))).validate(data)
