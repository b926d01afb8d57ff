"""The lists that simulated steps answer with, where a loop goes over them."""

from __future__ import annotations

from pathlib import Path

from podium.app.author.load import open_workflow
from podium.app.forecast.plan import plan
from podium.core.addresses import ROOT
from podium.core.model import Output, Workflow
from podium.simulate.loop_lists import Listing, answer_with, lists_of
from podium.simulate.random_world import RandomWorld
from podium.simulate.run import simulate
from podium.workflow.contracts.examples import middle

ONCE = "retry: {attempts: 1, transient: 0, repair: 0, on_exhausted: fail}"


def written(folder: Path, steps: str, top: str = "") -> Workflow:
    path = folder / "flow.yaml"
    path.write_text(f"podium: 1\nname: flow\n{top}\nsteps:\n{steps}")
    return open_workflow(path)


def test_ordinary_luck_finds_something_to_loop_over(tmp_path: Path) -> None:
    """With an empty list `likely` would say that nothing is called."""
    steps = (
        "  find: {run: ls, output: json}\n"
        f'  each: {{for_each: {{in: steps.find.output, as: x, key: x.name}}, agent: claude, prompt: "{{{{ x.name }}}}", touches: [], {ONCE}}}\n'
    )
    workflow = written(tmp_path, steps)

    assert plan(workflow, {}).ranges["calls"].likely >= 1
    widths = {simulate(workflow, RandomWorld(seed)).state.ledgers[ROOT].spent.calls for seed in range(30)}
    assert 0 in widths


def test_a_list_in_a_contract_is_made_longer_within_it() -> None:
    things = {
        "type": "array",
        "items": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
    }
    schema = {
        "type": "object",
        "properties": {"things": things, "why": {"type": "string"}},
        "required": ["things", "why"],
    }
    listing = Listing(("things",), (("id",),))

    made = answer_with(Output("schema", schema), listing, "x", 4, middle)
    assert [thing["id"] for thing in made["things"]] == ["x 1 id", "x 2 id", "x 3 id", "x 4 id"]
    assert made["why"] == "x why"
    assert (
        answer_with(Output("schema", schema), Listing(("why", "not"), ()), "x", 4, middle)["why"] == "x why"
    )
    assert answer_with(Output("text"), listing, "x", 4, middle) == "x"


def test_what_loops_read_is_found_wherever_they_stand(tmp_path: Path) -> None:
    steps = (
        "  find: {run: ls, output: json}\n"
        "  group:\n    steps:\n"
        "      each:\n        for_each: {in: steps.find.output, as: x, key: x.name, where: x.size > 1}\n"
        "        agent: claude\n        prompt: do\n        touches: []\n"
    )
    workflow = written(tmp_path, steps)

    assert lists_of(workflow) == {"find": Listing((), (("name",), ("size",)))}
