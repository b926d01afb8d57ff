"""Tries the gates of a workflow before a run, on the tree that the run would start from."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any, Literal

from anyio import to_thread

from podium.attempt.base_results import try_on_base
from podium.attempt.command.listed_gates import ListedGate, list_gates
from podium.attempt.command.look_up import missing_needs
from podium.attempt.command.trial import Trial, TrialStatus
from podium.attempt.host import Host
from podium.core.expressions.nodes import ExprError, NeedFact
from podium.core.expressions.templates import fill_argv
from podium.core.model import Command, Step, Workflow
from podium.core.queries.static_names import StaticNames, static_names
from podium.core.types import Tree
from podium.fast_dataclass import dataclass
from podium.git.repository import read_head, tree_with_uncommitted


@dataclass(frozen=True, slots=True)
class GateReport:
    """What is known about a gate before a run."""

    gate: str
    """Its address, without numbers."""
    label: str
    command: str
    status: TrialStatus | None
    """None: it was only looked for, and everything that it starts is there."""
    message: str
    tests: int | None
    duration_s: float

    @property
    def stops(self) -> bool:
        """Whether it cannot judge any work here."""
        return self.status in ("missing", "error", "timeout")


def base_tree(host: Host) -> Tree | None:
    """The tree that a run would start from; in a repository without commits, the files as they are."""
    if host.repository is None:
        return None
    head = read_head(host.repository)
    return tree_with_uncommitted(host.repository) if head.commit is None else head.tree


@dataclass(frozen=True, slots=True)
class TriedGate:
    """A gate with the names that are known before a run."""

    listed: ListedGate
    names: StaticNames
    command: str

    @property
    def baseline(self) -> Literal["warn", "refuse", "ignore"] | None:
        return self.listed.step.settings.baseline


async def look_up_gates(host: Host, workflow: Workflow, inputs: Mapping[str, Any]) -> tuple[GateReport, ...]:
    """Looks for the programs of all gates inside their sandboxes, without running the gates."""
    tree = await to_thread.run_sync(base_tree, host)
    reports = []
    for gate in distinct_gates(workflow, inputs):
        listed = gate.listed
        missing = await missing_needs(
            host, listed.step, gate.names, tree, path=listed.path, touches=_globs(listed.judged)
        )
        message = f"it does not find {', '.join(missing)}" if missing else ""
        reports.append(_report(gate, Trial("missing", message) if missing else None))
    return tuple(reports)


async def try_gates(
    host: Host, workflow: Workflow, inputs: Mapping[str, Any], on_start: Callable[[str], None]
) -> tuple[GateReport, ...]:
    """Runs all gates, one after another, also those whose result on the base is stored."""
    tree = await to_thread.run_sync(base_tree, host)
    reports = []
    for gate in distinct_gates(workflow, inputs):
        on_start(f"{gate.listed.label}: {gate.command}")
        reports.append(await try_gate(host, gate, tree, anew=True))
    return tuple(reports)


async def try_gate(host: Host, gate: TriedGate, tree: Tree | None, *, anew: bool = False) -> GateReport:
    listed = gate.listed
    trial = await try_on_base(host, listed.step, gate.names, tree, path=listed.path, anew=anew)
    return _report(gate, trial)


def _globs(judged: Step | None) -> tuple[str, ...]:
    """The globs of files that a step declares to change."""
    touches = None if judged is None else judged.touches
    return tuple(glob for glob in touches if isinstance(glob, str)) if isinstance(touches, tuple) else ()


def distinct_gates(workflow: Workflow, inputs: Mapping[str, Any]) -> list[TriedGate]:
    """Each command once, with the names that are known before a run; a called workflow gets its inputs during the run."""
    gates: dict[object, TriedGate] = {}
    for gate in list_gates(workflow):
        names = static_names(gate.workflow, inputs if gate.workflow is workflow else {})
        key = (gate.step.verb, gate.step.settings)
        gates.setdefault(repr(key), TriedGate(gate, names, command_text(gate, names)))
    return list(gates.values())


def command_text(gate: ListedGate, names: StaticNames) -> str:
    verb = gate.step.verb
    assert isinstance(verb, Command)
    if verb.script is not None:
        return next((line.strip() for line in verb.script.splitlines() if line.strip()), "")
    try:
        return shlex.join(fill_argv(verb.argv, names))
    except (ExprError, NeedFact):
        return shlex.join(word if isinstance(word, str) else "..." for word in verb.argv)


def _report(gate: TriedGate, trial: Trial | None) -> GateReport:
    shown = trial or Trial("passed")
    return GateReport(
        gate=gate.listed.path,
        label=gate.listed.label,
        command=gate.command,
        status=None if trial is None else trial.status,
        message=shown.message,
        tests=shown.tests,
        duration_s=shown.duration_s,
    )
