"""Run one step of a workflow in a run of its own, which is deleted afterwards (R227)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from podium.app.run.start import RunRequest, StartedRun, start_run
from podium.app.values import own_name
from podium.core.addresses import ROOT
from podium.core.model import Block, Step, Workflow
from podium.core.state import State
from podium.core.step_settings import no_fields
from podium.errors import ConfigurationError
from podium.git.branches import gc
from podium.git.repository import Repository
from podium.git.trees.diff import diff
from podium.views.run.labels import native_address

if TYPE_CHECKING:
    from podium.app.project import Project


@contextmanager
def step_run(apart: Project, request: RunRequest, step: str) -> Iterator[StartedRun]:
    """A run of one step. `apart` keeps its log apart from the project's runs; its refs are deleted afterwards."""
    started = start_run(apart, request, narrow=lambda workflow: only(workflow, step))
    try:
        yield started
    finally:
        if started.host.repository is not None:
            _forget(started.host.repository, started.run)


def only(workflow: Workflow, path: str) -> Workflow:
    """The workflow with only that step, without its routes."""
    step = _find(workflow.body, native_address(path, workflow.labels.steps).split("/"), path)
    alone = replace(step, on=no_fields(), needs=(), when=None)
    body = Block("seq", (alone,), index={alone.name: 0})
    return replace(workflow, body=body, finally_=None, outputs=())


def change_of(started: StartedRun, state: State) -> str:
    """What the step has changed, as a diff."""
    repository, base = started.host.repository, None if state.started is None else state.started.tree
    root = state.instances.get(ROOT)
    head = getattr(root, "head", None)
    if repository is None or base is None or head in (None, base):
        return ""
    return diff(repository, base, head).text


def check_new_folder(folder: Path) -> None:
    """Artifacts are written only where nothing is, so that no link leads them elsewhere."""
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise ConfigurationError(
            f'"{folder}" is not a new or empty folder', hint="choose another --artifacts"
        )


def copy_artifacts(run_dir: Path, folder: Path) -> None:
    """Copy what the step published, before its run is deleted; links are not followed."""
    source = run_dir / "artifacts"
    check_new_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.rglob("*")):
        if path.is_file() and not path.is_symlink():
            target = folder / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def _find(block: Block, names: list[str], path: str) -> Step:
    steps = {step.name: step for step in block.steps}
    step = steps.get(own_name(names[0], steps))
    if step is None:
        raise ConfigurationError(f'step "{path}" not found', hint=f"available: {', '.join(steps)}")
    if len(names) == 1:
        return step
    if not isinstance(step.verb, Block):
        raise ConfigurationError(f'step "{path}" not found: "{names[0]}" is not a block')
    return _find(step.verb, names[1:], path)


def _forget(repository: Repository, run: str) -> None:
    gc.delete(repository, [each for each in gc.list_runs(repository) if each.run == run])
