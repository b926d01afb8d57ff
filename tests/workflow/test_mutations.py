"""A file with any mutation leads to problems, never to a traceback.

`python tools/mutate_files.py` and `bench/` measure how fast; here only a blow-up fails.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.timing import slowdown
from tools.mutate_files import LIMIT_MS, Outcome, base_files, load_one, mutants, project_in, report, run_one

pytestmark = pytest.mark.slow

SEED = 20260107
BLOW_UP_MS = 10_000.0
"""Processor time: fifty times that of a whole process."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project_in(tmp_path_factory.mktemp("mutants"))


def assert_all_ended_well(outcomes: list[Outcome]) -> None:
    failed = [one for one in outcomes if one.fault or one.ms > BLOW_UP_MS * slowdown()]
    assert not failed, "\n".join(
        f"{one.mutant.number} ({one.mutant.what}): {one.complaint}" for one in failed
    )


def test_mutated_files_end_in_problems_and_never_in_a_traceback(project: Path) -> None:
    outcomes = [load_one(mutant, project) for mutant in mutants(SEED, 300)]

    assert_all_ended_well(outcomes)
    assert {0, 2} <= {outcome.exit for outcome in outcomes}


def test_the_same_seed_gives_the_same_files() -> None:
    assert list(mutants(3, 20)) == list(mutants(3, 20))
    assert [mutant.data for mutant in mutants(3, 20)] != [mutant.data for mutant in mutants(4, 20)]


def test_most_mutants_differ_from_their_original() -> None:
    bases = {path.read_bytes() for path in base_files()}
    changed = [mutant for mutant in mutants(5, 200) if mutant.data not in bases]

    assert len(changed) > 180


def test_a_report_names_the_failed_case(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(project))
    mutant = next(iter(mutants(SEED, 1)))
    outcomes = [
        Outcome(mutant, 2, 12.0),
        Outcome(mutant, 1, 0.0, "Traceback"),
        Outcome(mutant, 2, LIMIT_MS + 1),
    ]

    assert report("in process", outcomes) == outcomes[1:]
    output = capsys.readouterr().out
    assert "3 files, exits {1: 1, 2: 2}" in output
    assert "took 301 ms" in output


@pytest.mark.slow
def test_mutated_files_end_a_process_with_a_documented_exit_code(project: Path) -> None:
    assert_all_ended_well([run_one(mutant, project) for mutant in mutants(SEED + 1, 20)])
