"""What to write instead of a field that does not exist: the nearest name, this format's word, or the fields there are."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from podium.workflow.problems import did_you_mean

MOST_NAMES: Final = 12
PEER_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("stdout", "content", "response", "answer", "value", "outputs"), ("output", "text")),
    "result": ("output", "outcome"),
    **dict.fromkeys(("status", "state", "conclusion", "succeeded", "success", "failed"), ("outcome",)),
    **dict.fromkeys(("exit", "exitcode", "returncode", "return_code", "code", "rc"), ("exit_code",)),
    **dict.fromkeys(("cost", "spent", "price"), ("usd",)),
    **dict.fromkeys(("error", "message", "exception", "stderr"), ("reason",)),
    **dict.fromkeys(("tries", "retries"), ("attempts",)),
    **dict.fromkeys(("elapsed", "time", "seconds"), ("duration",)),
    **dict.fromkeys(("score", "decision", "approved", "quality_score"), ("verdict", "outcome")),
    **dict.fromkeys(("changes", "patch"), ("diff", "files")),
    **dict.fromkeys(("issues", "comments", "feedback"), ("findings",)),
    **dict.fromkeys(("results", "items", "rounds"), ("iterations", "output")),
}
"""What the words of other workflow tools are called here."""


def field_hint(name: str, fields: Collection[str]) -> str:
    """The hint for a field that does not exist; empty if nothing has a name."""
    words = [word for word in PEER_FIELDS.get(name.lower(), ()) if word in fields]
    if words:
        return f"write {' or '.join(words)}"
    if hint := did_you_mean(name, fields):
        return hint
    shown = sorted(fields)[:MOST_NAMES]
    more = len(fields) - len(shown)
    return f"its fields: {', '.join(shown)}{f' and {more} more' if more else ''}" if shown else ""
