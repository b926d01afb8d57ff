"""Links are followed within the tree, name by name, like the kernel does."""

from __future__ import annotations

import pytest

from podium.git.trees.links import escaping_links


@pytest.mark.parametrize(
    ("links", "out"),
    [
        ({"a": "b"}, set()),
        ({"a": "/etc"}, {"a"}),
        ({"a": ".."}, {"a"}),
        ({"d/a": ".."}, set()),
        ({"d/a": "../.."}, {"d/a"}),
        ({"d/a": "./../d//x/../y"}, set()),
        ({"e/up": "..", "y": "e/up/../x"}, {"y"}),
        ({"e/up": "..", "y": "e/up/x"}, set()),
        ({"a": "b", "b": "a"}, set()),
        ({"a": "b", "b": "c", "c": "/x"}, {"a", "b", "c"}),
        ({"a": "missing/../../x"}, {"a"}),
        ({"a": ""}, set()),
        ({"a": ".git/hooks"}, {"a"}),
        ({"a": "b/.GIT~1/../x", "c": "GIT~1"}, {"c"}),
        ({"d": ".", "a": "d/d/../.git"}, {"a"}),
        ({"a": "x/" * 1_001}, {"a"}),
    ],
)
def test_a_link_escapes_exactly_if_the_kernel_says_so(links: dict[str, str], out: set[str]) -> None:
    """C14: links that resolve outside the root are forbidden; a lexical check is fooled by a chain."""
    assert escaping_links(links) == out
