"""Finds symbolic links of a tree that lead out of it, by following them within the tree and never on the disk.

The kernel (openat2) is not used, because the files next to the tree differ between checkouts and may change during the
check. A test compares the results with the kernel's.

Checking the text of a link is not enough: with `e/up -> ..` the link `y -> e/up/../../x` leaves the root although its
text has no more dots than folders. So links are expanded one name at a time, as the kernel does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from podium.git.trees.names import is_git_folder

# The kernel has the same limit; a link beyond it cannot be followed and is harmless.
MAX_HOPS: Final = 40
# Longer chains are useless, and following a hundred thousand of them would take minutes.
MAX_NAMES: Final = 1_000


def escaping_links(links: Mapping[str, str]) -> frozenset[str]:
    """The links (path to target) that lead out of the root of the tree or into its .git folder."""
    return frozenset(path for path in links if _leaves(path, links))


def _leaves(path: str, links: Mapping[str, str]) -> bool:
    names = path.split("/")
    # The current position, as the full paths of all folders on the way.
    position = ["/".join(names[:depth]) for depth in range(1, len(names))]
    todo = [names[-1]]
    hops = steps = 0
    while todo:
        name = todo.pop()
        if name in ("", "."):
            continue
        steps += 1
        if name == "..":
            if not position:
                return True
            position.pop()
            continue
        if is_git_folder(name) or steps > MAX_NAMES:
            return True
        current = f"{position[-1]}/{name}" if position else name
        target = links.get(current)
        if target is None:
            position.append(current)
            continue
        hops += 1
        if target.startswith("/"):
            return True
        if hops > MAX_HOPS:
            return False
        todo.extend(reversed(target.split("/")))
    return False
