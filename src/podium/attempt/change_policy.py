"""What an attempt was allowed to change; asked before any gate, of the captured paths and never of the worker."""

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

SHOWN: Final = 20


def objection(host: Host, step: Step, names: Names, taken: CapturedChange) -> tuple[Reason, str] | None:
    """Why this change may not be taken, in words for the next attempt; None if it may."""
    allowed = globs_of(step, names)
    if allowed is not None:
        outside = [path for path in taken.files if not _any(allowed, path)]
        if outside:
            may = f"allowed are only: {', '.join(allowed)}" if allowed else "nothing may be changed here"
            return "touches", f"the change goes beyond what this step may touch: {_list(outside)}; {may}"
    if _must_change(step) and not taken.files and host.repository is not None:
        where = f" in {', '.join(allowed)}" if allowed else ""
        return "no_change", f"nothing was changed{where}, but this step is there to change files"
    return None


def protected(step: Step, names: Names, taken: CapturedChange) -> tuple[str, ...]:
    """What was changed although it is to be left alone; a person may allow it. Work by hand is a person's already."""
    if isinstance(step.verb, Agent) and step.verb.by_hand:
        return ()
    globs = fill_argv(step.settings.protect, names)
    # Also under a spelling that is the same file on other systems: .Claude/ steers an agent there as .claude/ does.
    same = tuple(fold_name(glob) for glob in globs)
    return tuple(path for path in taken.files if _any(globs, path) or _any(same, fold_name(path)))


def globs_of(step: Step, names: Names) -> tuple[str, ...] | None:
    """The globs of `touches`; None: not declared, so everything."""
    if step.touches is None:
        return None
    if not isinstance(step.touches, Node):
        return fill_argv(step.touches, names)
    found = fill(step.touches, names)
    return tuple(as_text(glob, Meter()) for glob in (found if is_list(found) else (found,)))


def _must_change(step: Step) -> bool:
    return isinstance(step.verb, Agent) and not step.verb.judge and step.verb.no_change == "fail"


def _any(patterns: Iterable[str], path: str) -> bool:
    return any(glob_matches(pattern, path) for pattern in patterns)


def _list(paths: list[str]) -> str:
    return first_of(paths, SHOWN)
