"""What a person is told before a run, and what is not started at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.app.author.load import open_workflow
from podium.app.forecast.check import check_plan
from podium.app.forecast.plan import plan
from podium.app.run.cost_history import history_of
from podium.core.model import Workflow
from podium.errors import ConfigurationError
from podium.simulate.run import simulate
from podium.simulate.scripted_world import ScriptedWorld
from podium.workflow.scripted.cast import NO_CAST
from tests.engine.kit import TEAM, Project


def written(folder: Path, steps: str, top: str = "") -> Workflow:
    path = folder / "flow.yaml"
    path.write_text(f"podium: 1\nname: flow\n{top}\nsteps:\n{steps}")
    return open_workflow(path)


@pytest.mark.req("X1")
def test_a_plan_names_the_limits_that_cut_it_off_and_where_estimates_come_from(tmp_path: Path) -> None:
    steps = (
        "  work: {agent: claude, prompt: x, estimate: {usd: 0.2, tokens: 1000}}\n"
        "  judge: {review: codex, of: work, on: {rejected: work}}\n"
    )
    found = plan(written(tmp_path, steps, "limits: {usd: 2}"), {})

    assert (found.ranges["calls"].least, found.ranges["calls"].cut) == (2, "limits.transitions")
    assert (found.ranges["usd"].most, found.ranges["usd"].cut) == (2_000_000, "limits.usd")
    assert found.ranges["usd"].least == 200_000
    assert {name: price.source for name, price in found.prices.items()} == {
        "work": "declared",
        "judge/codex": "default",
    }
    assert any("judge:rejected" in line for line in found.way)


@pytest.mark.req("X1")
@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ("{calls: 1}", "takes 2 agent calls, and limits.calls is 1"),
        ("{usd: 1}", "costs $1.50 as `estimate` declares, and limits.usd is $1.00"),
        ("{usd: 5, calls: 9}", ""),
    ],
)
def test_what_its_limits_would_stop_on_the_cheapest_way_is_not_started(
    tmp_path: Path, limits: str, said: str
) -> None:
    steps = "".join(f"  {name}: {{agent: claude, prompt: x, estimate: {{usd: 0.75}}}}\n" for name in "ab")
    workflow = written(tmp_path, steps, f"limits: {limits}")

    if not said:
        assert plan(workflow, {}).refusals == ()
        return
    with pytest.raises(ConfigurationError) as refused:
        check_plan(workflow, {})
    assert said in str(refused.value)
    assert refused.value.exit_code == 2


def test_agents_that_only_clean_up_are_no_reason_to_refuse_a_run(tmp_path: Path) -> None:
    """What cannot be paid in `finally` is skipped there, and the run passes; also in a called workflow."""
    one = "{agent: claude, prompt: x, touches: [], estimate: {usd: 0.75}}"
    (tmp_path / "child.yaml").write_text(
        f"podium: 1\nname: child\nsteps:\n  b: {one}\nfinally:\n  y: {one}\n"
    )
    steps = f"  a: {one}\n  sub: {{workflow: child.yaml}}\nfinally:\n  z: {one}\n"
    workflow = written(tmp_path, steps, "limits: {calls: 2, usd: 1.5}")

    found = plan(workflow, {})
    assert found.refusals == ()
    assert simulate(workflow, ScriptedWorld(NO_CAST), inputs={}).state.ended.status == "passed"  # type: ignore[union-attr]
    assert (found.ranges["calls"].least, found.ranges["calls"].most) == (2, 2)
    assert "takes 2 agent calls" in plan(written(tmp_path, steps, "limits: {calls: 1}"), {}).refusals[0]


@pytest.mark.parametrize(
    ("estimate", "least", "source"),
    [
        ("{usd: 0.2}", (200_000, 0), "declared"),
        ("{tokens: 1k}", (0, 1_000), "default"),
        ("{usd: 0.2, tokens: 1k}", (200_000, 1_000), "declared"),
    ],
)
def test_whoever_declares_one_unit_says_nothing_about_the_least_of_the_other(
    tmp_path: Path, estimate: str, least: tuple[int, int], source: str
) -> None:
    steps = f"  a: {{agent: claude, prompt: x, estimate: {estimate}}}\n"
    workflow = written(tmp_path, steps, "limits: {usd: 0.3, tokens: 100k}")
    found = plan(workflow, {})

    assert (found.prices["a"].usd[0], found.prices["a"].tokens[0]) == least
    assert found.prices["a"].source == source
    assert found.refusals == ()


def test_what_earlier_attempts_used_is_the_better_estimate(tmp_path: Path) -> None:
    project = Project(tmp_path)
    cast = "- {match: {step: a}, usage: {input: 300, output: 40}}\n"
    file = project.flow("  a: {agent: w, prompt: x, touches: []}\n", head=TEAM, cast=cast)
    run, _ = project.run(file)

    found = plan(open_workflow(file), {}, history_of([project.events(run)]))

    assert (found.prices["a"].source, found.prices["a"].attempts) == ("history", 1)
    assert found.prices["a"].tokens == (340, 340, 340)


@pytest.mark.req("X3")
def test_an_agent_without_a_price_is_refused_where_the_file_says_so(tmp_path: Path) -> None:
    project = Project(tmp_path)
    head = "podium: 1\nname: flow\nagents: {mine: {type: command, command: [cat]}}\nlimits: {unknown_cost: refuse}\n"
    file = project.flow("  a: {agent: mine, prompt: x}\n", head=head)

    with pytest.raises(ConfigurationError, match='"mine", whose price is unknown'):
        project.begin(file)


def test_a_number_that_only_the_run_knows_does_not_keep_it_from_starting(tmp_path: Path) -> None:
    retry = '{attempts: "${{ vars.n }}", on_exhausted: fail}'
    steps = f"  a: {{agent: claude, prompt: x, retry: {retry}}}\n  b: {{set: {{n: 3}}}}\n"
    workflow = written(tmp_path, steps, "vars: {n: 2}")

    assert check_plan(workflow, {}) is None
    assert plan(workflow, {}).ranges["calls"].most is None


@pytest.mark.parametrize(("repair", "calls"), [("", 3), (", retry: {repair: 0}", 1)])
def test_a_plan_says_how_many_calls_an_attempt_may_take(tmp_path: Path, repair: str, calls: int) -> None:
    """Answers that do not fit are asked for again within the attempt: nine calls for three attempts."""
    step = f"  ask: {{agent: w, prompt: Do., output: json, touches: []{repair}}}\n"
    workflow = written(tmp_path, step, "agents: {w: {type: scripted}}")

    assert plan(workflow, {}).repairs["ask"] + 1 == calls
