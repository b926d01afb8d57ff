"""The folder of a run: whole at every moment, right after every crash, and cheap."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from podium.core.types import Address
from podium.engine.run_folder import RunFolder
from podium.redaction.mask import Mask
from podium.runtime.stored_view import read_stored
from podium.views.files.growing_logs import AUDIT, GROWING, LOG, STATE_LOG, TOKENS
from podium.views.files.snapshot import SHOWN_BYTES, truncated
from podium.views.files.summary import MOST_ROWS, summary_text
from podium.views.run.builder import run_view
from tests.views.kit import SILENT, Told, conforms, tell

FILES = ("run.json", "state.json", "run_manifest.yaml", "run_summary.md", *GROWING)


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return tell(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "r1"


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text("utf-8") for path in sorted(folder.iterdir())}


def rows(folder: Path, name: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()]


def fresh(tmp_path: Path, told: Told) -> dict[str, str]:
    """What the folder should be, written in one go."""
    folder = tmp_path / "fresh"
    RunFolder(folder, Mask()).write(told.events, told.state)
    return contents(folder)


@pytest.mark.req("R210")
def test_a_run_folder_has_every_file(told: Told, folder: Path) -> None:
    RunFolder(folder, Mask()).write(told.events, told.state)

    assert set(contents(folder)) == set(FILES)


def test_files_that_grew_with_the_run_are_those_of_the_whole(
    told: Told, folder: Path, tmp_path: Path
) -> None:
    records = RunFolder(folder, Mask())
    for moment in told.moments():
        records.write(moment.events, moment.state)

    assert contents(folder) == fresh(tmp_path, told)


def test_another_process_goes_on_where_one_has_died(told: Told, folder: Path, tmp_path: Path) -> None:
    """A new owner knows nothing of what was written; here one dies after every third event."""
    for number in range(1, len(told.events), 3):
        moment = told.until(number)
        RunFolder(folder, Mask()).write(moment.events, moment.state)
    RunFolder(folder, Mask()).write(told.events, told.state)

    assert contents(folder) == fresh(tmp_path, told)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def _garble(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def _double(path: Path) -> None:
    path.write_bytes(path.read_bytes() * 2)


def _link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


@pytest.mark.req("R149")
@pytest.mark.parametrize("harm", [_cut, _garble, _double, _link, Path.unlink])
def test_a_damaged_file_is_repaired_by_the_next_owner(
    told: Told, folder: Path, tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    half = told.until(30)
    RunFolder(folder, Mask()).write(half.events, half.state)
    for name in FILES:
        harm(folder / name)
    RunFolder(folder, Mask()).write(told.events, told.state)
    (folder / "elsewhere").unlink(missing_ok=True)

    assert contents(folder) == fresh(tmp_path, told)
    assert not any(path.is_symlink() for path in folder.iterdir())


@pytest.mark.req("R149")
def test_leftovers_of_a_crash_are_discarded(told: Told, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "state.json.tmp").write_text('{"run_id":')
    RunFolder(folder, Mask()).write(told.events, told.state)

    assert not list(folder.glob("*.tmp"))


def test_a_rebuild_beside_a_living_owner_leaves_no_double_lines(
    told: Told, folder: Path, tmp_path: Path
) -> None:
    half = told.until(30)
    owner = RunFolder(folder, Mask())
    owner.write(half.events, half.state)
    RunFolder(folder, Mask()).rebuild(told.events)
    owner.write(told.events, told.state)

    assert contents(folder) == fresh(tmp_path, told)


def test_a_rebuild_from_the_log_alone_keeps_the_words_of_open_questions(tmp_path: Path, folder: Path) -> None:
    told = tell(tmp_path, cast=SILENT)
    RunFolder(folder, Mask()).write(told.events, told.state)
    for name in FILES[1:]:
        (folder / name).unlink()
    RunFolder(folder, Mask()).rebuild(told.events)

    assert contents(folder) == fresh(tmp_path, told)
    assert read_stored(folder)["pending"][0]["question"] == "Land this?"


def test_nothing_is_written_when_nothing_happened(told: Told, folder: Path) -> None:
    records = RunFolder(folder, Mask())
    records.write(told.events, told.state)
    for path in folder.iterdir():
        path.unlink()
    records.write(told.events, told.state)

    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", FILES)
def test_a_writing_that_failed_is_made_up_for_by_the_next_one(
    told: Told, folder: Path, tmp_path: Path, name: str
) -> None:
    """Whatever it failed at, no line is lost and none is there twice."""
    half = told.until(30)
    records = RunFolder(folder, Mask())
    records.write(half.events, half.state)
    (folder / name).unlink()
    (folder / name).mkdir()
    (folder / name / "in the way").touch()
    with pytest.raises(OSError, match=name):
        records.write(told.events, told.state)
    (folder / name / "in the way").unlink()
    (folder / name).rmdir()
    records.write(told.events, told.state)

    assert contents(folder) == fresh(tmp_path, told)


def test_a_patient_caller_is_put_off_in_proportion_to_what_writing_takes(told: Told, folder: Path) -> None:
    ticks = iter([0.0, 0.0, 1.0, 20.0, 22.0, 22.0, 22.0])
    records = RunFolder(folder, Mask(), clock=lambda: next(ticks))
    half = told.until(30)

    assert records.write(half.events, half.state, patient=True)
    assert not records.write(told.events, told.state, patient=True)
    assert len(rows(folder, LOG)) == 30
    assert records.write(told.events, told.state, patient=True)
    assert len(rows(folder, LOG)) == len(told.events)


def test_secrets_are_masked_in_every_file(tmp_path: Path, folder: Path) -> None:
    told = tell(tmp_path, task="use the key hunter2hunter2 for it")
    RunFolder(folder, Mask({"KEY": "hunter2hunter2"})).write(told.events, told.state)

    for name, text in contents(folder).items():
        assert "hunter2hunter2" not in text, name
    assert "use the key ***" in (folder / "run_manifest.yaml").read_text()


@pytest.mark.req("R150", "R152")
def test_state_json_has_the_schema_of_the_seeds_at_every_moment(told: Told, folder: Path) -> None:
    records = RunFolder(folder, Mask())
    for moment in told.moments():
        records.write(moment.events, moment.state)
        conforms(json.loads((folder / "state.json").read_text()), "state")


@pytest.mark.req("R152", "R151")
def test_the_current_step_is_recorded_before_it_runs_and_its_result_after(told: Told, folder: Path) -> None:
    records = RunFolder(folder, Mask())
    seen: list[tuple[str | None, str | None]] = []
    for moment in told.moments():
        records.write(moment.events, moment.state)
        state = json.loads((folder / "state.json").read_text())
        seen.append((state["current_step"], state["steps"].get("plan", {}).get("status")))
        assert state["context"] == {"task": "greet people"}

    assert ("plan", "running") in seen
    assert ("implement", "completed") in seen
    assert seen[-1] == (None, "completed")


@pytest.mark.req("R150")
def test_iterations_of_a_loop_stand_in_its_result(told: Told, folder: Path) -> None:
    RunFolder(folder, Mask()).write(told.events, told.state)

    each = json.loads((folder / "state.json").read_text())["steps"]["each"]
    assert [(row["index"], row["item"], row["status"]) for row in each["iterations"]] == [
        (0, "a", "completed"),
        (1, "b", "completed"),
    ]
    assert each["iterations"][1]["steps"]["inner"]["exit_code"] == 0


@pytest.mark.req("R153")
def test_long_output_is_cut_to_8_kb_with_a_mark() -> None:
    assert truncated("x" * SHOWN_BYTES) == "x" * SHOWN_BYTES
    assert truncated("é" * SHOWN_BYTES) == "é" * (SHOWN_BYTES // 2) + "\n[truncated]"


@pytest.mark.req("R212")
def test_the_structured_log_has_one_line_per_event_in_order(told: Told, folder: Path) -> None:
    RunFolder(folder, Mask()).write(told.events, told.state)
    lines = rows(folder, LOG)

    assert [line["event_seq"] for line in lines] == list(range(1, len(told.events) + 1))
    assert {line["run_id"] for line in lines} == {"r1"}
    for line in lines:
        conforms(line, "log")
    failed = [line for line in lines if line["level"] == "ERROR"]
    assert {line["step"] for line in failed} == {"implement#1", "implement#1/tests"}
    retried = next(line for line in lines if line["step"] == "implement" and line["event"] == "step_ended")
    assert (retried["attempt_id"], retried["exit_code"]) == (2, 0)


@pytest.mark.req("R010", "R210")
def test_transitions_and_tokens_have_their_logs(told: Told, folder: Path) -> None:
    RunFolder(folder, Mask()).write(told.events, told.state)
    moves, tokens = rows(folder, STATE_LOG), rows(folder, TOKENS)

    assert [row["state"] for row in moves if row["event"] == "enter"][:2] == ["plan", "implement"]
    assert moves[-1]["result"] == "passed"
    assert [
        (row["state"], row["attempt"], row["cost_usd"]) for row in tokens if row["state"] == "implement"
    ] == [
        ("implement", 1, 0.18),
        ("implement", 2, 0.18),
    ]


@pytest.mark.req("R010", "R122")
def test_the_audit_log_tells_gates_verdicts_and_approvals_in_a_line_each(told: Told, folder: Path) -> None:
    RunFolder(folder, Mask()).write(told.events, told.state)
    lines = (folder / AUDIT).read_text().splitlines()

    def line(text: str) -> str:
        return next(found for found in lines if text in found)

    assert "failed, exit 1: 1 failed: greet() returned None" in line("gate      implement#1/tests")
    assert "passed, exit 0" in line("gate      implement#2/tests")
    assert "approves, score 9" in line("verdict   review/reviewer_codex")
    assert "approve approve by person1" in line("answer ")
    assert "passed, exit 0" in line("run       passed")
    assert all("[tree " in line(kind) for kind in ("gate ", "verdict ", "answer "))


def test_the_manifest_is_yaml_and_the_summary_says_what_matters(told: Told, folder: Path) -> None:
    RunFolder(folder, Mask()).write(told.events, told.state)

    manifest = yaml.safe_load((folder / "run_manifest.yaml").read_text())
    assert (manifest["run"], manifest["status"], manifest["exit"]) == ("r1", "passed", 0)
    assert manifest["inputs"] == {"task": "greet people"}
    assert manifest["limits"]["usd"]["limit"] == 5.0
    summary = (folder / "run_summary.md").read_text()
    for text in (
        "# ship: passed",
        "- **task**: greet people",
        "| `implement` | passed | 2 |",
        "| `implement#1/tests` | failed | 1 failed: greet() returned None |",
        "| `review/reviewer_codex` | approve | 9 |",
        "| `approve` | approve | person1 |",
        "## Result",
        "`podium diff r1` to see the change",
    ):
        assert text in summary, text


@pytest.mark.parametrize("number", [MOST_ROWS, MOST_ROWS + 1, 10 * MOST_ROWS])
def test_the_summary_of_a_long_run_has_its_first_steps_and_counts_the_others(told: Told, number: int) -> None:
    view = run_view(told.events)
    plan = next(step for step in view.steps if step.path == "plan")
    steps = tuple(plan._replace(path=Address(f"plan~{place}")) for place in range(1, number + 1))
    inside = tuple(step._replace(path=Address(f"{step.path}#1")) for step in steps)
    summary = summary_text(view._replace(steps=steps + inside))

    assert summary.count("| `plan~") == MOST_ROWS
    assert f"| `plan~{MOST_ROWS}` |" in summary
    more = f"and {number - MOST_ROWS} more in `run.json`"
    assert (more in summary) == (number > MOST_ROWS)
    assert ("more in `run.json`" in summary) == (number > MOST_ROWS)


def test_words_of_strangers_cannot_break_a_line_or_a_table(tmp_path: Path, folder: Path) -> None:
    told = tell(tmp_path, task="one | two\n## three \x1b[31m<b>`x`")
    RunFolder(folder, Mask()).write(told.events, told.state)

    summary = (folder / "run_summary.md").read_text()
    assert "one \\| two ## three [31m&lt;b>'x'" in summary
    assert "\x1b" not in summary
