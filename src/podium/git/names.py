"""Which names may stand in a tree: none that some file system takes for git's own folder."""

from __future__ import annotations

from typing import Final

# HFS+ leaves these out when it compares names (git's utf8.c, next_hfs_char).
_UNSEEN: Final = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)


def is_git_folder(name: str) -> bool:
    """Whether a name means `.git` here or on a file system that folds case, signs, short names or streams."""
    return _is_spelling_of(name, ".git", short="git~1")


def is_module_file(name: str) -> bool:
    """The same for `.gitmodules`, which git refuses as a link (CVE-2018-11235 and its kin)."""
    return _is_spelling_of(name, ".gitmodules", short="gitmod~1")


def _is_spelling_of(name: str, wanted: str, *, short: str) -> bool:
    if name.translate(_UNSEEN).casefold() == wanted:
        return True
    # NTFS: a name ends at a backslash or a stream's colon, and dots and spaces at its end do not count.
    head = name.replace("\\", ":").partition(":")[0].rstrip(". ").casefold()
    return head in (wanted, short)
