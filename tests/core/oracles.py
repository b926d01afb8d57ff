"""Oracles that check a run by its log and not by its state: order, repetition, feedback, gates, rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Any

from podium.core.decide.entry import FEEDBACK_KEPT
from podium.core.events import (
    AttemptEnded,
    AttemptQueued,
    AttemptStarted,
    CancelOrdered,
    Event,
    JumpOrdered,
    RunEnded,
    StepEnded,
    StepEntered,
    StepReopened,
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
from podium.core.types import CONTINUING_OUTCOMES, Address
from tests.core.run_log import InstanceLog, RunLog, body_of, is_fine


def view(log: Sequence[Event]) -> dict[str, Any]:
    """The result of a run without times and order: for each address its entry, attempts, cost and end."""
    result: dict[str, Any] = {}
    for event in log:
        match event:
            case StepEntered():
                result[event.path] = [event.feedback, event.base, event.start, 0, 0, None]
            case AttemptStarted():
                result[event.path][3] = event.attempt
            case AttemptEnded():
                result[event.path][4] += event.used.usd
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
                result.setdefault(event.path, [(), None, None, 0, 0, None])[5] = end
            case RunEnded():
                result["!"] = (event.status, event.outcome, event.reason, event.exit, event.outputs)
            case _:
                pass
    return result


def check_order(run_log: RunLog) -> None:
    """P4: needs come first, a sequence has one live child, and a graph passes only if all its steps did."""
    live: dict[Address, set[Address]] = defaultdict(set)
    ended: dict[Address, dict[int, StepEnded]] = defaultdict(dict)
    for event in run_log.log:
        if isinstance(event, StepEntered) and event.role == "step":
            scope = run_log.instances[event.parent]
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
            if not _needs_are_met(run_log, block, event.index, [ended[event.parent][need] for need in needs]):
                _check_blocked(run_log.instances[event.path])
            elif not run_log.instances[event.path].started:
                end = run_log.instances[event.path].ended
                assert end is None or end.outcome != "blocked", f"{event.path} is blocked by nothing"
            live[event.parent].add(event.path)
        elif isinstance(event, StepEnded) and run_log.instances[event.path].parent is not None:
            instance = run_log.instances[event.path]
            if (
                instance.entered is not None
                and instance.entered.role == "step"
                and instance.parent is not None
            ):
                live[instance.parent].discard(event.path)
                ended[instance.parent][instance.index] = event
    for instance in run_log:
        _check_graph(run_log, instance)


def needs_of(scope: InstanceLog, index: int) -> tuple[int, ...]:
    block = body_of(scope.step)
    if block is not None:
        return block.steps[index].needs if block.kind == "dag" else ()
    if scope.step is not None and isinstance(scope.step.verb, ForEach) and scope.expanded is not None:
        return scope.expanded.needs[index] if scope.expanded.needs else ()
    return ()


def _rests_upon(block: Block, index: int) -> set[int]:
    """A step of a graph and all steps that need it."""
    dependents = {index}
    for _ in block.steps:
        dependents.update(n for n, step in enumerate(block.steps) if dependents.intersection(step.needs))
    return dependents


def _needs_are_met(run_log: RunLog, block: Block | None, index: int, ended: list[StepEnded]) -> bool:
    rule = "all" if block is None else block.steps[index].needs_rule
    fine = [_was_fine(run_log, ending) for ending in ended]
    if rule == "all":
        return all(fine)
    if any(ending.limit_hit is not None for ending in ended):
        return False
    return rule == "done" or any(fine)


def _was_fine(run_log: RunLog, ended: StepEnded) -> bool:
    step = run_log.instances[ended.path].step
    assert step is not None
    return is_fine(step, ended)


def _check_blocked(instance: InstanceLog) -> None:
    assert not instance.started and instance.expanded is None, f"{instance.path} ran past a failed need"
    assert instance.ended is None or instance.ended.outcome in ("blocked", "cancelled"), (
        f"{instance.path}: {instance.ended}"
    )


def _check_graph(run_log: RunLog, instance: InstanceLog) -> None:
    block = body_of(instance.step)
    if block is None or block.kind != "dag" or instance.ended is None or instance.ended.outcome != "passed":
        return
    if (
        instance.ended.reason == "exhausted"
        or instance.ended.breaks_loop
        or instance.ended.result == {"adopted": True}
    ):
        return
    newest = run_log.newest(instance)
    adopted = instance.entered is not None and instance.entered.adopt is not None
    if adopted or (not newest and not instance.expanded):
        return
    left = any(child.ended is not None and child.ended.breaks_loop for child in newest)
    assert left or len(newest) == len(block.steps), f"{instance.path} passed before all of it was entered"
    skipped = sum(child.ended is not None and child.ended.outcome == "skipped" for child in newest)
    bad = [child for child in newest if not _is_good_for_graph(block, child)]
    enough = len(newest) - skipped - len(bad) >= least(block.rule, len(block.steps) - skipped)
    assert not bad or enough, f"{instance.path} passed in spite of {bad[0].path}"


def _is_good_for_graph(block: Block, child: InstanceLog) -> bool:
    """Whether a step of a graph is fine, or failed and all steps that need it allow for that."""
    assert child.step is not None and child.ended is not None
    readers = [step for step in block.steps if child.index in step.needs]
    allowed = bool(readers) and all(step.needs_rule != "all" for step in readers)
    return is_fine(child.step, child.ended) or (allowed and child.ended.limit_hit is None)


def check_feedback(run_log: RunLog) -> None:
    """P14: feedback about a failure reaches the next attempt and the next visit."""
    carried: dict[Address, list[Address]] = defaultdict(list)
    for event in run_log.log:
        match event:
            case AttemptQueued(why="counted" | "granted" | "repair"):
                _check_attempt_feedback(run_log, event)
            case JumpOrdered():
                assert event.feedback, f"{event.path!r} goes back without a word"
                carried[event.path].extend(event.feedback)
            case StepReopened():
                # Its children are entered again with the feedback about this attempt; older feedback was about older attempts.
                carried.pop(event.path, None)
            case StepEntered(role="step"):
                handed = carried[event.parent]
                # A step gets a bounded number of feedback items; the oldest are dropped.
                wanted = handed if len(event.feedback) < FEEDBACK_KEPT else handed[-1:]
                missing = [path for path in wanted if path not in event.feedback]
                step = run_log.instances[event.path].step
                assert not missing, f"{event.path} never heard of {missing}"
                if step is not None and step.has_worker:
                    handed.clear()
            case StepEnded():
                carried.pop(event.path, None)
            case _:
                pass


def _check_attempt_feedback(run_log: RunLog, event: AttemptQueued) -> None:
    instance = run_log.instances[event.path]
    assert event.feedback, f"{event.path} is tried again without a word"
    before = [answer for answer in instance.answers if answer.at <= event.at]
    number = before[-1].attempt
    gates = run_log.instances.get(Address(f"{event.path}#{number}"))
    failed = (
        []
        if gates is None or gates.ended is None or gates.ended.outcome == "passed"
        else run_log.newest(gates)
    )
    for gate in failed:
        if gate.ended is not None and gate.ended.outcome not in CONTINUING_OUTCOMES:
            assert gate.path in event.feedback, f"{event.path} does not hear of {gate.path}"


def check_gates(run_log: RunLog) -> None:
    """P15: a step passes only if its last attempt passed all gates."""
    for instance in run_log:
        if (
            instance.ended is None
            or instance.ended.outcome != "passed"
            or instance.step is None
            or instance.step.gates is None
        ):
            continue
        if instance.entered is not None and instance.entered.adopt is not None:
            continue
        gates = _gates_of(run_log, instance)
        if instance.ended.reason == "exhausted":
            assert any(_is_fit(run_log, found) for found in gates), (
                f"{instance.path} took work whose commands failed"
            )
        else:
            assert gates and _passed_all(run_log, gates[-1]), f"{instance.path} passed without its gates"


def _gates_of(run_log: RunLog, instance: InstanceLog) -> list[InstanceLog]:
    return [run_log.instances[path] for path in instance.asides if _role(run_log, path) == "gates"]


def _role(run_log: RunLog, path: Address) -> str:
    entered = run_log.instances[path].entered
    return "" if entered is None else entered.role


def _passed_all(run_log: RunLog, gates: InstanceLog) -> bool:
    assert gates.step is not None and isinstance(gates.step.verb, Gates)
    ends = [gate.ended.outcome for gate in run_log.newest(gates) if gate.ended is not None]
    return len(ends) == len(gates.step.verb.members) and all(end in CONTINUING_OUTCOMES for end in ends)


def _is_fit(run_log: RunLog, gates: InstanceLog) -> bool:
    found = run_log.newest(gates)
    cheap = [gate for gate in found if gate.step is not None and isinstance(gate.step.verb, Command | Check)]
    return all(gate.ended is not None and gate.ended.outcome in CONTINUING_OUTCOMES for gate in cheap)


def check_rules(run_log: RunLog) -> None:
    """P16: the outcome of members follows their pass rule."""
    for instance in run_log:
        if (
            instance.ended is None
            or instance.step is None
            or instance.expanded is None
            or instance.ended.reason in ("limit", "halted")
        ):
            continue
        if instance.ended.outcome not in ("passed", "partial", "failed") or instance.step.retry.stated:
            continue
        verb = instance.step.verb
        if isinstance(verb, Members | ForEach) or (isinstance(verb, Block) and verb.kind == "par"):
            _check_rule(run_log, instance, verb)


def _check_rule(run_log: RunLog, instance: InstanceLog, verb: Members | ForEach | Block) -> None:
    assert instance.ended is not None and instance.expanded is not None
    newest = [child for child in run_log.newest(instance) if child.ended is not None]
    left = any(child.ended is not None and child.ended.breaks_loop for child in newest)
    counted = [child for child in newest if child.ended is not None and child.ended.outcome != "skipped"]
    skipped = len(newest) - len(counted)
    total = len(counted) if left else instance.expanded.total - skipped
    good = sum(1 for child in counted if child.step and child.ended and is_fine(child.step, child.ended))
    enough = good >= least(verb.rule, total)
    if instance.ended.reason in ("members", ""):
        expected = "passed" if enough else "partial" if good else "failed"
        gated = instance.step is not None and instance.step.gates is not None
        assert instance.ended.outcome == expected or gated, (
            f"{instance.path}: {good} of {total}, {instance.ended.outcome}"
        )
    if instance.ended.outcome == "passed":
        assert enough, f"{instance.path} passed with {good} of {total}"


def least(rule: PassRule, total: int) -> int:
    """How many members must pass, computed with fractions."""
    match rule:
        case "all":
            return total
        case "any":
            return 1 if total else 0
        case "done":
            return 0
        case "majority":
            return int(Fraction(total, 2)) + 1 if total else 0
        case float():
            return ceil(Fraction(str(rule)) * total)
        case _:
            return rule


def check_panels(run_log: RunLog) -> None:
    """R107: a review passes only with enough valid approvals of the tree that was shown, never without an answer.

    If the verdicts of the judges decided nothing, a person may have judged in their place.
    """
    for instance in run_log:
        if instance.step is None or not isinstance(instance.step.verb, Review) or instance.ended is None:
            continue
        if instance.ended.outcome == "passed" and not (instance.entered and instance.entered.adopt):
            judges = run_log.newest(instance)
            yes = sum(1 for judge in judges if _approves(judge))
            if _person_approved(run_log, instance):
                continue
            counted = [judge for judge in judges if judge.ended and judge.ended.outcome != "skipped"]
            assert yes >= max(1, least(instance.step.verb.rule, len(counted))), (
                f"{instance.path} with {yes} approvals"
            )


def _person_approved(run_log: RunLog, review: InstanceLog) -> bool:
    questions = [run_log.instances[path] for path in review.asides if path.endswith("/!no_verdict")]
    return bool(questions) and questions[-1].ended is not None and questions[-1].ended.outcome == "passed"


def _approves(judge: InstanceLog) -> bool:
    assert judge.entered is not None
    verdict = judge.answers[-1].verdict if judge.answers else None
    return verdict is not None and verdict.decision == "approve" and verdict.tree == judge.entered.start


def check_once(run_log: RunLog) -> None:
    """Every attempt has its own number and ends at most once, and every instance ends at most once."""
    numbers = Counter((event.path, event.attempt) for event in run_log.log if isinstance(event, AttemptEnded))
    starts = Counter(
        (event.path, event.attempt) for event in run_log.log if isinstance(event, AttemptStarted)
    )
    ends = Counter(event.path for event in run_log.log if isinstance(event, StepEnded))
    orders = Counter(event.path for event in run_log.log if isinstance(event, CancelOrdered))
    for counted in (numbers, starts, ends, orders):
        assert all(number == 1 for number in counted.values())
    assert numbers.keys() <= starts.keys()


def is_worker(step: Step | None) -> bool:
    return step is not None and isinstance(step.verb, Agent) and not step.verb.judge


def has_finally(instance: InstanceLog) -> bool:
    return (
        instance.step is not None
        and isinstance(instance.step.verb, Call)
        and instance.step.verb.workflow.finally_ is not None
    )
