"""A task says what the state says, also after it was sent as JSON; for every workflow in every world."""

from __future__ import annotations

from hypothesis import given

from podium.core.expressions import nodes
from podium.tasks.task_json import decode, encode
from tests.core.bias import Bias
from tests.core.driver import drive
from tests.core.strategies import Case, cases
from tests.tasks.kit import readings, sent, tasks_of

ANY = Bias()


@given(cases(ANY))
def test_every_task_is_the_same_after_it_was_sent(case: Case) -> None:
    for task, _ in tasks_of(case.workflow, drive(case.workflow, case.world()).log):
        assert encode(sent(task)) == encode(task)


@given(cases(ANY))
def test_a_task_that_was_sent_reads_what_the_state_says(case: Case) -> None:
    for task, state in tasks_of(case.workflow, drive(case.workflow, case.world()).log):
        for in_state, in_task in readings(task, state):
            assert in_task == in_state


def test_a_deep_expression_is_read_in_a_time_that_grows_with_its_depth() -> None:
    """Trying each alternative of a type anew at every level would double the time with each `not`."""
    node: nodes.Node = nodes.Name("ready")
    for _ in range(60):
        node = nodes.Not(node)
    assert decode(nodes.Not, encode(node)) == node
