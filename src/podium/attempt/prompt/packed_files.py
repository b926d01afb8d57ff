"""The section of a prompt about files: what the packer chose, as data of the partial, and the memory of a step."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from podium.attempt.host import Host
from podium.attempt.prompt.code_files import CodeFiles
from podium.attempt.prompt.hidden_lines import HiddenLines
from podium.attempt.prompt.pack_plan import Request, internals_of, plan_of
from podium.attempt.prompt.token_counts import counter_for
from podium.attempt.prompt.tree_files import TreeFiles
from podium.attempt.workspace.hidden import HiddenFiles, hidden_by
from podium.attempt.workspace.memory import folder_of, shown_contents
from podium.context.extract.languages import grammar_of
from podium.context.extract.reader import Job, read_all
from podium.context.forms import public_signatures
from podium.context.manifest import Entry, Pack
from podium.context.pack import pack
from podium.context.plan import Redacted
from podium.context.presets import INTERNALS, WORDS
from podium.core.events import AttemptStarted
from podium.core.expressions.nodes import Names
from podium.core.expressions.templates import fill_argv
from podium.core.globs import glob_matches
from podium.core.step_settings import ContextSettings
from podium.core.types import Tree
from podium.git.memory import MAX_BYTES, MAX_FILES
from podium.redaction.mask import Mask
from podium.redaction.scan import scrub
from podium.workflow.prompts.quoting import fence, truncate_middle

MAX_MEMORY_BYTES: Final = 32_000
"""Of a memory, in a prompt; a program reads the rest in the folder."""
_REMOVED: Final = re.compile(r"\[removed: (\w+)\]")
ATTACHED: Final = "(attached as an image)"
LISTED: Final = 4000
"""Characters of a list of names."""


def pack_files(host: Host, request: Request, tree: TreeFiles) -> Pack:
    """Raises ConfigurationError if `always` does not fit."""
    globs = (*fill_argv(request.settings.exclude, request.names), *request.hide)
    exclude = [glob for glob in globs if glob not in WORDS]
    with host.open_facts() as cache:
        files = CodeFiles(tree, cache, exclude, unranked=request.own)
        plan = plan_of(host, request, files, cache)
        return pack(
            plan,
            files,
            redactor(host.mask),
            counter=counter_for(cache, request.model),
            tree=request.tree or "",
            base=host.base_commit or "",
        )


def hidden_files(host: Host, request: Request, tree: TreeFiles) -> HiddenFiles:
    """The files that `workspace.hide` names."""
    internals: tuple[str, ...] = ()
    if INTERNALS in request.hide:
        with host.open_facts() as cache:
            internals = internals_of(host, request, CodeFiles(tree, cache, ()), cache)
    globs = [glob for glob in request.hide if glob not in WORDS]
    return hidden_by(globs, tree.blobs, internals)


def lines_of_hidden(request: Request, tree: TreeFiles, hidden: HiddenFiles) -> HiddenLines:
    """The lines that feedback may not show: those of hidden files that their public interface does not have."""
    texts = [
        (path, content) for path, content in tree.read(sorted(hidden.paths)) if b"\0" not in content[:8000]
    ]
    shown = []
    if INTERNALS in request.hide:
        jobs = [Job(grammar_of(path), content) for path, content in texts]
        for (_, content), facts in zip(texts, read_all(jobs), strict=True):
            shown.append(public_signatures(content, facts) or "")
    return HiddenLines((content for _, content in texts), shown)


def redactor(mask: Mask) -> Callable[[str], Redacted]:
    """Removes the values of declared secrets and what looks like one."""

    def redact(text: str) -> Redacted:
        masked = mask.text(text)
        clean = scrub(masked)
        return Redacted(clean.text, sum(clean.counts.values()) + (masked != text))

    return redact


def removed_in(packed: Pack) -> Counter[str]:
    """How many texts were removed from the packed files, by rule."""
    return Counter(rule for entry in packed.entries for rule in _REMOVED.findall(entry.text + entry.reason))


def files_section(packed: Pack, request: Request) -> Mapping[str, Any]:
    """The data of the partial; empty if there is nothing to show."""
    pieces = packed.of("diff")
    wants_diff = bool(request.settings.diff) and request.since is not None and request.tree is not None
    diff_text = "".join(entry.text for entry in pieces)
    cut = any(entry.form == "cut" for entry in pieces) or any(one.part == "diff" for one in packed.left_out)
    changes = {
        "wanted": wants_diff or bool(pieces),
        "diff": fence(diff_text, "diff") if diff_text else "",
        "cut": cut,
    }
    shown = [entry for entry in packed.entries if entry.text and entry.part not in ("diff", "tree")]
    requested = [one for one in packed.left_out if one.part in ("include", "changed", "interfaces", "target")]
    section = {
        "changes": changes,
        "files": [
            *(_shown(entry) for entry in shown),
            *({"path": path, "note": "", "text": ATTACHED} for path in sorted(request.images)),
        ],
        "likely": [
            {"path": entry.path, "why": entry.reason}
            for entry in packed.entries
            if entry.form == "named" and not entry.text
        ],
        "tree": "".join(fence(entry.text) for entry in packed.of("tree")),
        "left_out": truncate_middle(
            ", ".join(_left(one.path, one.size, one.reason) for one in requested), LISTED
        ),
        "binary": truncate_middle(", ".join(packed.binary), LISTED),
    }
    parts = ("files", "likely", "tree", "left_out", "binary")
    return section if changes["wanted"] or any(section[part] for part in parts) else {}


def _left(path: str, size: int, reason: str) -> str:
    what = f"parts of {path}" if reason == "only a part fits" else path
    return f"{what} ({size} bytes)"


def _shown(entry: Entry) -> Mapping[str, str]:
    """A whole file that was asked for needs no note."""
    is_plain = entry.form == "whole" and entry.part in ("always", "include")
    facts = [
        *([] if entry.form == "whole" and is_plain else [entry.form]),
        *([entry.blob] if entry.blob and not is_plain else []),
        *([] if is_plain or entry.part == "include" else [entry.reason]),
        *([entry.note] if entry.note else []),
    ]
    return {"path": entry.path, "note": ", ".join(facts), "text": fence(entry.text)}


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
            files.append({"path": path, "text": fence(content.decode("utf-8"))})
    return {
        "name": name,
        "folder": str(folder_of(host, started)) if has_files else "",
        "files": files,
        "left_out": truncate_middle(", ".join(left_out), LISTED),
        "max_files": MAX_FILES,
        "max_bytes": MAX_BYTES,
    }


def named_files(settings: ContextSettings, names: Names, files: TreeFiles) -> list[str]:
    """All files that `context` names by globs, whether there is room for them or not."""
    globs = fill_argv((*settings.always, *settings.include), names)
    exclude = [glob for glob in fill_argv(settings.exclude, names) if glob not in WORDS]
    matching = files.matching([glob for glob in globs if glob not in WORDS])
    return [path for path in matching if not any(glob_matches(glob, path) for glob in exclude)]
