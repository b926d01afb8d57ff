"""Checks the text of a path, without access to the disk.

A declared path must be plain: relative, visible, without `..` and not inside .git. A spelling that becomes something
else after decoding, normalizing or on another system is judged by what it becomes.
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
# .git, also as NTFS reads it: trailing dots and spaces are ignored, a colon starts a stream, git~1 is its short name.
GIT_FOLDER: Final = re.compile(r"(?:\.git|git~[0-9]+)[. ]*(?::.*)?", re.IGNORECASE)
# Control, format (zero width, direction), unpaired surrogate, line and paragraph separator.
UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def path_fault(path: str) -> str | None:
    """What is wrong with a path; None if nothing is."""
    if not path:
        return "is empty"
    if any(unicodedata.category(char) in UNSEEN for char in path):
        return "contains an invisible character"
    if len(path.encode()) > LONGEST_PATH:
        return f"is longer than {LONGEST_PATH} bytes"
    return next((fault for reading in _readings(path) if (fault := _fault(reading))), None)


def _readings(path: str) -> Iterator[str]:
    """The path as written, percent-decoded until it does not change, and with look-alike characters normalized."""
    seen: set[str] = set()
    while path not in seen:
        seen.add(path)
        yield path
        yield unicodedata.normalize("NFKC", path)
        path = unquote(path)


def _fault(path: str) -> str | None:
    if any(unicodedata.category(char) in UNSEEN for char in path):
        return "contains an invisible character"
    if "\\" in path:
        return "contains a backslash"
    if path.startswith("/"):
        return "is absolute"
    if path.startswith("~"):
        return "starts with ~"
    if DRIVE.match(path) or SCHEME.match(path):
        return "starts with a drive or a URL scheme"
    return next((fault for name in path.split("/") if (fault := _name_fault(name))), None)


def _name_fault(name: str) -> str | None:
    if name == "..":
        return "contains .."
    if name not in ("", ".") and not name.strip(". "):
        return "has a name of only dots and spaces"
    if GIT_FOLDER.fullmatch(name):
        return "is inside .git"
    if len(name.encode()) > LONGEST_NAME:
        return f"has a name longer than {LONGEST_NAME} bytes"
    return None
