"""What is said about a rule of a cast that nothing matched."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.app.author.load import open_workflow
from podium.simulate.run import simulate
from podium.simulate.scripted_world import ScriptedWorld, explain_unmatched
from podium.workflow.scripted.cast import is_named, read_cast

FLOW = """\
podium: 1
name: flow
steps:
  write: {agent: claude, prompt: Write., touches: [], retry: {attempts: 2}, gates: [{name: tests, run: make}]}
  each: {for_each: {in: [a, b]}, steps: {find: {agent: claude, prompt: Find., touches: []}}}
  pause: {wait: {signal: go}}
  ask: {human: "Good?"}
"""


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (
            "{step: wirte}",
            'nothing at "wirte" was asked (did you mean "write"?); there were: write, write/tests, each/find, pause, ask',
        ),
        (
            "{step: nobody}",
            'nothing at "nobody" was asked; there were: write, write/tests, each/find, pause, ask',
        ),
        ("{step: write, attempt: 2}", "there were only places with other numbers: write visit 1 attempt 1"),
        (
            "{step: find, iteration: 3}",
            "there were only places with other numbers: each[1]/find visit 1 attempt 1, each[2]/find visit 1 attempt 1",
        ),
        (
            "{step: write, prompt: Read}",
            "there were only places with another prompt: write visit 1 attempt 1",
        ),
        ("{step: ask}", "an earlier rule answers ask"),
        ("{step: tests}", '"tests" is a command, which really runs in a test'),
    ],
)
def test_a_rule_that_nothing_matched_is_explained_by_the_places_there_were(
    tmp_path: Path, rule: str, reason: str
) -> None:
    (tmp_path / "flow.yaml").write_text(FLOW)
    first = "- {match: {step: ask}, action: approve}\n- {match: {step: tests}, exit: 0}\n"
    (tmp_path / "cast.yaml").write_text(f"{first}- {{match: {rule}, text: x}}\n")
    world = ScriptedWorld(read_cast(tmp_path / "cast.yaml"))

    run = simulate(open_workflow(tmp_path / "flow.yaml"), world, inputs={})

    [unmatched] = world.unmatched_rules()
    assert explain_unmatched(unmatched.match, run.state, run.events, runs_commands=True) == reason


@pytest.mark.parametrize("name", ["tests", "fix/tests", "fix#1/tests", "fix~2#1/tests"])
def test_a_place_has_the_same_names_everywhere(name: str) -> None:
    path = "fix~2#1/tests" if "~" in name else "fix#1/tests"

    assert is_named(name, path)
    assert not is_named("fix", path)
