"""The witness of the worst case, and the world that plays it: ends of members, widths of loops, the lines that tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.app.author.load import open_workflow
from podium.core.addresses import ROOT
from podium.core.events import StepExpanded
from podium.core.model import Members, Step, Workflow
from podium.core.types import Path as Address
from podium.simulate.forecast.witness import Part, Witness, ends_of, told, witness
from podium.simulate.forecast.worst_case import calls, worst
from podium.simulate.run import Simulated, simulate
from tests.core.kit import agent, block
from tests.simulate.worst_world import Worst

ONCE = "retry: {attempts: 1, transient: 0, repair: 0, on_exhausted: fail}"


def written(folder: Path, steps: str, top: str = "") -> Workflow:
    path = folder / "flow.yaml"
    path.write_text(f"podium: 1\nname: flow\n{top}\nsteps:\n{steps}")
    return open_workflow(path)


def played(workflow: Workflow) -> Simulated:
    return simulate(workflow, Worst(witness(worst(workflow, {}, calls))))


def outcomes(run: Simulated, *paths: str) -> list[str]:
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
def test_members_end_so_that_their_step_ends_as_planned(rule: object, outcome: str, ends: list[str]) -> None:
    assert list(ends_of(members(rule), 3, outcome)) == ends  # type: ignore[arg-type]  # an outcome


def test_nobody_has_to_end_where_there_is_nobody() -> None:
    assert ends_of(members("any"), 0, "partial") == ()


def test_in_a_graph_only_what_nothing_waits_for_fails() -> None:
    """What needs a failed step is not done, and would make no calls."""
    graph = Step("g", block("dag", agent("a"), agent("b", needs=(0,)), agent("c", needs=(0,))))

    assert ends_of(graph, 3, "failed") == ("passed", "failed", "failed")


def test_several_agents_all_fail_where_their_failure_leads_back(tmp_path: Path) -> None:
    """Otherwise the step passes, and the run goes on instead of going round."""
    steps = (
        f"  draft: {{agent: claude, prompt: write, {ONCE}}}\n"
        f"  audit: {{agent: [claude, gemini], prompt: judge, touches: [], on: {{failed: draft}}, {ONCE}}}\n"
    )
    workflow = written(tmp_path, steps, "limits: {transitions: 6}")
    found = worst(workflow, {}, calls)
    run = played(workflow)

    assert outcomes(run, "audit/claude", "audit/gemini", "audit") == ["failed"] * 3
    assert run.state.ledgers[ROOT].spent.calls == found.either[-1] == 3 * 3


def test_a_loop_gets_as_many_items_as_it_may_have_with_the_fields_it_reads(tmp_path: Path) -> None:
    steps = (
        "  find: {run: ls, output: json}\n"
        "  some: {check: len(steps.find.output.files) > 0}\n"
        "  each:\n    for_each: {in: steps.find.output.files, as: file, key: file.about.name}\n"
        f'    agent: claude\n    prompt: "{{{{ file.about.name }}}}"\n    touches: []\n    {ONCE}\n'
    )
    workflow = written(tmp_path, steps, "limits: {members: 7}")
    run = played(workflow)

    opened = [e for e in run.events if isinstance(e, StepExpanded) and e.path == "each"]
    assert [(event.total, len(set(event.keys))) for event in opened] == [(7, 7)]
    assert run.state.ledgers[ROOT].spent.calls == worst(workflow, {}, calls).either[-1] == 7


def test_a_loop_over_files_gets_as_many_as_it_may_have(tmp_path: Path) -> None:
    steps = (
        "  find: {run: ls, output: lines}\n"
        f'  each: {{for_each: {{in: steps.find.output, as: x}}, agent: claude, prompt: "{{{{ x }}}}", touches: [], {ONCE}}}\n'
        f"  more: {{for_each: {{in: \"glob('*.py')\", as: x}}, agent: claude, prompt: do, touches: [], {ONCE}}}\n"
    )
    workflow = written(tmp_path, steps, "limits: {members: 5}")

    assert played(workflow).state.ledgers[ROOT].spent.calls == worst(workflow, {}, calls).either[-1] == 10


def test_the_narrower_of_two_loops_over_one_list_is_not_overrun(tmp_path: Path) -> None:
    """Too many items would end it before it has begun."""
    loop = f'for_each: {{in: steps.find.output, as: x}}, agent: claude, prompt: "{{{{ x }}}}", touches: [], {ONCE}'
    steps = (
        "  find: {run: ls, output: lines}\n"
        f"  wide: {{{loop}}}\n"
        f"  narrow: {{{loop}, limits: {{members: 2}}}}\n"
    )
    run = played(written(tmp_path, steps, "limits: {members: 9}"))

    assert outcomes(run, "wide", "narrow") == ["passed", "passed"]


def test_what_repeats_itself_is_told_once_and_the_rest_in_between() -> None:
    names = ["plan", "do", "judge", "do~2", "judge~2", "each", "land"]
    ends = {
        "judge": Part("rejected"),
        "judge~2": Part("rejected"),
        "each": Part(items=3),
        "land": Part(grants=1),
    }
    parts = {Address(name): ends.get(name, Part()) for name in names}

    assert told(Witness({**parts, Address("each[1]"): Part(), Address("x/y"): Part()}, {})) == (
        "plan",
        "do > judge:rejected  (2 times)",
        "each (3 items) > land (granted 1 more try)",
    )
