"""Where a run may be performed: refuses, before it starts, what its machines would not do."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from podium.core.addresses import ROOT
from podium.core.model import Workflow
from podium.core.queries.child_runs import child_runs
from podium.core.queries.steps import all_steps
from podium.errors import ConfigurationError
from podium.fast_dataclass import replace
from podium.git.exchange import exchange_of
from podium.git.repository import Repository
from podium.tasks.at_home import HOME, reason_for_home

if TYPE_CHECKING:
    from podium.app.run.start import RunSource

LOCAL: Final = "local"
"""The label of any machine: here this one, with workers the queue that all of them serve."""


def check_placement(workflow: Workflow, source: RunSource) -> None:
    _check_child_runs(workflow, source)
    problems = tuple(dict.fromkeys(_elsewhere(source) if source.on else _here(workflow)))
    if problems:
        lines = "\n".join(f"  {line}" for line in problems)
        where = f"workers of {source.on}" if source.on else "this machine"
        hint = (
            "run it without --on"
            if source.on
            else f"this machine has the labels {', '.join(own_labels())}; workers with others: podium run --on ADDRESS"
        )
        raise ConfigurationError(f"{source.file} cannot run on {where}:\n{lines}", hint=hint)


def _check_child_runs(workflow: Workflow, source: RunSource) -> None:
    for option in ("record", "replay", "on"):
        if getattr(source, option):
            for path, run in child_runs(workflow):
                raise ConfigurationError(
                    f'--{option} does not reach the run in {run.place.folder} that step "{path}" starts'
                )


def with_exchange(source: RunSource, repository: Repository | None) -> RunSource:
    """With the address of the repository by which workers get and return work."""
    if repository is None:
        raise ConfigurationError(
            "workers check the project out of a git repository, and this is not one",
            hint="git init, and commit",
        )
    return replace(source, exchange=exchange_of(repository, source.exchange))


def source_text(source: RunSource) -> str:
    """As it is stored; what was not chosen is left out, so that earlier versions read the runs of this one."""
    stored = asdict(source)
    return json.dumps(
        {name: value for name, value in stored.items() if value or name not in ("on", "exchange")}
    )


def own_labels() -> tuple[str, ...]:
    """The labels that this machine has without being told."""
    return (LOCAL, HOME, sys.platform, socket.gethostname())


def _here(workflow: Workflow) -> Iterator[str]:
    own = own_labels()
    for path, step, _ in all_steps(workflow):
        labels = step.settings.runs_on
        if labels and not set(labels) & set(own):
            yield f'step "{path}" has runs_on: {", ".join(labels)}, and nothing here serves that'


def _elsewhere(source: RunSource) -> Iterator[str]:
    for option in ("record", "replay"):
        if getattr(source, option):
            yield f"--{option} reads or writes a folder of this machine"
    if source.past:
        yield "the results of an earlier run are on this machine"


def steps_at_home(workflow: Workflow) -> tuple[str, ...]:
    """The steps that only a worker in this folder can perform, each with the reason."""
    reasons = (
        (path, "its format works in this folder" if inner.config.works_in_project else reason_for_home(step))
        for path, step, inner in all_steps(workflow)
        if path != ROOT
    )
    return tuple(dict.fromkeys(f"{path}: {reason}" for path, reason in reasons if reason))
