"""A new owner goes on with the growing files of a run where the last one stopped, if they are as that one left them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from podium.engine.run_folder import RunFolder
from podium.engine.written_files import MARKER
from podium.redaction.mask import Mask
from podium.views.files import snapshot
from podium.views.files.audit_log import audit_line
from podium.views.files.growing_logs import GROWING, LOG
from podium.views.files.run_json import step_data
from podium.views.files.snapshot import RUN, STATE, StateRows, StepRows, readable, run_text, state_text
from podium.views.run.builder import RunViewBuilder
from podium.views.run.view import RunView
from tests.views.kit import Told, tell


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return tell(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "r1"


def hashes_of(told: Told, run: str = "r1") -> list[str]:
    return [f"{run}-{number}" for number in range(1, len(told.events) + 1)]


def write(
    folder: Path, told: Told, *, mask: Mask | None = None, run: str = "r1", patient: bool = False
) -> None:
    """As a process does that has just become the owner."""
    hashes = hashes_of(told, run)
    RunFolder(folder, mask or Mask()).write(told.events, told.state, hashes=hashes, patient=patient)


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text("utf-8") for path in sorted(folder.iterdir()) if path.name != MARKER}


def fresh(tmp_path: Path, told: Told) -> dict[str, str]:
    RunFolder(tmp_path / "fresh", Mask()).write(told.events, told.state)
    return contents(tmp_path / "fresh")


@contextmanager
def events_described() -> Iterator[list[str]]:
    """The events whose lines are made meanwhile."""
    with calls_of(audit_line, lambda values: type(values["event"]).__name__) as described:
        yield described


@contextmanager
def steps_described() -> Iterator[list[str]]:
    """The steps whose lines of `run.json` are made meanwhile."""
    with calls_of(step_data, lambda values: str(values["step"].path)) as described:
        yield described


@contextmanager
def calls_of(
    function: Callable[..., object], name_of: Callable[[Mapping[str, Any]], str]
) -> Iterator[list[str]]:
    described: list[str] = []

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is function.__code__:
            described.append(name_of(frame.f_locals))

    sys.setprofile(look)
    try:
        yield described
    finally:
        sys.setprofile(None)


def test_a_new_owner_makes_only_the_lines_of_new_events(told: Told, folder: Path, tmp_path: Path) -> None:
    write(folder, told.until(30))

    with events_described() as described:
        write(folder, told)

    assert described == [type(event).__name__ for event in told.events[30:]]
    assert contents(folder) == fresh(tmp_path, told)


def test_owners_that_take_turns_write_what_one_would(told: Told, folder: Path, tmp_path: Path) -> None:
    for number in range(1, len(told.events), 3):
        # Every other one dies before it could say what it wrote.
        write(folder, told.until(number), patient=number % 2 == 0)
    write(folder, told)

    assert contents(folder) == fresh(tmp_path, told)
    with events_described() as described:
        write(folder, told)
    assert described == []


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
@pytest.mark.parametrize("name", [*GROWING, RUN, STATE])
@pytest.mark.parametrize("harm", [_cut, _garble, _double, _link, Path.unlink])
def test_damage_to_one_file_is_noticed_and_repaired(
    told: Told, folder: Path, tmp_path: Path, name: str, harm: Callable[[Path], None]
) -> None:
    write(folder, told.until(60))
    assert (folder / name).stat().st_size
    harm(folder / name)
    write(folder, told)
    (folder / "elsewhere").unlink(missing_ok=True)

    assert contents(folder) == fresh(tmp_path, told)
    assert not any(path.is_symlink() for path in folder.iterdir())


def _changed(key: str, value: object) -> Callable[[str], str]:
    return lambda text: json.dumps({**json.loads(text), key: value})


@pytest.mark.parametrize(
    "change",
    [
        lambda _: "",
        lambda _: "[" * 100_000,
        lambda _: "[]",
        lambda text: text[:-9],
        _changed("podium", "0.0.1"),
        _changed("seq", 29),
        _changed("seq", 31),
        _changed("seq", 999),
        _changed("seq", 0),
        _changed("seq", True),
        _changed("seq", "30"),
        _changed("hash", "r1-29"),
        _changed("files", None),
        _changed("files", {}),
        _changed("files", dict.fromkeys(GROWING)),
    ],
)
def test_a_marker_that_does_not_fit_is_not_believed(
    told: Told, folder: Path, tmp_path: Path, change: Callable[[str], str]
) -> None:
    write(folder, told.until(30))
    marker = folder / MARKER
    marker.write_text(change(marker.read_text()))

    with events_described() as described:
        write(folder, told)

    assert len(described) == len(told.events)
    assert contents(folder) == fresh(tmp_path, told)


def test_a_link_in_place_of_the_marker_is_not_followed(told: Told, folder: Path) -> None:
    write(folder, told.until(30))
    _link(folder / MARKER)

    with events_described() as described:
        write(folder, told)

    assert len(described) == len(told.events)
    assert not (folder / MARKER).is_symlink()


def test_the_folder_of_another_run_is_replaced(told: Told, folder: Path, tmp_path: Path) -> None:
    """The marker fits its files, but they tell of events that this log does not have."""
    (tmp_path / "other").mkdir()
    other = tell(tmp_path / "other", task="something else")
    write(folder, other.until(30), run="r2")
    write(folder, told)

    assert contents(folder) == fresh(tmp_path, told)


def test_a_text_that_became_a_secret_is_masked_in_what_was_written(folder: Path, tmp_path: Path) -> None:
    told = tell(tmp_path)
    write(folder, told.until(30))
    assert "implement" in (folder / LOG).read_text()

    write(folder, told, mask=Mask({"KEY": "implement"}))

    for name in GROWING:
        assert "implement" not in (folder / name).read_text(), name


def view_of(told: Told) -> RunView:
    builder = RunViewBuilder()
    builder.feed(told.events)
    return builder.view()


def test_a_new_owner_makes_no_line_of_a_step_that_had_ended(told: Told, folder: Path, tmp_path: Path) -> None:
    before = told.until(60)
    write(folder, before)
    ended = {step.path: step for step in view_of(before).steps if step.ended is not None and not step.stale}
    now = {step.path: step for step in view_of(told).steps}

    with steps_described() as described:
        write(folder, told)

    assert len(ended) > 3
    assert set(described) == {path for path, step in now.items() if ended.get(path) != step}
    assert contents(folder) == fresh(tmp_path, told)


@pytest.mark.parametrize("value", [None, [], [1, "0"], "text"])
def test_lines_of_steps_are_made_again_if_the_marker_does_not_fit_them(
    told: Told, folder: Path, tmp_path: Path, value: object
) -> None:
    write(folder, told)
    marker = folder / MARKER
    marker.write_text(_changed("run", value)(_changed("state", value)(marker.read_text())))
    for name in (RUN, STATE):
        (folder / name).write_text((folder / name).read_text().replace("implement", "impl3ment"))

    with steps_described() as described:
        write(folder, told)

    assert len(described) == len(view_of(told).steps)
    assert contents(folder) == fresh(tmp_path, told)


def test_lines_that_are_remembered_are_those_that_would_be_made(told: Told) -> None:
    rows, state_rows = StepRows(), StateRows()
    builder = RunViewBuilder()
    for event in told.events:
        builder.feed((event,))
        assert run_text(builder.view(), rows) == run_text(builder.view())
        assert state_text(builder.view(), state_rows) == state_text(builder.view())


def test_a_state_is_written_as_it_always_was(told: Told) -> None:
    """One line per field and per top step, as for every other snapshot."""
    builder = RunViewBuilder()
    assert state_text(builder.view()) == readable(json.loads(state_text(builder.view())))
    for event in told.events:
        builder.feed((event,))
        text = state_text(builder.view())
        assert text == readable(json.loads(text))


def test_state_of_other_steps_is_not_taken_over(told: Told) -> None:
    view = view_of(told)
    rows = StateRows()

    rows.take_over(view, state_text(view._replace(steps=view.steps[1:])))
    rows.take_over(view, state_text(view).replace('"plan": {', '"plot": {'))
    rows.take_over(view, "")

    assert state_text(view, rows) == state_text(view)


@contextmanager
def states_described() -> Iterator[list[str]]:
    """The steps whose part of `state.json` is made meanwhile."""
    with calls_of(snapshot._result, lambda values: str(values["step"].path)) as described:
        yield described


def test_a_new_owner_describes_no_top_step_that_had_ended(told: Told, folder: Path, tmp_path: Path) -> None:
    write(folder, told)

    with states_described() as described:
        write(folder, told)

    assert described == [step.path for step in view_of(told).steps if step.ended is None]
    assert contents(folder) == fresh(tmp_path, told)


def test_a_state_from_another_place_is_described_again(told: Told, folder: Path, tmp_path: Path) -> None:
    """It names files by the place of the folder."""
    write(folder, told)
    moved = folder.with_name("moved")
    folder.rename(moved)

    with states_described() as described:
        write(moved, told)

    with states_described() as all_described:
        assert contents(moved) == fresh(tmp_path, told)
    assert described == all_described
    assert "each[1]/inner" in described


def test_lines_of_other_steps_are_not_taken_over(told: Told) -> None:
    view = view_of(told)
    rows = StepRows()

    rows.take_over(view.steps, run_text(view._replace(steps=view.steps[1:])))
    rows.take_over(view.steps, run_text(view._replace(steps=view.steps[::-1])))
    rows.take_over(view.steps, "")

    assert run_text(view, rows) == run_text(view)
    assert run_text(view._replace(steps=())).count('"steps": [],') == 1


@pytest.mark.parametrize("number", [0, 1, 30, 60])
def test_the_views_of_the_log_save_reading_its_events_again(
    told: Told, folder: Path, tmp_path: Path, number: int
) -> None:
    """Only if they are of exactly the events whose lines the last owner wrote."""
    write(folder, told.until(30))
    earlier = RunViewBuilder()
    earlier.feed(told.events[:number])

    RunFolder(folder, Mask(), earlier=earlier).write(told.events, told.state, hashes=hashes_of(told))

    assert contents(folder) == fresh(tmp_path, told)
    assert earlier.seq == (len(told.events) if number == 30 else number)
