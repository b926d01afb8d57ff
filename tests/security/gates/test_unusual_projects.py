"""No cheat passes where tests have unusual names, or where no known file of tests changes (issue 16, done when 3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.security.gates.test_steering import run_batch
from tests.security.gates.unusual import PROJECTS

HALVES = (0, 1)


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
def test_there_are_enough_unusual_cheats() -> None:
    assert sum(len(unusual.cheats) for unusual in PROJECTS.values()) >= 55
