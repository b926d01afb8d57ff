"""Try one step of a workflow in a run of its own that leaves nothing behind (R227)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.app.run.start import RunRequest, StartedRun, start_run
from podium.app.values import own_name
from podium.core.addresses import ROOT
from podium.core.model import Block, Step, Workflow, no_fields
from podium.core.state import State
from podium.errors import ConfigurationError
from podium.git.branches import gc
from podium.git.repository import Repository
from podium.git.trees.diff import diff

if TYPE_CHECKING:
    from podium.app.project import Office


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTrial:
    file: Path
    step: str
    inputs: Mapping[str, Any]
    vars: Mapping[str, Any] = field(default_factory=dict)
    dirty: bool = False
    no_human: bool = False
    sandbox: str | None = None


@contextmanager
def prepared(apart: Office, trial: StepTrial) -> Iterator[StartedRun]:
    """A run of the one step. `apart` keeps its log somewhere else than the project's runs; its refs go afterwards."""
    order = RunRequest(
        file=trial.file,
        inputs=trial.inputs,
        vars=trial.vars,
        dirty=trial.dirty,
        no_human=trial.no_human,
        sandbox=trial.sandbox,
    )
    begun = start_run(apart, order, narrow=lambda workflow: only(workflow, trial.step))
    try:
        yield begun
    finally:
        if begun.site.repository is not None:
            _forget(begun.site.repository, begun.run)


def only(workflow: Workflow, path: str) -> Workflow:
    """The workflow with nothing but that step; where its outcomes lead does not matter here."""
    step = _find(workflow.body, path.split("/"), path)
    alone = replace(step, on=no_fields(), needs=(), when=None)
    body = Block("seq", (alone,), index={alone.name: 0})
    return replace(workflow, body=body, finally_=None, outputs=())


def change_of(begun: StartedRun, state: State) -> str:
    """What the step has changed, as a diff."""
    repository, started = begun.site.repository, state.started
    root = state.instances.get(ROOT)
    head = getattr(root, "head", None)
    if repository is None or started is None or started.tree is None or head in (None, started.tree):
        return ""
    return diff(repository, started.tree, head).text


def _find(block: Block, names: list[str], path: str) -> Step:
    known = {step.name: step for step in block.steps}
    step = known.get(own_name(names[0], known))
    if step is None:
        raise ConfigurationError(f'there is no step "{path}"', hint=f"there are: {', '.join(known)}")
    if len(names) == 1:
        return step
    if not isinstance(step.verb, Block):
        raise ConfigurationError(f'"{names[0]}" is no block of steps, so there is no "{path}"')
    return _find(step.verb, names[1:], path)


def _forget(repository: Repository, run: str) -> None:
    gc.delete(repository, [each for each in gc.list_runs(repository) if each.run == run])
