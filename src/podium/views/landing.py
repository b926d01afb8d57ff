"""A landing in words: what it has put where, and what a person still has to do about it."""

from __future__ import annotations

from collections.abc import Mapping

from podium.views.plain import one_line, short
from podium.views.run import StepView


def landing_words(step: StepView, quote: str = "") -> str | None:
    """What this step has put on a branch; None if it is no landing that has passed."""
    if step.landed is None:
        return None
    commit, branch = step.landed
    # A branch may have any name, also one that would end the quote.
    name = one_line(branch).replace(quote, "'") if quote else one_line(branch)
    return f"put commit {quote}{short(commit)}{quote} on {quote}{name}{quote}"


def landing_note(step: StepView) -> str:
    """Why the checked-out files are not where the branch is, and what to do; empty if they are."""
    output = step.result.get("output")
    note = output.get("notes") if step.landed is not None and isinstance(output, Mapping) else None
    return one_line(note, 2_000) if isinstance(note, str) else ""
