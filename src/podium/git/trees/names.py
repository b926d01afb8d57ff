"""Checks file names: none may deceive a reader or be treated as another name by some file system."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# HFS+ ignores these characters when it compares names (git's utf8.c, next_hfs_char).
_UNSEEN: Final = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)
# Control characters, line and paragraph separators, characters that change the writing direction (CVE-2021-42574),
# and bytes that are not text: no log, screen or prompt can show them.
_DECEIVING: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def is_git_folder(name: str) -> bool:
    """Whether a name means `.git`, here or on a file system that folds case, ignores characters, or has short names."""
    return _is_spelling_of(name, ".git", short="git~1")


def is_module_file(name: str) -> bool:
    """The same for `.gitmodules`, which must not be a link (CVE-2018-11235 and similar)."""
    return _is_spelling_of(name, ".gitmodules", short="gitmod~1")


def name_fault(name: str) -> str | None:
    """Why a new file must not have this name; None if it may."""
    if _DECEIVING.search(name):
        return "has an invisible or control character in its name"
    if "\\" in name:
        return "has a backslash in its name, which other systems treat as a folder separator"
    return None


def escape_path(path: str) -> str:
    """A path from an agent with deceptive characters escaped, for messages to people and agents."""
    return _DECEIVING.sub(lambda match: match[0].encode("unicode_escape").decode(), path)


def fold_name(name: str) -> str:
    """A key that is equal for names that are the same file where case or Unicode form does not matter."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name.translate(_UNSEEN)).casefold())


def _is_spelling_of(name: str, reserved: str, *, short: str) -> bool:
    if name.translate(_UNSEEN).casefold() == reserved:
        return True
    # On NTFS a name ends at a backslash or at the colon of a stream, and trailing dots and spaces are ignored.
    head = name.replace("\\", ":").partition(":")[0].rstrip(". ").casefold()
    return head in (reserved, short)
