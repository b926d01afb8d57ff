"""Checks what an attempt may change, from the captured paths and before any gate runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from podium.attempt.host import Host
from podium.attempt.workspace.workspace import CapturedChange
from podium.core.expressions.nodes import Names, Node
from podium.core.expressions.templates import fill, fill_argv
from podium.core.expressions.values import Meter, as_text, is_list
from podium.core.globs import glob_matches, protects
from podium.core.model import Agent, Gates, Step
from podium.core.queries.steps import written_touches
from podium.core.types import Reason, Tree
from podium.git.repository import trees
from podium.git.trees.listing import files, read_listing
from podium.git.trees.names import fold_name
from podium.views.format import first_of
from podium.workflow.test_gates.programs import gate_programs

MAX_LISTED_PATHS: Final = 20


def objection(
    host: Host,
    step: Step,
    names: Names,
    change: CapturedChange,
    of_others: frozenset[str] = frozenset(),
) -> tuple[Reason, str] | None:
    """The reason and message for the next attempt if this change is not allowed; None if it is.

    `of_others` are files that members of the team changed under rules of their own.
    """
    if change.created_hidden:
        return "protected", (
            f"files that this step may not see already exist there, so these cannot be created: "
            f"{_list(list(change.created_hidden))}; use other names"
        )
    allowed = globs_of(step, names)
    if allowed is not None:
        changed = change.judged_files or change.outside_git
        outside = [path for path in changed if path not in of_others and not _any(allowed, path)]
        if outside:
            may = f"allowed are only: {', '.join(allowed)}" if allowed else "nothing may be changed here"
            return "touches", f"the change goes beyond what this step may touch: {_list(outside)}; {may}"
    if _must_change(step) and not change.files and change.own is None and host.repository is not None:
        where = f" in {', '.join(allowed)}" if allowed else ""
        return "no_change", f"nothing was changed{where}, but this step is there to change files"
    return None


def protected(
    host: Host, step: Step, names: Names, change: CapturedChange, base: Tree | None
) -> tuple[str, ...]:
    """Changed files that are protected, which a person may allow; none if a person did the work.

    The programs of the step's own gates are protected too, if they were there before.
    """
    if not change.judged_files or (isinstance(step.verb, Agent) and step.verb.by_hand):
        return ()
    globs = fill_argv(step.settings.protect, names)
    # Also match spellings that are the same file on case-insensitive systems: there .Claude/ works like .claude/.
    same = tuple(fold_name(glob) for glob in globs)
    programs = _programs_of_gates(host, step, base)
    return tuple(
        path
        for path in change.judged_files
        if path in programs
        or any(protects(glob, path) for glob in globs)
        or any(protects(glob, fold_name(path)) for glob in same)
    )


def _programs_of_gates(host: Host, step: Step, base: Tree | None) -> frozenset[str]:
    gates = step.gates.verb.members if step.gates is not None and isinstance(step.gates.verb, Gates) else ()
    programs = {path for gate in gates for path in gate_programs(gate, written_touches(step))}
    if not programs or host.repository is None or base is None:
        return frozenset()
    return frozenset(programs & {path for path, _ in files(read_listing(trees(host.repository), base))})


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
