"""Checks what an attempt may change, from the captured paths and before any gate runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from podium.attempt.host import Host
from podium.attempt.workspace.workspace import CapturedChange
from podium.core.expressions.nodes import Names, Node
from podium.core.expressions.templates import fill, fill_argv
from podium.core.expressions.values import Meter, as_text, is_list
from podium.core.globs import glob_matches
from podium.core.model import Agent, Step
from podium.core.types import Reason
from podium.git.trees.names import fold_name
from podium.views.format import first_of

MAX_LISTED_PATHS: Final = 20


def objection(host: Host, step: Step, names: Names, change: CapturedChange) -> tuple[Reason, str] | None:
    """The reason and message for the next attempt if this change is not allowed; None if it is."""
    allowed = globs_of(step, names)
    if allowed is not None:
        outside = [path for path in change.files if not _any(allowed, path)]
        if outside:
            may = f"allowed are only: {', '.join(allowed)}" if allowed else "nothing may be changed here"
            return "touches", f"the change goes beyond what this step may touch: {_list(outside)}; {may}"
    if _must_change(step) and not change.files and host.repository is not None:
        where = f" in {', '.join(allowed)}" if allowed else ""
        return "no_change", f"nothing was changed{where}, but this step is there to change files"
    return None


def protected(step: Step, names: Names, change: CapturedChange) -> tuple[str, ...]:
    """Changed files that are protected, which a person may allow; none if a person did the work."""
    if isinstance(step.verb, Agent) and step.verb.by_hand:
        return ()
    globs = fill_argv(step.settings.protect, names)
    # Also match spellings that are the same file on case-insensitive systems: there .Claude/ works like .claude/.
    same = tuple(fold_name(glob) for glob in globs)
    return tuple(path for path in change.files if _any(globs, path) or _any(same, fold_name(path)))


def globs_of(step: Step, names: Names) -> tuple[str, ...] | None:
    """The globs of `touches`; None: not declared, so everything."""
    if step.touches is None:
        return None
    if not isinstance(step.touches, Node):
        return fill_argv(step.touches, names)
    globs = fill(step.touches, names)
    return tuple(as_text(glob, Meter()) for glob in (globs if is_list(globs) else (globs,)))


def _must_change(step: Step) -> bool:
    return isinstance(step.verb, Agent) and not step.verb.judge and step.verb.no_change == "fail"


def _any(patterns: Iterable[str], path: str) -> bool:
    return any(glob_matches(pattern, path) for pattern in patterns)


def _list(paths: list[str]) -> str:
    return first_of(paths, MAX_LISTED_PATHS)
