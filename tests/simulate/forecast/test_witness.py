"""The witness of the worst case and the world that follows it: outcomes of members, widths of loops, printed lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.app.author.load import open_workflow
from podium.core.addresses import ROOT
from podium.core.events import StepExpanded
from podium.core.model import Members, Step, Workflow
from podium.core.types import Address
from podium.simulate.forecast.case_analysis import calls
from podium.simulate.forecast.witness import Witness, WitnessStep, ends_of, witness, witness_lines
from podium.simulate.forecast.worst_case import worst_case
from podium.simulate.run import SimulatedRun, simulate
from tests.core.kit import agent, block
from tests.simulate.worst_world import Worst

ONCE = "retry: {attempts: 1, transient: 0, repair: 0, on_exhausted: fail}"


def load_steps(folder: Path, steps: str, top: str = "") -> Workflow:
    path = folder / "flow.yaml"
    path.write_text(f"podium: 1\nname: flow\n{top}\nsteps:\n{steps}")
    return open_workflow(path)


def follow_witness(workflow: Workflow) -> SimulatedRun:
    return simulate(workflow, Worst(witness(worst_case(workflow, {}, calls))))


def outcomes(run: SimulatedRun, *paths: str) -> list[str]:
    endings = [run.state.instances[Address(path)].ending for path in paths]
    return [ending.outcome for ending in endings if ending is not None]


def members(rule: object, count: int = 3) -> Step:
    return Step("m", Members(tuple(agent(f"m{n}") for n in range(count)), rule))  # type: ignore[arg-type]  # a rule


@pytest.mark.parametrize(
    ("rule", "outcome", "ends"),
    [
        ("all", "passed", ["passed", "passed", "passed"]),
        ("all", "partial", ["passed", "passed", "failed"]),
        ("majority", "partial", ["passed", "failed", "failed"]),
        ("any", "failed", ["failed", "failed", "failed"]),
    ],
)
def test_members_end_so_that_their_step_has_the_planned_outcome(
    rule: object, outcome: str, ends: list[str]
) -> None:
    assert list(ends_of(members(rule), 3, outcome)) == ends  # type: ignore[arg-type]  # an outcome


def test_a_step_without_members_has_no_outcomes_to_assign() -> None:
    assert ends_of(members("any"), 0, "partial") == ()


def test_in_a_graph_only_steps_that_no_other_needs_fail() -> None:
    """A step that needs a failed step does not run and would make no calls."""
    graph = Step("g", block("dag", agent("a"), agent("b", needs=(0,)), agent("c", needs=(0,))))

    assert ends_of(graph, 3, "failed") == ("passed", "failed", "failed")


def test_several_agents_all_fail_where_their_failure_leads_back(tmp_path: Path) -> None:
    """Otherwise the step passes, and the run continues instead of repeating."""
    steps = (
        f"  draft: {{agent: claude, prompt: write, {ONCE}}}\n"
        f"  audit: {{agent: [claude, gemini], prompt: judge, touches: [], on: {{failed: draft}}, {ONCE}}}\n"
    )
    workflow = load_steps(tmp_path, steps, "limits: {transitions: 6}")
    bound = worst_case(workflow, {}, calls)
    run = follow_witness(workflow)

    assert outcomes(run, "audit/claude", "audit/gemini", "audit") == ["failed"] * 3
    assert run.state.ledgers[ROOT].spent.calls == bound.either[-1] == 3 * 3


def test_a_loop_gets_the_maximum_number_of_items_with_the_fields_it_reads(tmp_path: Path) -> None:
    steps = (
        "  find: {run: ls, output: json}\n"
        "  some: {check: len(steps.find.output.files) > 0}\n"
        "  each:\n    for_each: {in: steps.find.output.files, as: file, key: file.about.name}\n"
        f'    agent: claude\n    prompt: "{{{{ file.about.name }}}}"\n    touches: []\n    {ONCE}\n'
    )
    workflow = load_steps(tmp_path, steps, "limits: {members: 7}")
    run = follow_witness(workflow)

    opened = [e for e in run.events if isinstance(e, StepExpanded) and e.path == "each"]
    assert [(event.total, len(set(event.keys))) for event in opened] == [(7, 7)]
    assert run.state.ledgers[ROOT].spent.calls == worst_case(workflow, {}, calls).either[-1] == 7


def test_a_loop_over_files_gets_the_maximum_number_of_files(tmp_path: Path) -> None:
    steps = (
        "  find: {run: ls, output: lines}\n"
        f'  each: {{for_each: {{in: steps.find.output, as: x}}, agent: claude, prompt: "{{{{ x }}}}", touches: [], {ONCE}}}\n'
        f"  more: {{for_each: {{in: \"glob('*.py')\", as: x}}, agent: claude, prompt: do, touches: [], {ONCE}}}\n"
    )
    workflow = load_steps(tmp_path, steps, "limits: {members: 5}")

    assert (
        follow_witness(workflow).state.ledgers[ROOT].spent.calls
        == worst_case(workflow, {}, calls).either[-1]
        == 10
    )


def test_the_narrower_of_two_loops_over_one_list_limits_the_items(tmp_path: Path) -> None:
    """Too many items would end it before it begins."""
    loop = f'for_each: {{in: steps.find.output, as: x}}, agent: claude, prompt: "{{{{ x }}}}", touches: [], {ONCE}'
    steps = (
        "  find: {run: ls, output: lines}\n"
        f"  wide: {{{loop}}}\n"
        f"  narrow: {{{loop}, limits: {{members: 2}}}}\n"
    )
    run = follow_witness(load_steps(tmp_path, steps, "limits: {members: 9}"))

    assert outcomes(run, "wide", "narrow") == ["passed", "passed"]


def test_repeated_groups_are_printed_once_between_the_other_steps() -> None:
    names = ["plan", "do", "judge", "do~2", "judge~2", "each", "land"]
    ends = {
        "judge": WitnessStep("rejected"),
        "judge~2": WitnessStep("rejected"),
        "each": WitnessStep(items=3),
        "land": WitnessStep(grants=1),
    }
    parts = {Address(name): ends.get(name, WitnessStep()) for name in names}

    assert witness_lines(
        Witness({**parts, Address("each[1]"): WitnessStep(), Address("x/y"): WitnessStep()}, {})
    ) == (
        "plan",
        "do > judge:rejected  (2 times)",
        "each (3 items) > land (granted 1 more try)",
    )
