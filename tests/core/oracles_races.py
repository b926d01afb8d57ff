"""An oracle for `cancel: rest`: who is stopped, and when."""

from __future__ import annotations

from collections import defaultdict

from podium.core.events import JoinEnded, JoinQueued, StepEnded, StepEntered, StepReopened
from podium.core.model import Block, ForEach, Members
from podium.core.types import Address
from tests.core.oracles import least
from tests.core.run_log import InstanceLog, RunLog, is_fine


def check_races(run_log: RunLog) -> int:
    """Members are stopped only if enough others have passed or are merged, and after that none is entered.

    The result is how many members were stopped.
    """
    fine: dict[Address, set[Address]] = defaultdict(set)
    skipped: dict[Address, int] = defaultdict(int)
    stopped = 0
    for event in run_log.log:
        match event:
            case StepReopened():
                fine.pop(event.path, None)
                skipped.pop(event.path, None)
            case JoinEnded():
                refused = {member.path for member in event.refused}
                queued = {e.path for e in run_log.log if isinstance(e, JoinQueued)} - refused
                merged = {path for path in queued if run_log.instances[path].parent == event.path}
                fine[event.path] |= {p for p in merged if _passed(run_log.instances[p])} if merged else set()
            case StepEntered() | StepEnded() if (verb := _race(run_log, event.path)) is not None:
                instance = run_log.instances[event.path]
                assert instance.parent is not None and instance.step is not None
                scope = run_log.instances[instance.parent]
                assert scope.expanded is not None
                needed = least(verb.rule, scope.expanded.total - skipped[instance.parent])
                if isinstance(event, StepEntered):
                    ended = {path for path in fine[instance.parent] if run_log.instances[path].ended}
                    assert len(ended) < needed, f"{event.path} is entered after enough others have passed"
                elif event.outcome == "cancelled" and event.message:
                    stopped += 1
                    assert len(fine[instance.parent]) >= needed, f"{event.path} is stopped by nothing"
                elif event.outcome == "skipped":
                    skipped[instance.parent] += 1
                elif is_fine(instance.step, event):
                    fine[instance.parent].add(event.path)
            case _:
                pass
    return stopped


def _passed(instance: InstanceLog) -> bool:
    return instance.ended is not None and instance.ended.outcome == "passed"


def _race(run_log: RunLog, path: Address) -> Block | Members | ForEach | None:
    """The verb of the scope around a member that may be stopped by the others."""
    instance = run_log.instances[path]
    scope = None if instance.parent is None else run_log.instances[instance.parent]
    verb = None if scope is None or scope.step is None else scope.step.verb
    is_member = instance.entered is not None and instance.entered.role == "step"
    is_race = isinstance(verb, Block | Members | ForEach) and verb.cancels_rest
    return verb if is_member and is_race else None  # type: ignore[return-value]  # narrowed by is_race
