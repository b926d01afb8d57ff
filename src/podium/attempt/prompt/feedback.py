"""Feedback of failed attempts as text for the next one: the latest in full, a digest of the earlier (C40).

Each entry is also written to `feedback/<step>/<n>.md` of the run (R113, R114), because the state drops the text of an
attempt as soon as the next one ends.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from podium.attempt.artifacts import write_bytes
from podium.attempt.host import Host
from podium.core.addresses import without_visit
from podium.core.types import Address
from podium.tasks.partials import render_partial
from podium.tasks.task import AttemptTask, FeedbackEntry
from podium.workflow.prompts.quoting import first_line, truncate_middle

MAX_ENTRY_CHARS: Final = 16_000
"""Characters of one entry in a prompt; the file has all of it."""
MAX_DIGESTS: Final = 12


def feedback_text(task: AttemptTask, entries: tuple[FeedbackEntry, ...], *, heading: bool = False) -> str:
    """The feedback for the next prompt; empty if there is none. A heading is needed if the prompt does not place it."""
    if not entries:
        return ""
    newest = _occasion(entries[-1].source)
    latest = [entry for entry in entries if _occasion(entry.source) == newest]
    earlier = [entry for entry in entries if _occasion(entry.source) != newest][-MAX_DIGESTS:]
    facts = {
        "heading": heading,
        "latest": [truncate_middle(entry.text, MAX_ENTRY_CHARS) for entry in latest],
        "earlier": [_digest(entry) for entry in earlier],
    }
    return render_partial(task.agent_work.config, "feedback", facts)


def keep_entries(host: Host, task: AttemptTask) -> tuple[FeedbackEntry, ...]:
    """Every entry, the newest last. New entries are written to files; dropped ones are read back from them."""
    folder = folder_of(host, task.started.path)
    files = _files(folder) if task.agent_work.feedback else {}
    entries: list[FeedbackEntry] = []
    for entry in task.agent_work.feedback:
        path = files.get(entry.source)
        if entry.is_known and path is None:
            files[entry.source] = _write(host, folder / f"{len(files) + 1}.md", entry)
        entries.append(entry if entry.is_known or path is None else _read(entry.source, path))
    return tuple(entries)


def folder_of(host: Host, path: Address) -> Path:
    return host.run_dir / "feedback" / without_visit(path).replace("/", "+")


def _occasion(source: str) -> str:
    """The attempt that an address is about, by which entries are grouped."""
    attempt = re.match(r"(.*?#\d+)", source)
    return attempt[1] if attempt is not None else source


def _digest(entry: FeedbackEntry) -> str:
    body = first_line(entry.body.lstrip("`\n"))
    return f"{first_line(entry.title)} {body}".strip()


def _files(folder: Path) -> dict[str, Path]:
    """The existing files, by the address in their first line."""
    files: dict[str, Path] = {}
    for path in sorted(folder.glob("*.md")):
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            files[file.readline().removeprefix("# ").rstrip("\n")] = path
    return files


def _write(host: Host, path: Path, entry: FeedbackEntry) -> Path:
    text = host.mask.text(f"# {entry.source}\n\n{entry.text}\n")
    write_bytes(path, text.encode("utf-8", "surrogateescape"))
    return path


def _read(source: str, path: Path) -> FeedbackEntry:
    text = path.read_text("utf-8", "surrogateescape").partition("\n\n")[2]
    title, _, body = text.strip().partition("\n\n")
    return FeedbackEntry(source, title, body)
