"""Shows where output goes: memory, file, record, callback, and what happens beyond the limits (R153)."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.process.output import OutputLimits, OutputSink
from podium.redaction.mask import Mask
from tests.process.kit import Heard

SMALL = OutputLimits(memory=100, record=10, total=1000)


def sink(
    spill: Path | None = None, *, limits: OutputLimits = SMALL, heard: Heard | None = None
) -> OutputSink:
    mask = Mask({"key": "hush-hush"})
    return OutputSink("stdout", limits=limits, spill=spill, filters=(mask.stream(),), on_output=heard)


@pytest.mark.req("R153")
def test_the_limits_are_those_that_were_promised() -> None:
    assert (OutputLimits().memory, OutputLimits().record) == (1024 * 1024, 8 * 1024)


def test_short_output_stays_in_memory_and_makes_no_file(tmp_path: Path) -> None:
    out = sink(tmp_path / "out")
    out.feed(b"short")
    captured = out.finish()

    assert (captured.read(), captured.text(), captured.record()) == (b"short", "short", "short")
    assert (captured.size, captured.path, captured.dropped) == (5, None, 0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.req("R153")
def test_what_the_record_cuts_off_has_a_file(tmp_path: Path) -> None:
    out = sink(tmp_path / "deep" / "out")
    out.feed(b"0123456789abcdef")
    captured = out.finish()

    assert captured.memory == b"0123456789abcdef"
    assert captured.path is not None
    assert captured.path.read_bytes() == b"0123456789abcdef"
    assert (
        captured.record() == f"0123456789\n[truncated: the first 10 of 16 bytes; all of it: {captured.path}]"
    )


@pytest.mark.req("R153")
def test_what_memory_does_not_hold_is_in_the_file_only(tmp_path: Path) -> None:
    heard = Heard()
    out = sink(tmp_path / "out", heard=heard)
    for _ in range(9):
        out.feed(b"0123456789" * 3)
    captured = out.finish()

    assert captured.memory is None
    assert captured.read() == b"0123456789" * 27 == bytes(heard.stdout)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o600


@pytest.mark.req("R186")
def test_beyond_the_total_bytes_are_dropped_and_counted(tmp_path: Path) -> None:
    out = sink(tmp_path / "out")
    for _ in range(13):
        out.feed(b"x" * 99)
    captured = out.finish()

    assert (captured.size, captured.dropped) == (1000, 13 * 99 - 1000)
    assert captured.record().endswith("; 287 more bytes were dropped]")


def test_without_a_folder_memory_is_all_there_is() -> None:
    out = sink()
    out.feed(b"x" * 101)
    captured = out.finish()

    assert (captured.read(), captured.dropped, captured.path) == (b"x" * 100, 1, None)
    assert (
        captured.record() == "x" * 10 + "\n[truncated: the first 10 of 100 bytes; 1 more bytes were dropped]"
    )


@pytest.mark.req("R184")
def test_a_limit_does_not_cut_a_secret_out_of_the_masks_sight() -> None:
    """Cut before the mask, the first half of the secret would go through."""
    out = sink(limits=OutputLimits(memory=8, record=8, total=8))
    out.feed(b"1234hush")
    out.feed(b"-hush")

    assert out.finish().read() == b"1234***"


def test_a_cut_character_does_not_look_broken_and_a_broken_one_is_replaced() -> None:
    cut, broken = sink(), sink()
    cut.feed("123456789€ and more".encode())
    broken.feed(b"\xff ok")

    assert cut.finish().record().startswith("123456789\n[truncated")
    assert broken.finish().record() == "� ok"


def test_a_file_or_link_that_waits_at_the_place_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to(tmp_path / "victim")
    out = sink(tmp_path / "out")

    with pytest.raises(FileExistsError):
        out.feed(b"x" * 101)
    assert not (tmp_path / "victim").exists()
