"""A file that is written whole: what a reader sees, and what a crash or a link cannot change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podium.files import atomic


@pytest.mark.parametrize("fsync", [True, False])
def test_a_link_is_replaced_and_its_target_is_not_written(tmp_path: Path, fsync: bool) -> None:
    target = tmp_path / "state.json"
    target.symlink_to(tmp_path / "victim")

    atomic.write(target, b"{}", fsync=fsync)

    assert target.read_bytes() == b"{}"
    assert not target.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "victim").exists()


def test_the_mode_is_as_given_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        atomic.write(tmp_path / "shared", b"x", mode=0o664)
    finally:
        os.umask(before)

    assert (tmp_path / "shared").stat().st_mode & 0o777 == 0o664


def test_what_a_crash_left_is_no_obstacle_and_can_be_removed(tmp_path: Path) -> None:
    (tmp_path / "a.json.tmp").write_text("half")
    (tmp_path / "b.json.tmp").write_text("half")

    atomic.write(tmp_path / "a.json", b"whole")
    atomic.discard_leftovers(tmp_path, ["a.json", "b.json"])

    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_write_that_fails_leaves_the_old_content(tmp_path: Path) -> None:
    target = tmp_path / "state.json"
    atomic.write(target, b"old")
    (tmp_path / "state.json.tmp").mkdir()

    with pytest.raises(IsADirectoryError):
        atomic.write(target, b"new")

    assert target.read_bytes() == b"old"
