"""Where the symbolic links of a tree lead: each is followed within the tree, never on the disk.

What lies on the disk beside the tree may be another thing where the tree is checked out next, and may be changed
while one looks; so the kernel (openat2) is not asked. A test compares both.

A look at the text is not enough: with `e/up -> ..` the link `y -> e/up/../../x` leaves the root although its text has
no more dots than folders (facts found by trying). So links are expanded one name at a time, as the kernel does it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from podium.git.trees.names import is_git_folder

# The kernel gives up after 40 as well; such a link leads nowhere, which harms nobody.
MAX_HOPS: Final = 40
# Longer ways are nobody's need, and following a hundred thousand of them would take minutes.
MAX_NAMES: Final = 1_000


def leaving(links: Mapping[str, str]) -> frozenset[str]:
    """The links (path to target) of a tree that lead out of its root, or into the repository that stands in it."""
    return frozenset(path for path in links if _leaves(path, links))


def _leaves(path: str, links: Mapping[str, str]) -> bool:
    names = path.split("/")
    # Where we are, as the paths of all folders on the way: each is looked up whole.
    here = ["/".join(names[:at]) for at in range(1, len(names))]
    todo = [names[-1]]
    hops = seen = 0
    while todo:
        name = todo.pop()
        if name in ("", "."):
            continue
        seen += 1
        if name == "..":
            if not here:
                return True
            here.pop()
            continue
        if is_git_folder(name) or seen > MAX_NAMES:
            return True
        now = f"{here[-1]}/{name}" if here else name
        target = links.get(now)
        if target is None:
            here.append(now)
            continue
        hops += 1
        if target.startswith("/"):
            return True
        if hops > MAX_HOPS:
            return False
        todo.extend(reversed(target.split("/")))
    return False
