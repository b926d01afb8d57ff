"""The commands of a workflow that judge work: its gates, and the steps that run tests and keep no changes."""

from __future__ import annotations

from collections.abc import Iterator

from podium.core.model import Command, Gates, Step, Workflow
from podium.core.queries.steps import all_steps
from podium.fast_dataclass import dataclass
from podium.workflow.test_gates.listing import list_suites


@dataclass(frozen=True, slots=True)
class ListedGate:
    path: str
    """The address of the gate, without numbers."""
    step: Step
    judged: Step | None
    """The step that it judges; None for a step that runs tests."""
    workflow: Workflow
    """The workflow that contains it: the top one, or one that is called."""

    @property
    def label(self) -> str:
        line = f" (line {self.step.line})" if self.step.line else ""
        if self.judged is None:
            return f'step "{self.step.name}"{line}'
        return f'gate "{self.step.name}" of "{self.judged.name}"{line}'


def list_gates(workflow: Workflow) -> tuple[ListedGate, ...]:
    """Each command once for every step that it judges."""
    return tuple(_gates(workflow))


def _gates(workflow: Workflow) -> Iterator[ListedGate]:
    suites = {suite.path for suite in list_suites(workflow)}
    for path, step, inner in all_steps(workflow):
        if step.gates is not None and isinstance(step.gates.verb, Gates):
            for gate in step.gates.verb.members:
                if isinstance(gate.verb, Command):
                    yield ListedGate(f"{path}#/{gate.name}", gate, step, inner)
        if isinstance(step.verb, Command) and step.touches == () and "#" not in path and path in suites:
            yield ListedGate(str(path), step, None, inner)
