"""A file that is broken in any way is answered with problems, quickly, and never with a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.mutate_files import Outcome, base_files, load_one, mutants, project_in, report, run_one

SEED = 20260107


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project_in(tmp_path_factory.mktemp("mutants"))


def shown(failed: list[Outcome]) -> str:
    return "\n".join(f"{one.mutant.number} ({one.mutant.what}): {one.fault}" for one in failed)


def test_mutated_files_end_in_problems_and_never_in_a_traceback(project: Path) -> None:
    """The first load pays for imports and caches, so it is not timed."""
    load_one(next(iter(mutants(SEED, 1))), project)
    outcomes = [load_one(mutant, project) for mutant in mutants(SEED, 300)]
    failed = [outcome for outcome in outcomes if outcome.fault]

    assert not failed, shown(failed)
    assert {0, 2} <= {outcome.exit for outcome in outcomes}


def test_the_same_seed_gives_the_same_files() -> None:
    assert list(mutants(3, 20)) == list(mutants(3, 20))
    assert [mutant.data for mutant in mutants(3, 20)] != [mutant.data for mutant in mutants(4, 20)]


def test_most_mutants_differ_from_what_they_were_made_of() -> None:
    bases = {path.read_bytes() for path in base_files()}
    changed = [mutant for mutant in mutants(5, 200) if mutant.data not in bases]

    assert len(changed) > 180


def test_a_report_names_what_failed(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(project))
    mutant = next(iter(mutants(SEED, 1)))
    outcomes = [Outcome(mutant, 2, 12.0), Outcome(mutant, 1, 0.0, "Traceback")]

    assert report("in process", outcomes) == outcomes[1:]
    assert "2 files, exits {1: 1, 2: 1}" in capsys.readouterr().out


@pytest.mark.slow
def test_mutated_files_end_a_process_with_an_exit_code_of_the_language(project: Path) -> None:
    outcomes = [run_one(mutant, project) for mutant in mutants(SEED + 1, 20)]
    failed = [outcome for outcome in outcomes if outcome.fault]

    assert not failed, shown(failed)
