"""Oracle for the file claims of parallel children, by the log."""

from __future__ import annotations

from podium.core.events import AttemptStarted, StepEnded, StepEntered
from podium.core.globs import globs_overlap
from podium.core.model import ForEach, Members, Step
from podium.core.types import Address
from tests.core.run_log import RunLog, body_of


def check_claims(run_log: RunLog) -> None:
    """No two live children whose work will be merged claim the same files, and no worker has files that are not claimed."""
    live: dict[Address, StepEntered] = {}
    for event in run_log.log:
        match event:
            case StepEntered():
                siblings = (other for other in live.values() if other.parent == event.parent)
                for other in siblings if event.claim else ():
                    assert not _overlap(other.claim, event.claim), f"{event.path} beside {other.path}"
                live[event.path] = event
                assert not event.claim or _merges(run_log, event.path)
            case AttemptStarted():
                _check_claimed(run_log, event.path)
            case StepEnded():
                live.pop(event.path, None)
            case _:
                pass


def _check_claimed(run_log: RunLog, path: Address) -> None:
    step = run_log.instances[path].step
    if step is None or not isinstance(step.touches, tuple):
        return
    globs = [glob for glob in step.touches if isinstance(glob, str)]
    for instance in run_log.around(path):
        if _discards(instance.step):
            return
        claim = () if instance.entered is None else instance.entered.claim
        assert not claim or claim == ("**",) or set(globs) <= set(claim), f"{path} has {globs} of {claim}"


def _discards(step: Step | None) -> bool:
    verb, block = None if step is None else step.verb, body_of(step)
    if isinstance(verb, ForEach | Members):
        return verb.join == "discard"
    return block is not None and block.kind == "par" and block.join == "discard"


def _overlap(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    return any(globs_overlap(first, second) for first in a for second in b)


def _merges(run_log: RunLog, path: Address) -> bool:
    for instance in run_log.around(path):
        verb = None if instance.step is None else instance.step.verb
        block = body_of(instance.step)
        join = block.join if block is not None and block.kind == "par" else getattr(verb, "join", "discard")
        if block is not None and block.kind == "dag":
            return True
        fans = isinstance(verb, ForEach | Members) or (block is not None and block.kind == "par")
        if fans and (join not in ("best", "discard") or getattr(verb, "needs", None) is not None):
            return True
    return False
