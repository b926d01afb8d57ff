"""A landing in words: what it has put where, and what a person still has to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from podium.views.plain import one_line, short
from podium.views.run.view import StepView

FOR_A_PERSON: Final = ("in_the_way", "taken_off", "git")
"""Reasons of a landing that a person has to do something about; then it can be done again."""


def landing_words(step: StepView, quote: str = "") -> str | None:
    """What this step has put on a branch; None if it is no landing that has passed."""
    if step.landed is None:
        return None
    commit, branch = step.landed
    # A branch may have any name, also one that would end the quote.
    name = one_line(branch).replace(quote, "'") if quote else one_line(branch)
    if _output(step).get("unchanged"):
        fact = "has all of it already" if commit else "was not made"
        return f"had nothing to land: {quote}{name}{quote} {fact}"
    return f"put commit {quote}{short(commit)}{quote} on {quote}{name}{quote}"


def landing_note(step: StepView) -> str:
    """Why the checked-out files are not where the branch is, and what to do; empty if they are."""
    note = _output(step).get("notes") if step.landed is not None else None
    return one_line(note, 2_000) if isinstance(note, str) else ""


def _output(step: StepView) -> Mapping[str, Any]:
    output = step.result.get("output")
    return output if isinstance(output, Mapping) else {}
