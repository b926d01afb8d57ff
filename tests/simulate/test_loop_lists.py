"""The lists in answers of simulated steps that a loop iterates over."""

from __future__ import annotations

from pathlib import Path

from podium.app.author.load import open_workflow
from podium.app.forecast.plan import plan
from podium.core.addresses import ROOT
from podium.core.model import Output, Workflow
from podium.simulate.loop_lists import AnswerList, answer_lists, answer_with
from podium.simulate.random_world import RandomWorld
from podium.simulate.run import simulate
from podium.workflow.contracts.examples import middle

ONCE = "retry: {attempts: 1, transient: 0, repair: 0, on_exhausted: fail}"


def load_steps(folder: Path, steps: str, top: str = "") -> Workflow:
    path = folder / "flow.yaml"
    path.write_text(f"podium: 1\nname: flow\n{top}\nsteps:\n{steps}")
    return open_workflow(path)


def test_default_odds_give_a_loop_some_items(tmp_path: Path) -> None:
    """With an empty list, the forecast would show no calls."""
    steps = (
        "  find: {run: ls, output: json}\n"
        f'  each: {{for_each: {{in: steps.find.output, as: x, key: x.name}}, agent: claude, prompt: "{{{{ x.name }}}}", touches: [], {ONCE}}}\n'
    )
    workflow = load_steps(tmp_path, steps)

    assert plan(workflow, {}).ranges["calls"].likely >= 1
    widths = {simulate(workflow, RandomWorld(seed)).state.ledgers[ROOT].spent.calls for seed in range(30)}
    assert 0 in widths


def test_a_list_in_an_answer_is_extended_within_its_schema() -> None:
    things = {
        "type": "array",
        "items": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
    }
    schema = {
        "type": "object",
        "properties": {"things": things, "why": {"type": "string"}},
        "required": ["things", "why"],
    }
    listing = AnswerList(("things",), (("id",),))

    answer = answer_with(Output("schema", schema), listing, "x", 4, middle)
    assert [thing["id"] for thing in answer["things"]] == ["x 1 id", "x 2 id", "x 3 id", "x 4 id"]
    assert answer["why"] == "x why"
    assert (
        answer_with(Output("schema", schema), AnswerList(("why", "not"), ()), "x", 4, middle)["why"]
        == "x why"
    )
    assert answer_with(Output("text"), listing, "x", 4, middle) == "x"


def test_fields_that_loops_read_are_found_at_any_depth(tmp_path: Path) -> None:
    steps = (
        "  find: {run: ls, output: json}\n"
        "  group:\n    steps:\n"
        "      each:\n        for_each: {in: steps.find.output, as: x, key: x.name, where: x.size > 1}\n"
        "        agent: claude\n        prompt: do\n        touches: []\n"
    )
    workflow = load_steps(tmp_path, steps)

    assert answer_lists(workflow) == {"find": AnswerList((), (("name",), ("size",)))}
