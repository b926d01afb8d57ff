"""Judges of a run that read its log, not its state: order, repetition, feedback, gates, rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Any

from podium.core.decide.entry import FEEDBACK_KEPT
from podium.core.effects import EffectKey
from podium.core.events import (
    ApprovalAsked,
    ApprovalGiven,
    AttemptDoubted,
    AttemptEnded,
    AttemptQueued,
    AttemptStarted,
    CancelOrdered,
    Event,
    FactsAsked,
    FactsFound,
    JoinAsked,
    JoinEnded,
    JumpOrdered,
    RetryScheduled,
    RunEnded,
    SignalReceived,
    StepEnded,
    StepEntered,
    StepExpanded,
    StepReopened,
    TimerFired,
    WaitEnded,
    WaitStarted,
)
from podium.core.model import (
    Agent,
    Block,
    Call,
    Check,
    Command,
    ForEach,
    Gates,
    Members,
    Repeat,
    Review,
    Step,
)
from podium.core.policy import PassRule
from podium.core.types import CONTINUING_OUTCOMES, Path
from tests.core.story import Story, Tale, body_of, is_fine


def view(log: Sequence[Event]) -> dict[str, Any]:
    """What a run amounts to, whatever the times and the order: per path its entry, attempts, cost and end."""
    found: dict[str, Any] = {}
    for event in log:
        match event:
            case StepEntered():
                found[event.path] = [event.feedback, event.base, event.start, 0, 0, None]
            case AttemptStarted():
                found[event.path][3] = event.attempt
            case AttemptEnded():
                found[event.path][4] += event.used.usd
            case StepEnded():
                end = (
                    event.outcome,
                    event.reason,
                    event.exit,
                    event.tree,
                    event.sets,
                    event.degraded,
                    event.score,
                )
                found.setdefault(event.path, [(), None, None, 0, 0, None])[5] = end
            case RunEnded():
                found["!"] = (event.status, event.outcome, event.reason, event.exit, event.outputs)
            case _:
                pass
    return found


def still_asked(log: Sequence[Event]) -> set[EffectKey]:
    """What was asked of the world and has not been answered: P11."""
    asked: set[EffectKey] = set()
    approvals: dict[Path, ApprovalAsked] = {}
    for event in log:
        match event:
            case AttemptStarted():
                asked.add(("attempt", event.path))
            case AttemptEnded() | AttemptDoubted():
                asked.discard(("attempt", event.path))
            case RetryScheduled():
                asked.add(("timer", event.path))
            case StepExpanded() if event.due is not None:
                asked.add(("timer", event.path))
            case WaitStarted():
                asked.add(("wait", event.path))
            case WaitEnded() | SignalReceived():
                asked.discard(("wait", event.path))
            case ApprovalAsked():
                asked.add(("person", event.path))
                approvals[event.path] = event
            case ApprovalGiven():
                given = [
                    e
                    for e in log
                    if isinstance(e, ApprovalGiven) and e.path == event.path and e.at <= event.at
                ]
                if event.action != "approve" or len(given) >= approvals[event.path].approvals:
                    asked.discard(("person", event.path))
            case TimerFired():
                asked -= {("timer", event.path), ("wait", event.path)}
                if event.path in approvals and approvals[event.path].expires == event.due:
                    asked.discard(("person", event.path))
            case FactsAsked():
                asked.add(("fact", event.path))
            case FactsFound():
                asked.discard(("fact", event.path))
            case JoinAsked():
                asked.add(("join", event.path))
            case JoinEnded():
                asked.discard(("join", event.path))
            case StepEnded():
                asked -= {key for key in asked if key[1] == event.path}
            case _:
                pass
    return asked


def check_order(story: Story) -> None:
    """P4: needs first, one at a time in a sequence, and a graph passes only if everything in it did."""
    live: dict[Path, set[Path]] = defaultdict(set)
    ended: dict[Path, dict[int, StepEnded]] = defaultdict(dict)
    for event in story.log:
        if isinstance(event, StepEntered) and event.role == "step":
            scope = story.tales[event.parent]
            block = body_of(scope.step)
            if isinstance(scope.step and scope.step.verb, Repeat) or (
                block is not None and block.kind == "seq"
            ):
                assert not live[event.parent], f"{event.path} beside {live[event.parent]}"
            needs = needs_of(scope, event.index)
            for index in event.stale:
                ended[event.parent].pop(index, None)
            assert all(need in ended[event.parent] for need in needs), f"{event.path} before its needs"
            if block is not None and block.kind == "dag" and event.stale:
                assert set(event.stale) == _rests_upon(block, event.index), f"{event.path}: {event.stale}"
            if not all(_was_fine(story, scope, ended[event.parent][need], need) for need in needs):
                _check_blocked(story.tales[event.path])
            elif not story.tales[event.path].started:
                end = story.tales[event.path].ended
                assert end is None or end.outcome != "blocked", f"{event.path} is blocked by nothing"
            live[event.parent].add(event.path)
        elif isinstance(event, StepEnded) and story.tales[event.path].parent is not None:
            tale = story.tales[event.path]
            if tale.entered is not None and tale.entered.role == "step" and tale.parent is not None:
                live[tale.parent].discard(event.path)
                ended[tale.parent][tale.index] = event
    for tale in story:
        _check_graph(story, tale)


def needs_of(scope: Tale, index: int) -> tuple[int, ...]:
    block = body_of(scope.step)
    if block is not None:
        return block.steps[index].needs if block.kind == "dag" else ()
    if scope.step is not None and isinstance(scope.step.verb, ForEach) and scope.expanded is not None:
        return scope.expanded.needs[index] if scope.expanded.needs else ()
    return ()


def _rests_upon(block: Block, index: int) -> set[int]:
    """A step of a graph and all that needs it"""
    found = {index}
    for _ in block.steps:
        found.update(n for n, step in enumerate(block.steps) if found.intersection(step.needs))
    return found


def _was_fine(story: Story, scope: Tale, ended: StepEnded, need: int) -> bool:
    step = story.tales[ended.path].step
    assert step is not None
    return is_fine(step, ended)


def _check_blocked(tale: Tale) -> None:
    assert not tale.started and tale.expanded is None, f"{tale.path} ran past a failed need"
    assert tale.ended is None or tale.ended.outcome in ("blocked", "cancelled"), f"{tale.path}: {tale.ended}"


def _check_graph(story: Story, tale: Tale) -> None:
    block = body_of(tale.step)
    if block is None or block.kind != "dag" or tale.ended is None or tale.ended.outcome != "passed":
        return
    if tale.ended.reason == "exhausted" or tale.ended.leaves or tale.ended.result == {"adopted": True}:
        return
    newest = story.newest(tale)
    adopted = tale.entered is not None and tale.entered.adopt is not None
    if adopted or (not newest and not tale.expanded):
        return
    left = any(child.ended is not None and child.ended.leaves for child in newest)
    assert left or len(newest) == len(block.steps), f"{tale.path} passed before all of it was entered"
    for child in newest:
        assert child.step is not None and child.ended is not None
        assert is_fine(child.step, child.ended), f"{tale.path} passed, {child.path} {child.ended.outcome}"


def check_feedback(story: Story) -> None:
    """P14: what went wrong reaches the next attempt and the next visit."""
    carried: dict[Path, list[Path]] = defaultdict(list)
    for event in story.log:
        match event:
            case AttemptQueued(why="counted" | "granted" | "repair"):
                _check_attempt_feedback(story, event)
            case JumpOrdered():
                assert event.feedback, f"{event.path!r} goes back without a word"
                carried[event.path].extend(event.feedback)
            case StepReopened():
                # Its children are entered anew, with what made the attempt fail; older words were about that attempt.
                carried.pop(event.path, None)
            case StepEntered(role="step"):
                handed = carried[event.parent]
                # A step is handed a bounded number; beyond that the oldest stand with the visits before.
                wanted = handed if len(event.feedback) < FEEDBACK_KEPT else handed[-1:]
                missing = [path for path in wanted if path not in event.feedback]
                step = story.tales[event.path].step
                assert not missing, f"{event.path} never heard of {missing}"
                if step is not None and step.has_worker:
                    handed.clear()
            case StepEnded():
                carried.pop(event.path, None)
            case _:
                pass


def _check_attempt_feedback(story: Story, event: AttemptQueued) -> None:
    tale = story.tales[event.path]
    assert event.feedback, f"{event.path} is tried again without a word"
    before = [answer for answer in tale.answers if answer.at <= event.at]
    number = before[-1].attempt
    gates = story.tales.get(Path(f"{event.path}#{number}"))
    failed = (
        [] if gates is None or gates.ended is None or gates.ended.outcome == "passed" else story.newest(gates)
    )
    for gate in failed:
        if gate.ended is not None and gate.ended.outcome not in CONTINUING_OUTCOMES:
            assert gate.path in event.feedback, f"{event.path} does not hear of {gate.path}"


def check_gates(story: Story) -> None:
    """P15: a step passes only if its last attempt passed all gates."""
    for tale in story:
        if (
            tale.ended is None
            or tale.ended.outcome != "passed"
            or tale.step is None
            or tale.step.gates is None
        ):
            continue
        if tale.entered is not None and tale.entered.adopt is not None:
            continue
        gates = _gates_of(story, tale)
        if tale.ended.reason == "exhausted":
            assert any(_is_fit(story, found) for found in gates), (
                f"{tale.path} took work whose commands failed"
            )
        else:
            assert gates and _passed_all(story, gates[-1]), f"{tale.path} passed without its gates"


def _gates_of(story: Story, tale: Tale) -> list[Tale]:
    return [story.tales[path] for path in tale.asides if _role(story, path) == "gates"]


def _role(story: Story, path: Path) -> str:
    entered = story.tales[path].entered
    return "" if entered is None else entered.role


def _passed_all(story: Story, gates: Tale) -> bool:
    assert gates.step is not None and isinstance(gates.step.verb, Gates)
    ends = [gate.ended.outcome for gate in story.newest(gates) if gate.ended is not None]
    return len(ends) == len(gates.step.verb.members) and all(end in CONTINUING_OUTCOMES for end in ends)


def _is_fit(story: Story, gates: Tale) -> bool:
    found = story.newest(gates)
    cheap = [gate for gate in found if gate.step is not None and isinstance(gate.step.verb, Command | Check)]
    return all(gate.ended is not None and gate.ended.outcome in CONTINUING_OUTCOMES for gate in cheap)


def check_rules(story: Story) -> None:
    """P16: a pass rule says what its members say."""
    for tale in story:
        if (
            tale.ended is None
            or tale.step is None
            or tale.expanded is None
            or tale.ended.reason in ("limit", "halted")
        ):
            continue
        if tale.ended.outcome not in ("passed", "partial", "failed") or tale.step.retry.stated:
            continue
        verb = tale.step.verb
        if isinstance(verb, Members | ForEach) or (isinstance(verb, Block) and verb.kind == "par"):
            _check_rule(story, tale, verb)


def _check_rule(story: Story, tale: Tale, verb: Members | ForEach | Block) -> None:
    assert tale.ended is not None and tale.expanded is not None
    newest = [child for child in story.newest(tale) if child.ended is not None]
    left = any(child.ended is not None and child.ended.leaves for child in newest)
    counted = [child for child in newest if child.ended is not None and child.ended.outcome != "skipped"]
    skipped = len(newest) - len(counted)
    total = len(counted) if left else tale.expanded.total - skipped
    good = sum(1 for child in counted if child.step and child.ended and is_fine(child.step, child.ended))
    enough = good >= least(verb.rule, total)
    if tale.ended.reason in ("members", ""):
        expected = "passed" if enough else "partial" if good else "failed"
        gated = tale.step is not None and tale.step.gates is not None
        assert tale.ended.outcome == expected or gated, (
            f"{tale.path}: {good} of {total}, {tale.ended.outcome}"
        )
    if tale.ended.outcome == "passed":
        assert enough, f"{tale.path} passed with {good} of {total}"


def least(rule: PassRule, total: int) -> int:
    """How many must pass, worked out with fractions."""
    match rule:
        case "all":
            return total
        case "any":
            return 1 if total else 0
        case "majority":
            return int(Fraction(total, 2)) + 1 if total else 0
        case float():
            return ceil(Fraction(str(rule)) * total)
        case _:
            return rule


def check_panels(story: Story) -> None:
    """R107: a review passes only by enough valid approvals of the tree that was shown; never by silence."""
    for tale in story:
        if tale.step is None or not isinstance(tale.step.verb, Review) or tale.ended is None:
            continue
        if tale.ended.outcome == "passed" and not (tale.entered and tale.entered.adopt):
            judges = story.newest(tale)
            yes = sum(1 for judge in judges if _approves(judge))
            counted = [judge for judge in judges if judge.ended and judge.ended.outcome != "skipped"]
            assert yes >= max(1, least(tale.step.verb.rule, len(counted))), (
                f"{tale.path} with {yes} approvals"
            )


def _approves(judge: Tale) -> bool:
    assert judge.entered is not None
    verdict = judge.answers[-1].verdict if judge.answers else None
    return verdict is not None and verdict.decision == "approve" and verdict.tree == judge.entered.start


def check_once(story: Story) -> None:
    """Every attempt ends at most once, has a number of its own, and every instance ends at most once."""
    numbers = Counter((event.path, event.attempt) for event in story.log if isinstance(event, AttemptEnded))
    starts = Counter((event.path, event.attempt) for event in story.log if isinstance(event, AttemptStarted))
    ends = Counter(event.path for event in story.log if isinstance(event, StepEnded))
    orders = Counter(event.path for event in story.log if isinstance(event, CancelOrdered))
    for counted in (numbers, starts, ends, orders):
        assert all(number == 1 for number in counted.values())
    assert numbers.keys() <= starts.keys()


def is_worker(step: Step | None) -> bool:
    return step is not None and isinstance(step.verb, Agent) and not step.verb.judge


def has_finally(tale: Tale) -> bool:
    return (
        tale.step is not None
        and isinstance(tale.step.verb, Call)
        and tale.step.verb.workflow.finally_ is not None
    )
