"""The files that are packed into a prompt: by globs, whole ones, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from podium.attempt.fenced import cut, fence
from podium.attempt.files import Files
from podium.attempt.site import Site
from podium.core.expr import Names
from podium.core.globs import glob_matches
from podium.core.template import fill
from podium.core.words import Tree
from podium.git.change import diff

BYTES_PER_TOKEN: Final = 4
BUDGET: Final = 30_000
"""Tokens, where the file says nothing."""
GRAPH_WORDS: Final = ("$TARGET_IMPORTS", "$TARGET", "$INTERFACES", "$PUBLIC_API", "$INTERNALS")


def context_of(
    site: Site, said: Mapping[str, Any], names: Names, files: Files, *, since: Tree | None, tree: Tree | None
) -> str:
    """The section of a prompt with its files; empty if nothing was asked for."""
    wanted: dict[str, Any] = {key: fill(value, names) for key, value in said.items()}
    budget = int(wanted.get("budget") or BUDGET) * BYTES_PER_TOKEN
    parts: list[str] = []
    if wanted.get("diff") and site.repository is not None and since is not None and tree is not None:
        changed = diff(site.repository, since, tree, limit=budget // 2)
        budget -= len(changed.text)
        parts.append(_diff(changed.text, cut_off=changed.cut))
    globs, words = _globs(wanted)
    excluded = _texts(wanted.get("exclude"))
    paths = [path for path in files.matching(globs) if not any(glob_matches(g, path) for g in excluded)]
    parts += _packed(files, paths, budget)
    if words:
        parts.append(
            f"Asked for, but not packed here: {', '.join(words)}. These need a graph of the code; "
            "look the files up in the workspace."
        )
    return "## Files\n\n" + "\n\n".join(parts) if parts else ""


def _diff(text: str, *, cut_off: bool) -> str:
    if not text:
        return "Nothing has been changed in this run so far."
    end = "\n(The rest is left out.)" if cut_off else ""
    return f"Changed in this run so far:\n{fence(text, 'diff')}{end}"


def _globs(wanted: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """What is always packed comes first, so that it is the last to be left out."""
    said = [*_texts(wanted.get("always")), *_texts(wanted.get("include"))]
    words = [entry for entry in said if entry.startswith(GRAPH_WORDS)]
    return [entry for entry in said if entry not in words], words


def _texts(value: Any) -> Sequence[str]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(str(entry) for entry in value)


def _packed(files: Files, paths: Sequence[str], budget: int) -> list[str]:
    parts: list[str] = []
    left_out: list[str] = []
    for path, content in files.read(paths):
        if b"\0" in content[:8000]:
            left_out.append(f"{path} (binary)")
        elif len(content) > budget:
            left_out.append(f"{path} ({len(content)} bytes)")
        else:
            budget -= len(content)
            parts.append(f"{path}:\n{fence(content.decode('utf-8', 'replace'))}")
    if left_out:
        parts.append(cut("Not packed, for want of room: " + ", ".join(left_out), 4000))
    return parts
