"""The files that are packed into a prompt: by globs, whole ones, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from podium.attempt.fenced import cut
from podium.attempt.files import Files
from podium.attempt.site import Site
from podium.core.expr import Names
from podium.core.globs import glob_matches
from podium.core.kinds import MAX_TEXT
from podium.core.template import fill
from podium.core.words import Tree
from podium.git.change import diff
from podium.workflow.fences import fence

BYTES_PER_TOKEN: Final = 4
BUDGET: Final = 30_000
"""Tokens, where the file says nothing."""
MOST: Final = MAX_TEXT // 2
"""Bytes of one file or diff, whatever the budget: a single text of a prompt may not be longer."""
GRAPH_WORDS: Final = ("$TARGET_IMPORTS", "$TARGET", "$INTERFACES", "$PUBLIC_API", "$INTERNALS")


def context_of(
    site: Site, said: Mapping[str, Any], names: Names, files: Files, *, since: Tree | None, tree: Tree | None
) -> Mapping[str, Any]:
    """What the section of a prompt with its files is made of; empty if nothing was asked for."""
    wanted: dict[str, Any] = {key: fill(value, names) for key, value in said.items()}
    budget = int(wanted.get("budget") or BUDGET) * BYTES_PER_TOKEN
    changes: dict[str, Any] = {"wanted": False, "diff": "", "cut": False}
    if wanted.get("diff") and site.repository is not None and since is not None and tree is not None:
        changed = diff(site.repository, since, tree, limit=min(budget // 2, MOST))
        budget -= len(changed.text)
        fenced = fence(changed.text, "diff") if changed.text else ""
        changes = {"wanted": True, "diff": fenced, "cut": changed.cut}
    globs, words = _globs(wanted)
    excluded = _texts(wanted.get("exclude"))
    paths = [path for path in files.matching(globs) if not any(glob_matches(g, path) for g in excluded)]
    packed, left_out = _packed(files, paths, budget)
    if not (changes["wanted"] or packed or left_out or words):
        return {}
    return {
        "changes": changes,
        "files": packed,
        "left_out": cut(", ".join(left_out), 4000),
        "unknown": words,
    }


def _globs(wanted: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """What is always packed comes first, so that it is the last to be left out."""
    said = [*_texts(wanted.get("always")), *_texts(wanted.get("include"))]
    words = [entry for entry in said if entry.startswith(GRAPH_WORDS)]
    return [entry for entry in said if entry not in words], words


def _texts(value: Any) -> Sequence[str]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(str(entry) for entry in value)


def _packed(files: Files, paths: Sequence[str], budget: int) -> tuple[list[dict[str, str]], list[str]]:
    """The files with their texts as data, and those for which there is no room."""
    packed: list[dict[str, str]] = []
    left_out: list[str] = []
    for path, content in files.read(paths):
        if b"\0" in content[:8000]:
            left_out.append(f"{path} (binary)")
        elif len(content) > min(budget, MOST):
            left_out.append(f"{path} ({len(content)} bytes)")
        else:
            budget -= len(content)
            packed.append({"path": path, "text": fence(content.decode("utf-8", "replace"))})
    return packed, left_out
