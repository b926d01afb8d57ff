"""Lists the commands of a workflow that run tests, which are judged more strictly than others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from podium.core.model import Command
from podium.workflow.test_gates import runner_of

if TYPE_CHECKING:
    from podium.core.model import Workflow


class ListedSuite(NamedTuple):
    path: str
    """The address of the step or gate, without numbers."""
    runner: str
    """The recognised runner, or why the command counts: `junit`, `tests`."""


def list_suites(workflow: Workflow) -> tuple[ListedSuite, ...]:
    from podium.core.queries.steps import all_steps

    suites = []
    for path, step, _ in all_steps(workflow):
        verb = step.verb
        if not isinstance(verb, Command):
            continue
        runner = runner_of([word for word in verb.argv if isinstance(word, str)], verb.script)
        declared = [key for key, value in (("junit", verb.junit), ("tests", verb.tests)) if value is not None]
        if runner is not None or declared:
            suites.append(
                ListedSuite(str(path), runner if runner not in (None, "other") else (*declared, "tests")[0])
            )
    return tuple(suites)
