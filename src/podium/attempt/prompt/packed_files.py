"""The files that are packed into a prompt: by globs, whole ones, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from podium.attempt.host import Host
from podium.attempt.prompt.tree_files import TreeFiles
from podium.core.expressions.nodes import Names
from podium.core.expressions.templates import fill_argv
from podium.core.expressions.values import MAX_TEXT
from podium.core.globs import glob_matches
from podium.core.settings import ContextSettings
from podium.core.types import Tree
from podium.errors import ConfigurationError
from podium.git.trees.diff import diff
from podium.workflow.prompts.quoting import fence, truncate_middle

BYTES_PER_TOKEN: Final = 4
BUDGET: Final = 30_000
"""Tokens, where the file says nothing."""
MOST: Final = MAX_TEXT // 2
"""Bytes of one file or diff, whatever the budget: a single text of a prompt may not be longer."""
WORTH_IT: Final = 2_000
"""Bytes: a shorter piece of a file is of no use to anybody."""
GRAPH_WORDS: Final = ("$TARGET_IMPORTS", "$TARGET", "$INTERFACES", "$PUBLIC_API", "$INTERNALS")


def context_of(
    host: Host,
    settings: ContextSettings,
    names: Names,
    files: TreeFiles,
    *,
    since: Tree | None,
    tree: Tree | None,
) -> Mapping[str, Any]:
    """What the section of a prompt with its files is made of; empty if nothing was asked for."""
    always, include, exclude = (
        fill_argv(globs, names) for globs in (settings.always, settings.include, settings.exclude)
    )
    room = (settings.budget or BUDGET) * BYTES_PER_TOKEN
    first, rest = _paths(files, always, exclude), _paths(files, include, exclude)
    required, room = _required(files, first, room)
    changes: dict[str, Any] = {"wanted": False, "diff": "", "cut": False}
    if settings.diff and host.repository is not None and since is not None and tree is not None:
        changed = diff(host.repository, since, tree, limit=min(room // 2, MOST))
        room -= len(changed.text)
        fenced = fence(changed.text, "diff") if changed.text else ""
        changes = {"wanted": True, "diff": fenced, "cut": changed.cut}
    packed, left_out = _packed(files, [path for path in rest if path not in first], room)
    packed = [*required, *packed]
    words = [entry for entry in (*always, *include) if entry.startswith(GRAPH_WORDS)]
    if not (changes["wanted"] or packed or left_out or words):
        return {}
    return {
        "changes": changes,
        "files": packed,
        "left_out": truncate_middle(", ".join(left_out), 4000),
        "unknown": words,
    }


def _paths(files: TreeFiles, globs: Sequence[str], exclude: Sequence[str]) -> list[str]:
    matching = files.matching([glob for glob in globs if not glob.startswith(GRAPH_WORDS)])
    return [path for path in matching if not any(glob_matches(glob, path) for glob in exclude)]


def _required(files: TreeFiles, paths: Sequence[str], room: int) -> tuple[list[dict[str, str]], int]:
    """What must be packed, whole, and the room that is left; raises ConfigurationError if it does not fit."""
    found = [(path, content) for path, content in files.read(paths) if not _is_binary(content)]
    size = sum(len(content) for _, content in found)
    if size > room or any(len(content) > MOST for _, content in found):
        raise ConfigurationError(
            f"context.always takes {_tokens(size)} tokens, and the budget is {_tokens(room)}",
            hint="raise context.budget, or let context.always name less",
        )
    return [_part(path, content.decode("utf-8", "replace")) for path, content in found], room - size


def _packed(files: TreeFiles, paths: Sequence[str], room: int) -> tuple[list[dict[str, str]], list[str]]:
    """The files with their texts as data, and what there was no room for: whole ones first, then one cut to the rest."""
    packed: list[dict[str, str]] = []
    too_long: list[tuple[str, bytes]] = []
    left_out: list[str] = []
    for path, content in files.read(paths):
        if _is_binary(content):
            left_out.append(f"{path} (binary)")
        elif len(content) > min(room, MOST):
            too_long.append((path, content))
        else:
            room -= len(content)
            packed.append(_part(path, content.decode("utf-8", "replace")))
    for path, content in too_long:
        if room >= WORTH_IT:
            packed.append(_part(path, truncate_middle(content.decode("utf-8", "replace"), min(room, MOST))))
            left_out.append(f"parts of {path} ({len(content)} bytes)")
            room = 0
        else:
            left_out.append(f"{path} ({len(content)} bytes)")
    return packed, left_out


def _part(path: str, text: str) -> dict[str, str]:
    return {"path": path, "text": fence(text)}


def _is_binary(content: bytes) -> bool:
    return b"\0" in content[:8000]


def _tokens(size: int) -> int:
    return -(-size // BYTES_PER_TOKEN)
