"""Finds gates that are red on the tree a run starts from, before an agent is blamed for them (`baseline`).

With `refuse` they run before the run exists. Otherwise they run beside its first attempts, and their results are only
reported. What an earlier check has found out on the same tree with the same toolchain is not repeated.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, Final

import anyio
from anyio import to_thread

from podium.app.gate_trials import GateReport, TriedGate, distinct_gates, try_gate
from podium.attempt.host import Host, no_progress
from podium.attempt.workspace import workspace
from podium.attempt.workspace.folder_pool import FolderPool, discard_workspace
from podium.attempt.workspace.private_dirs import PrivateDirPool
from podium.core.expressions.nodes import ExprError, NeedFact, Node, evaluate
from podium.core.model import Agent, Command, Workflow
from podium.core.queries.static_names import StaticNames
from podium.core.queries.steps import all_steps
from podium.core.types import Tree
from podium.errors import ConfigurationError, PodiumError
from podium.files.project_paths import ProjectPaths

OnBaseline = Callable[[GateReport], None]
REPORTED: Final = ("red", "missing", "timeout", "error")


def refuse_red_base(
    host: Host,
    workflow: Workflow,
    inputs: Mapping[str, Any],
    tree: Tree | None,
    on_start: Callable[[str], None],
) -> None:
    """Raises ConfigurationError if a gate with `baseline: refuse` does not pass on the tree."""
    gates = () if host.context.agents_simulated else refusing_gates(workflow, inputs)
    if not gates:
        return

    async def check() -> list[GateReport]:
        async with beside(host) as base:
            reports = []
            for gate in gates:
                on_start(f"{gate.listed.label} on the base: {gate.command}")
                reports.append(await try_gate(base, gate, tree))
            return reports

    red = [report for report in anyio.run(check) if report.status in REPORTED]
    if red:
        lines = "\n".join(f"  {describe(report)}" for report in red)
        raise ConfigurationError(
            f"nothing was started: baseline is refuse, and on the base\n{lines}",
            hint="mend the base first; if the run is to mend it, write `baseline: warn` instead, or type --set "
            "baseline=warn if the file sets it at the top",
            code="red_base",
        )


async def report_red_base(
    host: Host, workflow: Workflow, inputs: Mapping[str, Any], tree: Tree | None, on_baseline: OnBaseline
) -> None:
    """Report each gate that does not pass on the tree. Gates with `refuse` have passed before the start.

    Where nothing is written, gates are checked only if an agent calls a model, because the others cost nothing.
    """
    if tree is None or host.context.agents_simulated:
        # Outside of git commands run in the project itself, where an attempt is changing files.
        return
    chosen = ("warn", None) if host.context.uses_models else ("warn",)
    gates = [gate for gate in _checked_gates(workflow, inputs) if gate.baseline in chosen]
    if not gates:
        return
    # What goes wrong here must not end the run; its own gates meet the same fault.
    with suppress(PodiumError, OSError):
        async with beside(host) as base:
            for gate in gates:
                report = await try_gate(base, gate, tree)
                if report.status in REPORTED:
                    on_baseline(report)


def describe(report: GateReport) -> str:
    fact = "fails before any change" if report.status == "red" else "cannot judge any work"
    return f"{report.label} {fact}: {report.message}"


def refusing_gates(workflow: Workflow, inputs: Mapping[str, Any]) -> Sequence[TriedGate]:
    """The gates that must pass on the base, or the run does not start."""
    return [gate for gate in _checked_gates(workflow, inputs) if gate.baseline == "refuse"]


def _checked_gates(workflow: Workflow, inputs: Mapping[str, Any]) -> Sequence[TriedGate]:
    """The gates whose result on the base matters.

    Not those that ask for a red test, nor the same command elsewhere; not steps before the first agent, which run on the
    base anyway; not what `when` skips.
    """
    gates = distinct_gates(workflow, inputs)
    red = {_command(gate) for gate in gates if _verb(gate).must_fail_before}
    early = _before_first_agent(workflow)
    return [
        gate
        for gate in gates
        if _command(gate) not in red
        and not (gate.listed.judged is None and gate.listed.path in early)
        and not _is_skipped(gate)
    ]


def _verb(gate: TriedGate) -> Command:
    verb = gate.listed.step.verb
    assert isinstance(verb, Command)
    return verb


def _command(gate: TriedGate) -> str:
    verb = _verb(gate)
    return repr((verb.argv, verb.script, gate.listed.step.settings.dir))


def _before_first_agent(workflow: Workflow) -> frozenset[str]:
    paths = []
    for path, step, _ in all_steps(workflow):
        if isinstance(step.verb, Agent):
            break
        paths.append(str(path))
    return frozenset(paths)


def _is_skipped(gate: TriedGate) -> bool:
    judged = gate.listed.judged
    conditions = (gate.listed.step.when, None if judged is None else judged.when)
    return any(_is_false(condition, gate.names) for condition in conditions if condition is not None)


def _is_false(condition: Node, names: StaticNames) -> bool:
    try:
        return evaluate(condition, names) is False
    except (ExprError, NeedFact):
        return False


@asynccontextmanager
async def beside(host: Host) -> AsyncIterator[Host]:
    """The same machine with folders of its own. Its processes have the run's marker, so that a sweep finds them."""
    work_dir = ProjectPaths(host.project).base_work_dir(host.run)
    # A process that was killed may have left it.
    await to_thread.run_sync(discard_workspace, work_dir)
    base = replace(
        host,
        # Outside of git commands run in the project itself, where Podium's folder must stay hidden.
        state_dir=host.state_dir if host.repository is None else work_dir / "state",
        work_dir=work_dir,
        folders=FolderPool(),
        private_dirs=PrivateDirPool(),
        on_progress=no_progress,
    )
    try:
        yield base
    finally:
        with anyio.CancelScope(shield=True):
            await workspace.clear(base)
