"""What is wrong with a path before anybody looks at the disk.

A path that somebody declared is plain: relative, visible, with no way up and no way into git's own folder. Spellings
that become something else after decoding, folding or on another system are refused as what they become.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

LONGEST_NAME: Final = 255
LONGEST_PATH: Final = 4095
SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
DRIVE: Final = re.compile(r"[A-Za-z]:")
# .git, also as NTFS sees it: trailing dots and spaces fall off, a colon begins a stream, git~1 is its short name.
GIT_FOLDER: Final = re.compile(r"(?:\.git|git~[0-9]+)[. ]*(?::.*)?", re.IGNORECASE)
# Control, format (zero width, direction), unpaired surrogate, line and paragraph separator.
UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def path_fault(path: str) -> str | None:
    """Says what is wrong, or None."""
    if not path:
        return "is empty"
    if any(unicodedata.category(letter) in UNSEEN for letter in path):
        return "contains a character that cannot be seen"
    if len(path.encode()) > LONGEST_PATH:
        return f"is longer than {LONGEST_PATH} bytes"
    return next((fault for reading in _readings(path) if (fault := _fault(reading))), None)


def _readings(path: str) -> Iterator[str]:
    """As written, percent-decoded until it stays the same, and with look-alike letters folded."""
    seen: set[str] = set()
    while path not in seen:
        seen.add(path)
        yield path
        yield unicodedata.normalize("NFKC", path)
        path = unquote(path)


def _fault(path: str) -> str | None:
    if any(unicodedata.category(letter) in UNSEEN for letter in path):
        return "contains a character that cannot be seen"
    if "\\" in path:
        return "contains a backslash"
    if path.startswith("/"):
        return "is absolute"
    if path.startswith("~"):
        return "begins in a home folder"
    if DRIVE.match(path) or SCHEME.match(path):
        return "names a drive or an address"
    return next((fault for name in path.split("/") if (fault := _name_fault(name))), None)


def _name_fault(name: str) -> str | None:
    if name == "..":
        return "goes up"
    if name not in ("", ".") and not name.strip(". "):
        return "has a name of dots and spaces"
    if GIT_FOLDER.fullmatch(name):
        return "leads into git's own folder"
    if len(name.encode()) > LONGEST_NAME:
        return f"has a name longer than {LONGEST_NAME} bytes"
    return None
