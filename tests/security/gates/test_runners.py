"""The cheats of other runners than pytest: none passes the gate of a plain command (issue 16, done when 3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.security.gates.batch import judged
from tests.security.gates.cheats import SUITES
from tests.security.gates.corpus import put
from tests.security.gates.test_steering import run_batch
from tests.security.gates.tools import TOOLS

PAGE = Path(__file__).parents[3] / "docs/explanation/security.md"
PARTS = tuple(range(5))


@pytest.mark.security
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("runner", SUITES)
def test_no_cheat_passes_the_gate_of_a_runner(tmp_path: Path, runner: str, part: int) -> None:
    suite = SUITES[runner]
    names = list(suite.cheats)[part :: len(PARTS)]

    ends, _ = run_batch(tmp_path, suite.project, [suite.cheats[name] for name in names])

    passed = [f"{name}: {end}" for name, end in zip(names, ends, strict=True) if not end.is_caught]
    assert "\n".join(passed) == ""


@pytest.mark.security
@pytest.mark.parametrize("runner", SUITES)
def test_honest_work_passes_and_so_does_what_the_page_names(tmp_path: Path, runner: str) -> None:
    suite = SUITES[runner]

    ends, out = run_batch(tmp_path, suite.project, [suite.honest, *suite.residual.values()])

    assert [end.outcome for end in ends] == ["passed"] * len(ends), out
    page = " ".join(PAGE.read_text("utf-8").split())
    assert [key for key in suite.residual if key not in page] == []


@pytest.mark.security
def test_there_are_enough_cheats_of_every_runner() -> None:
    assert all(len(suite.cheats) >= 15 for suite in SUITES.values())
    assert sum(len(suite.cheats) for suite in SUITES.values()) >= 60


@pytest.mark.security
def test_an_own_reporter_of_node_does_not_hide_that_nothing_was_tested(tmp_path: Path) -> None:
    tool = TOOLS["node"]
    gate = {"name": "gate", "run": ["node", "--test", "--test-reporter=dot", "tests/"]}
    skipped = "sed -i \"s/test('adds/test.skip('adds/\" tests/app.test.js"

    ends, done = judged(
        tmp_path, tool.files, gate, [tool.honest, skipped, put("lib/app.js", "process.exit(0);")]
    )

    assert [end.outcome for end in ends] == ["passed", "failed", "failed"], done.out
