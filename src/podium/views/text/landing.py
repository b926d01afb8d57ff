"""Describes a landing: the commit and branch, and what the user still has to do."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final

from podium.core.payloads import Rebase
from podium.views.plain import one_line, short_id
from podium.views.run.view import RunView, StepView

FOR_A_PERSON: Final = ("in_the_way", "taken_off", "git")
"""Reasons of a failed landing that the user can fix and then retry."""


def landings(view: RunView) -> Iterator[StepView]:
    """The steps that have landed a commit."""
    return (step for step in view.steps if step.result and step.landed is not None)


def landing_words(step: StepView, quote: str = "") -> str | None:
    """What this step landed; None if it is not a landing that passed."""
    if step.landed is None:
        return None
    commit, branch = step.landed
    name = _name(branch, quote)
    more = _output(step).get("landed")
    if isinstance(more, list) and len(more) > 1:
        places = (
            f"{quote}{short_id(str(one['commit']))}{quote} to {quote}{_name(str(one['branch']), quote)}{quote}"
            for one in more
        )
        return f"committed {', '.join(places)}"
    if _output(step).get("unchanged"):
        fact = "already has all changes" if commit else "was not created"
        return f"had nothing to land: {quote}{name}{quote} {fact}"
    return f"committed {quote}{short_id(commit)}{quote} to {quote}{name}{quote}"


def _name(branch: str, quote: str) -> str:
    """A branch name may contain the quote character."""
    return one_line(branch).replace(quote, "'") if quote else one_line(branch)


def send_back_command(run: str, rebase: Rebase) -> str:
    """Lets the author continue the work on top of the branch."""
    return f"podium rerun {run} {shlex.quote(rebase.step)} --onto {shlex.quote(rebase.branch)}"


def merge_command(rebase: Rebase) -> str:
    """Merges work that no step can continue, for a person who resolves the conflicts."""
    return f"git switch {shlex.quote(rebase.branch)} && git merge --squash {rebase.work[:12]}"


def landing_note(step: StepView) -> str:
    """Why the checked-out files do not match the branch, and what to do; "" if they match."""
    note = _output(step).get("notes") if step.landed is not None else None
    return one_line(note, 2_000) if isinstance(note, str) else ""


def _output(step: StepView) -> Mapping[str, Any]:
    output = step.result.get("output")
    return output if isinstance(output, Mapping) else {}
