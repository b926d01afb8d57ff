"""The worst case printed by `podium plan` is an upper bound, and the printed path reaches it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podium.app.author.load import open_workflow
from podium.app.values import assumed
from podium.core.addresses import ROOT
from podium.core.model import Workflow
from podium.simulate.forecast.best_case import best_case
from podium.simulate.forecast.case_analysis import Unbounded, calls
from podium.simulate.forecast.witness import witness, witness_lines
from podium.simulate.forecast.worst_case import worst_case
from podium.simulate.random_world import Odds, RandomWorld
from podium.simulate.run import simulate
from podium.views.run.trace import Trace, trace
from tests.simulate.worst_world import Worst

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[3] / "examples"
FILES = sorted(
    file
    for pattern in ("*/workflow.yaml", "slug/workflows/slug.yaml", "from_hand_to_agents/[1-9]_*.yaml")
    for file in EXAMPLES.glob(pattern)
    if not file.name.endswith(".test.yaml")
)
RUNS = int(os.environ.get("PODIUM_RUNS", "200"))

UNLUCKY = Odds(failed=0.6, transient=0.3, malformed=0.2, reject=0.7, person_rejects=0.5)


def name_of(file: Path) -> str:
    return file.parent.name if file.stem == "workflow" else file.stem


def simulate_run(workflow: Workflow, world: RandomWorld) -> Trace:
    return trace(simulate(workflow, world, inputs=assumed(workflow, {})).events)


def bound(workflow: Workflow) -> int:
    return worst_case(workflow, assumed(workflow, {}), calls).either[-1]


def load_steps(folder: Path, steps: str, top: str = "") -> Workflow:
    path = folder / "flow.yaml"
    path.write_text(f"podium: 1\nname: flow\n{top}\nsteps:\n{steps}")
    return open_workflow(path)


def no_run_exceeds(file: Path, runs: int) -> None:
    workflow = open_workflow(file)
    inputs = assumed(workflow, {})
    most, fewest = bound(workflow), best_case(workflow, inputs, calls)
    for seed in range(runs):
        run = simulate_run(workflow, RandomWorld(seed, UNLUCKY if seed % 2 else Odds()))
        assert run.calls <= most, f"seed {seed}"
        if run.status == "passed":
            assert run.calls >= fewest, f"seed {seed}"


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_no_simulated_run_of_an_example_exceeds_its_worst_case(file: Path) -> None:
    """X1"""
    no_run_exceeds(file, 30)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_no_run_of_many_exceeds_the_worst_case(file: Path) -> None:
    """X1: ten thousand runs in `make torture`."""
    no_run_exceeds(file, RUNS)


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_the_witness_reaches_the_worst_case(file: Path) -> None:
    """X1: simulated by the same core as any run, it reaches at least 90 % of the bound."""
    workflow = open_workflow(file)
    found = worst_case(workflow, assumed(workflow, {}), calls)
    run = simulate_run(workflow, Worst(witness(found)))

    assert 0.9 * found.either[-1] <= run.calls <= found.either[-1]


@pytest.mark.req("C22")
def test_retries_repairs_and_lost_answers_are_counted(tmp_path: Path) -> None:
    retry = "{attempts: 2, transient: 1, repair: 1, degrade: [simpler], on_exhausted: fail}"
    workflow = load_steps(tmp_path, f"  work: {{agent: claude, prompt: do it, retry: {retry}}}\n")

    assert bound(workflow) == 3 * 3
    assert best_case(workflow, {}, calls) == 1


def test_reviewers_in_gates_are_counted_with_each_attempt(tmp_path: Path) -> None:
    retry = "{attempts: 2, transient: 0, repair: 0, on_exhausted: fail}"
    gate = "{review: {claude}, retry: none}".replace("{claude}", "codex")
    workflow = load_steps(
        tmp_path, f"  work: {{agent: claude, prompt: do it, retry: {retry}, gates: [{gate}]}}\n"
    )

    assert bound(workflow) == 2 * 2
    assert best_case(workflow, {}, calls) == 2


def test_the_number_of_items_comes_from_the_inputs_or_the_limit(tmp_path: Path) -> None:
    """X1"""
    steps = (
        "  each:\n    for_each: {in: inputs.names, as: name}\n    agent: claude\n"
        '    prompt: "{{ name }}"\n    retry: none\n    on: {failed: next}\n    touches: []\n'
    )
    workflow = load_steps(tmp_path, steps, "inputs: {names: list}")
    assert worst_case(workflow, {"names": ["a", "b", "c"]}, calls).either[-1] == 3

    found = steps.replace("inputs.names", "steps.find.output")
    workflow = load_steps(tmp_path, "  find: {run: ls, output: lines}\n" + found, "limits: {members: 7}")
    assert bound(workflow) == 7


def test_the_number_of_items_comes_from_a_variable_that_no_step_sets(tmp_path: Path) -> None:
    """X1"""
    steps = (
        "  each:\n    for_each: {in: vars.parts, as: part}\n    agent: claude\n"
        '    prompt: "{{ part }}"\n    retry: none\n    on: {failed: next}\n    touches: []\n'
    )
    workflow = load_steps(tmp_path, steps, "vars: {parts: [a, b]}")
    assert bound(workflow) == best_case(workflow, {}, calls) == 2

    workflow = load_steps(tmp_path, "  more: {set: {parts: [a, b, c]}}\n" + steps, "vars: {parts: [a, b]}")
    assert (bound(workflow), best_case(workflow, {}, calls)) == (100, 0)


def test_an_unbounded_number_of_items_is_reported(tmp_path: Path) -> None:
    """X1"""
    steps = (
        "  find: {run: ls, output: lines}\n"
        '  each: {for_each: {in: steps.find.output, as: name}, agent: claude, prompt: "{{ name }}", touches: []}\n'
    )
    with pytest.raises(Unbounded, match=r"each: .*limits\.members"):
        bound(load_steps(tmp_path, steps, "limits: {members: null}"))


def test_a_condition_on_inputs_is_evaluated_beforehand(tmp_path: Path) -> None:
    step = "  work: {agent: claude, prompt: do it, when: inputs.deep, retry: {on_exhausted: fail}}\n"
    workflow = load_steps(tmp_path, step, "inputs: {deep: bool}")

    assert worst_case(workflow, {"deep": False}, calls).either[-1] == 0
    assert worst_case(workflow, {"deep": True}, calls).either[-1] == 18
    assert best_case(workflow, {"deep": True}, calls) == 1


def test_attempts_granted_by_people_are_bounded_by_transitions_and_printed(tmp_path: Path) -> None:
    """R126 R130"""
    retry = "{attempts: 1, transient: 0, repair: 0, on_exhausted: human}"
    workflow = load_steps(
        tmp_path, f"  work: {{agent: claude, prompt: do it, retry: {retry}}}\n", "limits: {transitions: 20}"
    )
    found = worst_case(workflow, {}, calls)

    assert found.either[-1] == 20  # one entry, nineteen times "once more", each a transition
    assert witness_lines(witness(found)) == ("work (granted 19 more tries)",)
    run = simulate(workflow, Worst(witness(found)), inputs={})
    assert run.state.ledgers[ROOT].spent.calls == 20


def test_a_limit_on_calls_caps_the_worst_case(tmp_path: Path) -> None:
    workflow = load_steps(
        tmp_path,
        "  work: {agent: claude, prompt: do it}\n  judge: {review: codex, of: work, on: {rejected: work}}\n",
        "limits: {calls: 12}",
    )

    assert bound(workflow) == 12
    assert simulate_run(workflow, Worst(witness(worst_case(workflow, {}, calls)))).calls == 12
