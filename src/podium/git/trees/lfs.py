"""Files that Git LFS keeps: in a tree stands a pointer, and nothing else may be put there.

Workspaces hold pointers too: contents are written as they are stored, and no filter is run for an agent. So an agent
that writes a real content in such a place has not seen the old one, and its blob would burden the repository for ever.
"""

from __future__ import annotations

from typing import Final

from podium.git.trees.ignore import MAX_BYTES, Rule, Rules, is_ignored, parse_rules

POINTER: Final = b"version https://git-lfs.github.com/spec/v1\n"
POINTER_BYTES: Final = 1024


class NoPointer(Exception):
    """A content stands where only a pointer may."""


def lfs_rules(content: bytes) -> tuple[Rule, ...]:
    """The lines of a .gitattributes file that set the filter, read as rules that the last match decides."""
    if b"filter=lfs" not in content:
        return ()
    lines: list[bytes] = []
    for line in content[:MAX_BYTES].split(b"\n"):
        pattern, *words = line.split() or [b"#"]
        if pattern.startswith((b"#", b"!", b"[attr]", b'"')) or pattern.endswith(b"/"):
            continue
        filters = [word for word in words if word.lstrip(b"-!").partition(b"=")[0] == b"filter"]
        if filters:
            lines.append(pattern if filters[-1] == b"filter=lfs" else b"!" + pattern)
    return parse_rules(b"\n".join(lines))


def is_kept_by_lfs(folder: str, name: str, rules: Rules) -> bool:
    return bool(rules) and is_ignored(folder, name, is_folder=False, rules=rules)


def is_pointer(start: bytes, size: int) -> bool:
    return size <= POINTER_BYTES and start.startswith(POINTER)
