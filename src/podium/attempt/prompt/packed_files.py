"""Packs files into a prompt: selected by globs, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from podium.attempt.host import Host
from podium.attempt.prompt.tree_files import TreeFiles
from podium.attempt.workspace.memory import folder_of, shown_contents
from podium.core.events import AttemptStarted
from podium.core.expressions.nodes import Names
from podium.core.expressions.templates import fill_argv
from podium.core.expressions.values import MAX_TEXT
from podium.core.globs import glob_matches
from podium.core.step_settings import ContextSettings
from podium.core.types import Tree
from podium.errors import ConfigurationError
from podium.git.memory import MAX_BYTES, MAX_FILES
from podium.git.trees.diff import diff
from podium.workflow.defaults import CONTEXT_BUDGET
from podium.workflow.prompts.quoting import fence, truncate_middle

BYTES_PER_TOKEN: Final = 4
MAX_TEXT_BYTES: Final = MAX_TEXT // 2
"""Largest size of one file or diff in a prompt, whatever the budget."""
MIN_PIECE_BYTES: Final = 2_000
"""A shorter piece of a file is not packed."""
MAX_MEMORY_BYTES: Final = 32_000
"""Of a memory, in a prompt; a program reads the rest in the folder."""
ATTACHED: Final = "(attached as an image)"
GRAPH_WORDS: Final = ("$TARGET_IMPORTS", "$TARGET", "$INTERFACES", "$PUBLIC_API", "$INTERNALS")


def context_of(
    host: Host,
    settings: ContextSettings,
    names: Names,
    files: TreeFiles,
    *,
    since: Tree | None,
    tree: Tree | None,
    images: Collection[str] = (),
) -> Mapping[str, Any]:
    """The data of the prompt's section about files; empty if there is nothing to show.

    `images` are files that the agent gets as images.
    """
    always, include, exclude = _globs(settings, names)
    room = (settings.budget or CONTEXT_BUDGET) * BYTES_PER_TOKEN
    first, rest = _paths(files, always, exclude), _paths(files, include, exclude)
    required, room = _required(files, first, room)
    changes: dict[str, Any] = {"wanted": False, "diff": "", "cut": False}
    if settings.diff and host.repository is not None and since is not None and tree is not None:
        changed = diff(host.repository, since, tree, limit=min(room // 2, MAX_TEXT_BYTES))
        room -= len(changed.text)
        fenced = fence(changed.text, "diff") if changed.text else ""
        changes = {"wanted": True, "diff": fenced, "cut": changed.cut}
    packed, left_out, binary = _packed(
        files, [path for path in rest if path not in first and path not in images], room
    )
    packed = [*required, *packed, *({"path": path, "text": ATTACHED} for path in images)]
    words = [entry for entry in (*always, *include) if entry.startswith(GRAPH_WORDS)]
    if not (changes["wanted"] or packed or left_out or binary or words):
        return {}
    return {
        "changes": changes,
        "files": packed,
        "left_out": truncate_middle(", ".join(left_out), 4000),
        "binary": truncate_middle(", ".join(binary), 4000),
        "unknown": words,
    }


def memory_facts(
    host: Host, started: AttemptStarted, name: str, tree: Tree, *, has_files: bool
) -> Mapping[str, Any]:
    """The data of the prompt's section about a memory: as many whole files as fit, and the names of the others."""
    assert host.repository is not None
    contents = shown_contents(host.repository, tree)
    room, files, left_out = MAX_MEMORY_BYTES, [], []
    for path, content in contents.items():
        if len(content) > room:
            left_out.append(f"{path} ({len(content)} bytes)")
        else:
            room -= len(content)
            files.append(_part(path, content.decode("utf-8")))
    return {
        "name": name,
        "folder": str(folder_of(host, started)) if has_files else "",
        "files": files,
        "left_out": truncate_middle(", ".join(left_out), 4000),
        "max_files": MAX_FILES,
        "max_bytes": MAX_BYTES,
    }


def named_files(settings: ContextSettings, names: Names, files: TreeFiles) -> list[str]:
    """All files that `context` names, whether there is room for them or not."""
    always, include, exclude = _globs(settings, names)
    return _paths(files, (*always, *include), exclude)


def _globs(settings: ContextSettings, names: Names) -> tuple[tuple[str, ...], ...]:
    return tuple(fill_argv(globs, names) for globs in (settings.always, settings.include, settings.exclude))


def _paths(files: TreeFiles, globs: Sequence[str], exclude: Sequence[str]) -> list[str]:
    matching = files.matching([glob for glob in globs if not glob.startswith(GRAPH_WORDS)])
    return [path for path in matching if not any(glob_matches(glob, path) for glob in exclude)]


def _required(files: TreeFiles, paths: Sequence[str], room: int) -> tuple[list[dict[str, str]], int]:
    """The required files in full and the remaining room; raises ConfigurationError if they do not fit."""
    contents = [(path, content) for path, content in files.read(paths) if not _is_binary(content)]
    size = sum(len(content) for _, content in contents)
    if size > room or any(len(content) > MAX_TEXT_BYTES for _, content in contents):
        raise ConfigurationError(
            f"context.always takes {_tokens(size)} tokens, and the budget is {_tokens(room)}",
            hint="raise context.budget, or let context.always name less",
        )
    return [_part(path, content.decode("utf-8", "replace")) for path, content in contents], room - size


def _packed(
    files: TreeFiles, paths: Sequence[str], room: int
) -> tuple[list[dict[str, str]], list[str], list[str]]:
    """The packed files, those left out for lack of room, and those that are not text.

    Complete files come first, then one truncated to the remaining room.
    """
    packed: list[dict[str, str]] = []
    binary: list[str] = []
    too_long: list[tuple[str, bytes]] = []
    left_out: list[str] = []
    for path, content in files.read(paths):
        if _is_binary(content):
            binary.append(path)
        elif len(content) > min(room, MAX_TEXT_BYTES):
            too_long.append((path, content))
        else:
            room -= len(content)
            packed.append(_part(path, content.decode("utf-8", "replace")))
    for path, content in too_long:
        if room >= MIN_PIECE_BYTES:
            packed.append(
                _part(path, truncate_middle(content.decode("utf-8", "replace"), min(room, MAX_TEXT_BYTES)))
            )
            left_out.append(f"parts of {path} ({len(content)} bytes)")
            room = 0
        else:
            left_out.append(f"{path} ({len(content)} bytes)")
    return packed, left_out, binary


def _part(path: str, text: str) -> dict[str, str]:
    return {"path": path, "text": fence(text)}


def _is_binary(content: bytes) -> bool:
    return b"\0" in content[:8000]


def _tokens(size: int) -> int:
    return -(-size // BYTES_PER_TOKEN)
