"""A simulated step finds its memory empty, and the run ends as without one."""

from __future__ import annotations

from pathlib import Path

from podium.core.events import FactsAsked
from podium.simulate.run import simulate
from podium.simulate.scripted_world import ScriptedWorld
from podium.workflow.scripted.cast import NO_CAST
from tests.workflow.compiling import compile_text


def test_a_simulated_run_pins_an_empty_memory_and_merges_nothing(tmp_path: Path) -> None:
    workflow = compile_text(
        tmp_path,
        "podium: 1\nname: w\nsteps: {a: {run: [x], memory: lessons}, b: {agent: claude, prompt: Do., memory: lessons}}",
    )
    run = simulate(workflow, ScriptedWorld(NO_CAST))

    assert run.state.ended is not None
    assert run.state.ended.status == "passed"
    asked = [event.function for event in run.events if isinstance(event, FactsAsked)]
    assert asked == ["memory"]
