"""Private folders are empty and nobody else's; one is used again only if nothing at all was done to it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from podium.attempt.workspace.private_dirs import PrivateDirPool, PrivateDirs


def used_then_given_back(
    homes: PrivateDirPool, parent: Path, use: Callable[[PrivateDirs], None], *, reusable: bool = True
) -> PrivateDirs:
    private = homes.take(parent, reusable=reusable, owner=None)
    use(private)
    anyio.run(lambda: homes.give_back(private, reusable=reusable))
    return private


def nothing(_: PrivateDirs) -> None:
    pass


def is_fresh(private: PrivateDirs) -> bool:
    modes = [stat.S_IMODE(folder.lstat().st_mode) for folder in (private.home, private.tmp)]
    left = [*private.home.iterdir(), *private.tmp.iterdir()]
    return modes == [0o700, 0o700] and not left and not private.home.is_symlink()


def test_a_folder_that_was_left_as_it_was_made_is_used_again(tmp_path: Path) -> None:
    homes = PrivateDirPool()
    first = used_then_given_back(homes, tmp_path, nothing)

    second = homes.take(tmp_path, reusable=True, owner=None)

    assert second == first
    assert is_fresh(second)
    assert homes.take(tmp_path, reusable=True, owner=None) != first, "it is in use"


@pytest.mark.req("C13")
def test_one_for_a_single_use_is_new_and_gone_afterwards(tmp_path: Path) -> None:
    homes = PrivateDirPool()
    used_then_given_back(homes, tmp_path, nothing)

    once = used_then_given_back(homes, tmp_path, nothing, reusable=False)

    assert not once.folder.exists()
    assert homes.take(tmp_path, reusable=False, owner=None) != once


def put_a_link_for_its_home(own: PrivateDirs) -> None:
    own.home.rmdir()
    own.home.symlink_to("/")


def put_a_file_for_its_tmp(own: PrivateDirs) -> None:
    own.tmp.rmdir()
    own.tmp.touch()


def remove_all(own: PrivateDirs) -> None:
    for folder in (own.tmp, own.home, own.folder):
        folder.rmdir()


def make_and_remove(own: PrivateDirs) -> None:
    (own.tmp / "x").touch()
    (own.tmp / "x").unlink()


TRACES: dict[str, Callable[[PrivateDirs], None]] = {
    "a file in its home": lambda own: (own.home / ".profile").touch(),
    "a file in its temporary folder": lambda own: (own.tmp / "left").touch(),
    "other rights": lambda own: own.home.chmod(0o755),
    "a sticky bit": lambda own: own.tmp.chmod(0o1700),
    "a link in its place": put_a_link_for_its_home,
    "a file in its place": put_a_file_for_its_tmp,
    "a file made and removed": make_and_remove,
    "other times": lambda own: os.utime(own.home, (0, 0)),
    "nothing in its place": lambda own: own.tmp.rmdir(),
    "all of it gone": remove_all,
}


@pytest.mark.req("C13")
@pytest.mark.parametrize("trace", TRACES)
def test_one_on_which_somebody_has_left_a_trace_is_removed(trace: str, tmp_path: Path) -> None:
    homes = PrivateDirPool()

    used = used_then_given_back(homes, tmp_path, TRACES[trace])

    assert not os.path.lexists(used.folder)
    assert is_fresh(homes.take(tmp_path, reusable=True, owner=None))


def test_one_with_an_attribute_is_removed(tmp_path: Path) -> None:
    def mark(private: PrivateDirs) -> None:
        try:
            os.setxattr(private.home, "user.podium", b"1")
        except OSError:
            pytest.skip("this file system keeps no attributes")

    assert not used_then_given_back(PrivateDirPool(), tmp_path, mark).folder.exists()


def test_what_somebody_else_has_removed_is_forgotten(tmp_path: Path) -> None:
    homes = PrivateDirPool()
    used = used_then_given_back(homes, tmp_path, nothing)
    remove_all(used)

    homes.forget()

    assert is_fresh(homes.take(tmp_path, reusable=True, owner=None))
