"""Where the symbolic links of a tree lead: each is followed within the tree, never on the disk.

A look at the text is not enough: with `e/up -> ..` the link `y -> e/up/../../x` leaves the root although its text has
no more dots than folders (facts found by trying). So links are expanded one name at a time, as the kernel does it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# The kernel gives up after 40 as well; such a link leads nowhere, which harms nobody.
MAX_HOPS: Final = 40


def leaving(links: Mapping[str, str]) -> frozenset[str]:
    """The links (path to target) of a tree that lead out of its root."""
    return frozenset(path for path in links if _leaves(path, links))


def _leaves(path: str, links: Mapping[str, str]) -> bool:
    here = path.split("/")[:-1]
    todo = [path.rsplit("/", 1)[-1]]
    hops = 0
    while todo:
        name = todo.pop()
        if name in ("", "."):
            continue
        if name == "..":
            if not here:
                return True
            here.pop()
            continue
        here.append(name)
        target = links.get("/".join(here))
        if target is None:
            continue
        hops += 1
        if target.startswith("/"):
            return True
        if hops > MAX_HOPS:
            return False
        here.pop()
        todo.extend(reversed(target.split("/")))
    return False
