"""Output goes to memory, file, record and callback, within limits (R153)."""

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
    return OutputSink(
        "stdout",
        limits=limits,
        spill=None if spill is None else str(spill),
        filters=(mask.stream(),),
        on_output=heard,
    )


@pytest.mark.req("R153")
def test_the_default_limits_are_the_documented_ones() -> None:
    assert (OutputLimits().memory, OutputLimits().record) == (1024 * 1024, 8 * 1024)


def test_short_output_stays_in_memory_without_a_file(tmp_path: Path) -> None:
    out = sink(tmp_path / "out")
    out.feed(b"short")
    captured = out.finish()

    assert (captured.read(), captured.text(), captured.record()) == (b"short", "short", "short")
    assert (captured.size, captured.path, captured.dropped) == (5, None, 0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.req("R153")
def test_a_truncated_record_has_a_file_with_everything(tmp_path: Path) -> None:
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
def test_output_too_long_for_memory_is_only_in_the_file(tmp_path: Path) -> None:
    heard = Heard()
    out = sink(tmp_path / "out", heard=heard)
    for _ in range(9):
        out.feed(b"0123456789" * 3)
    captured = out.finish()

    assert captured.memory is None
    assert captured.read() == b"0123456789" * 27 == bytes(heard.stdout)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o600


@pytest.mark.req("R186")
def test_bytes_beyond_the_total_are_dropped_and_counted(tmp_path: Path) -> None:
    out = sink(tmp_path / "out")
    for _ in range(13):
        out.feed(b"x" * 99)
    captured = out.finish()

    assert (captured.size, captured.dropped) == (1000, 13 * 99 - 1000)
    assert captured.record().endswith("; 287 more bytes were dropped]")


def test_without_a_folder_output_stays_in_memory() -> None:
    out = sink()
    out.feed(b"x" * 101)
    captured = out.finish()

    assert (captured.read(), captured.dropped, captured.path) == (b"x" * 100, 1, None)
    assert (
        captured.record() == "x" * 10 + "\n[truncated: the first 10 of 100 bytes; 1 more bytes were dropped]"
    )


@pytest.mark.req("R184")
def test_a_limit_in_the_middle_of_a_secret_does_not_reveal_it() -> None:
    """If the limit applied before the mask, the first half of the secret would pass."""
    out = sink(limits=OutputLimits(memory=8, record=8, total=8))
    out.feed(b"1234hush")
    out.feed(b"-hush")

    assert out.finish().read() == b"1234***"


def test_a_truncated_character_is_dropped_and_an_invalid_one_is_replaced() -> None:
    cut, broken = sink(), sink()
    cut.feed("123456789€ and more".encode())
    broken.feed(b"\xff ok")

    assert cut.finish().record().startswith("123456789\n[truncated")
    assert broken.finish().record() == "� ok"


def test_an_existing_file_or_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to(tmp_path / "victim")
    out = sink(tmp_path / "out")

    with pytest.raises(FileExistsError):
        out.feed(b"x" * 101)
    assert not (tmp_path / "victim").exists()
