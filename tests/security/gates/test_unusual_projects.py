"""No cheat passes where tests have unusual names, or where no known file of tests changes (issue 16, done when 3)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.security.gates.batch import judged
from tests.security.gates.test_steering import run_batch
from tests.security.gates.unusual import PROJECTS
from tests.security.gates.wrapped import DATA
from tests.security.gates.wrapped import PROJECTS as WRAPPED

HALVES = (0, 1)
PAGE = Path(__file__).parents[3] / "docs/explanation/security.md"


@pytest.mark.security
@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("name", PROJECTS)
def test_no_cheat_passes_but_honest_work_does(tmp_path: Path, name: str, half: int) -> None:
    unusual = PROJECTS[name]
    names = list(unusual.cheats)[half :: len(HALVES)]
    scripts = [unusual.honest, *(unusual.cheats[cheat] for cheat in names)]

    (honest, *ends), out = run_batch(tmp_path, unusual.project, scripts)

    assert honest.outcome == "passed", out
    passed = [f"{cheat}: {end}" for cheat, end in zip(names, ends, strict=True) if not end.is_caught]
    assert "\n".join(passed) == ""


@pytest.mark.security
@pytest.mark.parametrize("name", WRAPPED)
def test_no_cheat_passes_a_runner_that_is_started_in_other_words(tmp_path: Path, name: str) -> None:
    wrapped = WRAPPED[name]

    (honest, *ends), out = run_batch(tmp_path, wrapped.project, [wrapped.honest, *wrapped.cheats.values()])

    if os.geteuid() and "Error 127" in out:
        pytest.skip("an ordinary user's step does not see the interpreter of the tests")
    assert honest.outcome == "passed", out
    passed = [f"{cheat}: {end}" for cheat, end in zip(wrapped.cheats, ends, strict=True) if not end.is_caught]
    assert "\n".join(passed) == ""


@pytest.mark.security
def test_expected_values_in_other_files_can_be_adapted_unless_the_gate_names_them(tmp_path: Path) -> None:
    scripts = [DATA.honest, *DATA.cheats.values()]
    named = {**DATA.project.gate, "tests": {"files": ["tests/**", "data/**"]}}

    ends, out = run_batch(tmp_path / "plain", DATA.project, scripts)
    named_ends, done = judged(tmp_path / "named", DATA.project.files, named, scripts)

    assert [end.outcome for end in ends] == ["passed", "passed"], out
    assert [end.outcome for end in named_ends] == ["passed", "failed"], done.out
    assert [cheat for cheat in DATA.cheats if cheat not in PAGE.read_text("utf-8")] == []


@pytest.mark.security
def test_there_are_enough_unusual_cheats() -> None:
    assert sum(len(unusual.cheats) for unusual in PROJECTS.values()) >= 55
    assert sum(len(wrapped.cheats) for wrapped in WRAPPED.values()) >= 35
