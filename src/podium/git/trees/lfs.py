"""Files managed by Git LFS: a tree contains only their pointers.

Workspaces contain the pointers too, because no filter is run for an agent. An agent that writes real content there has
not seen the old content, and its blob would stay in the repository for good, so such a capture is refused.
"""

from __future__ import annotations

from typing import Final

from podium.git.trees.ignore import MAX_BYTES, Rule, Rules, is_ignored, parse_rules

POINTER: Final = b"version https://git-lfs.github.com/spec/v1\n"
POINTER_BYTES: Final = 1024


class NoPointer(Exception):
    """A file managed by Git LFS contains something other than a pointer."""


def lfs_rules(content: bytes) -> tuple[Rule, ...]:
    """The lines of a .gitattributes file that set the filter, as ignore rules of which the last match decides."""
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
