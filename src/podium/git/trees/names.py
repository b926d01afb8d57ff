"""Which names may stand in a tree: none that deceives a reader, or that some file system takes for another one."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# HFS+ leaves these out when it compares names (git's utf8.c, next_hfs_char).
_UNSEEN: Final = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)
# Control signs, line and paragraph separators, what turns the direction of writing around (CVE-2021-42574), and bytes
# that are no text: no log, screen or prompt could show them.
_DECEIVING: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def is_git_folder(name: str) -> bool:
    """Whether a name means `.git` here or on a file system that folds case, signs, short names or streams."""
    return _is_spelling_of(name, ".git", short="git~1")


def is_module_file(name: str) -> bool:
    """The same for `.gitmodules`, which git refuses as a link (CVE-2018-11235 and its kin)."""
    return _is_spelling_of(name, ".gitmodules", short="gitmod~1")


def flaw_of(name: str) -> str | None:
    """Why no new file may have this name; None if it may."""
    if _DECEIVING.search(name):
        return "has a sign in its name that cannot be shown"
    if "\\" in name:
        return "has a backslash in its name, which other systems take for a folder"
    return None


def shown(path: str) -> str:
    """A path that comes from an agent, for a line that people and agents read."""
    return _DECEIVING.sub(lambda sign: sign[0].encode("unicode_escape").decode(), path)


def folded(name: str) -> str:
    """The same for all names that are one file on a file system that does not tell case or spelling apart."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name.translate(_UNSEEN)).casefold())


def _is_spelling_of(name: str, wanted: str, *, short: str) -> bool:
    if name.translate(_UNSEEN).casefold() == wanted:
        return True
    # NTFS: a name ends at a backslash or a stream's colon, and dots and spaces at its end do not count.
    head = name.replace("\\", ":").partition(":")[0].rstrip(". ").casefold()
    return head in (wanted, short)
