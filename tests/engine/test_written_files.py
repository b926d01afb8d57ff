"""A new owner goes on with the growing files of a run where the last one stopped, if they are as that one left them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from podium.engine.run_folder import RunFolder
from podium.engine.written_files import MARKER
from podium.redaction.mask import Mask
from podium.views.files.audit_log import audit_line
from podium.views.files.growing_logs import GROWING, LOG
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
    described: list[str] = []

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is audit_line.__code__:
            described.append(type(frame.f_locals["event"]).__name__)

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
@pytest.mark.parametrize("name", GROWING)
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
