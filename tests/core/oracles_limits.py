"""Oracles for bounds, by the log: visits, transitions, tries, slots, money, the breaker, approvals, claims."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from podium.core.events import (
    ApprovalAsked,
    ApprovalGiven,
    AttemptDoubted,
    AttemptEnded,
    AttemptLost,
    AttemptQueued,
    AttemptStarted,
    RetryScheduled,
    RunRecovered,
    StepEnded,
    StepEntered,
    StepReopened,
    TimerFired,
)
from podium.core.model import Agent, Block, Call, ForEach, Human, Repeat, Step, Workflow
from podium.core.policy import NO_LIMITS, Breaker, Limits, Retry
from podium.core.types import Address
from tests.core.run_log import InstanceLog, RunLog, body_of, entries

QUOTA_WAITS = 20


def check_bounds(run_log: RunLog, workflow: Workflow) -> None:
    """P5: visits are numbered within their scope; transitions, tries, width, slots and rounds are bounded."""
    for scope, entered in entries(run_log.log).items():
        _check_numbers(run_log.instances[scope], entered)
        _check_width(run_log, scope)
    for instance in run_log:
        _check_tries(run_log, instance)
    _check_slots(run_log, workflow)
    _check_transitions(run_log)


def _check_numbers(scope: InstanceLog, entered: Sequence[StepEntered]) -> None:
    visits: Counter[int] = Counter()
    for event in entered:
        visits[event.index] += 1
        assert event.visit == visits[event.index], f"{event.path}: visit {event.visit}"
    if scope.step is not None and isinstance(scope.step.verb, Repeat):
        granted = sum(1 for path in scope.asides if "!exhausted" in path)
        assert isinstance(scope.step.verb.max, int)
        assert len(entered) <= scope.step.verb.max + granted, f"{scope.path}: too many rounds"


def _check_width(run_log: RunLog, scope: Address) -> None:
    step = run_log.instances[scope].step
    width = _width(step)
    live: set[Address] = set()
    for event in run_log.log:
        if isinstance(event, StepEntered) and event.parent == scope and event.role == "step":
            live.add(event.path)
            assert len(live) <= width, f"{len(live)} live in {scope!r}"
        elif isinstance(event, StepEnded):
            live.discard(event.path)


def _width(step: Step | None) -> int:
    assert step is not None
    block = body_of(step)
    if block is not None and block.kind == "dag":
        return len(block.steps)
    parallel = block.parallel if block is not None else getattr(step.verb, "parallel", 1)
    if isinstance(step.verb, Repeat):
        return 1
    if not isinstance(step.verb, Block | Call | ForEach):
        return 99
    assert isinstance(parallel, int)
    return parallel


def _check_upgrades(run_log: RunLog, path: Address, retry: Retry) -> None:
    """Each attempt is made by the last agent whose number of failed tries is reached."""
    tries = 0
    for event in run_log.log:
        if getattr(event, "path", None) != path:
            continue
        if isinstance(event, AttemptQueued | RetryScheduled):
            tries += event.why in ("counted", "granted")
        elif isinstance(event, AttemptStarted):
            reached = [number for number, entry in enumerate(retry.upgrade, start=1) if entry.after <= tries]
            assert event.upgrade == max(reached, default=0), f"{path}: upgrade"


def _check_tries(run_log: RunLog, instance: InstanceLog) -> None:
    if instance.step is None or not instance.started:
        return
    retry = instance.step.retry
    assert isinstance(retry.attempts, int)
    why = Counter(event.why for event in instance.queued)
    scheduled = Counter(
        e.why for e in run_log.log if isinstance(e, RetryScheduled) and e.path == instance.path
    )
    counted = why["counted"] + scheduled["counted"]
    assert counted <= retry.attempts - 1 + len(retry.degrade), f"{instance.path} has too many tries"
    at_once = isinstance(instance.step.verb, Agent)
    assert not (scheduled if at_once else why)["counted"], f"{instance.path}: backoff"
    assert [event.attempt for event in instance.started] == list(range(1, len(instance.started) + 1))
    agent = instance.step.verb
    fallbacks = len(agent.fallback) if isinstance(agent, Agent) else 0
    assert why["fallback"] <= fallbacks * (1 + len(retry.upgrade))
    _check_upgrades(run_log, instance.path, retry)
    rounds = 1 + counted + why["granted"]
    assert scheduled["transient"] <= retry.transient * rounds, f"{instance.path}: transient"
    assert why["repair"] <= retry.repair * rounds, f"{instance.path}: repairs"
    assert scheduled["quota"] <= QUOTA_WAITS, f"{instance.path}: quota"
    assert max(event.degrade for event in instance.started) <= len(retry.degrade)


def _check_slots(run_log: RunLog, workflow: Workflow) -> None:
    flying: set[Address] = set()
    for event in run_log.log:
        if isinstance(event, AttemptStarted) and not by_hand(run_log.instances[event.path].step):
            flying.add(event.path)
            assert len(flying) <= workflow.max_parallel, f"{len(flying)} attempts in flight"
        elif isinstance(event, AttemptEnded | AttemptDoubted):
            flying.discard(event.path)


def by_hand(step: Step | None) -> bool:
    return step is not None and isinstance(step.verb, Agent) and step.verb.by_hand


def _check_transitions(run_log: RunLog) -> None:
    counts: Counter[Address] = Counter()
    for event in run_log.log:
        if isinstance(event, StepEntered) and _is_move(run_log, event):
            for book in filter(lambda book: book.moves, books(run_log, event.parent)):
                counts[book.path] += 1
                limit = book.limits.transitions
                assert limit is None or counts[book.path] <= limit, (
                    f"{book.path!r}: {counts[book.path]} transitions"
                )


def _is_move(run_log: RunLog, event: StepEntered) -> bool:
    """Whether an entry could repeat without end: a move in a block, a further round, a question that allows one more."""
    if event.role in ("question", "advice"):
        return True
    if event.role != "step":
        return False
    parent = run_log.instances[event.parent]
    if body_of(parent.step) is not None:
        return event.visit > 1 or not any(_is_loop(instance) for instance in run_log.around(event.parent))
    if parent.step is not None and isinstance(parent.step.verb, Repeat):
        return event.index > 0
    return event.visit > 1 and parent.step is not None and isinstance(parent.step.verb, ForEach)


def _is_loop(instance: InstanceLog) -> bool:
    """Whether this instance is an iteration of a for_each."""
    return instance.path.endswith("]") or "]~" in instance.path.rpartition("/")[2]


@dataclass(frozen=True)
class Book:
    path: Address
    limits: Limits
    moves: bool = True
    """Whether transitions count in this ledger."""


def books(run_log: RunLog, path: Address) -> list[Book]:
    """The ledgers that enclose an instance, innermost first; outside `finally` only spending counts."""
    ledgers: list[Book] = []
    cleaning = False
    for instance in run_log.around(path):
        if instance.entered is not None and instance.entered.role == "finally":
            ledgers.append(Book(instance.path, Limits(time=None, transitions=200), moves=not cleaning))
            cleaning = True
            continue
        limits = limits_of(instance)
        if limits is not None:
            ledgers.append(Book(without_visit(instance.path), limits, moves=not cleaning))
    return ledgers


def limits_of(instance: InstanceLog) -> Limits | None:
    if instance.step is None:
        return None
    own = instance.step.limits
    if own == NO_LIMITS and isinstance(instance.step.verb, Call):
        own = instance.step.verb.workflow.limits
    return own if own != NO_LIMITS or instance.parent is None else None


def without_visit(path: Address) -> Address:
    head, _, last = path.rpartition("/")
    name, mark, number = last.rpartition("~")
    if mark and number.isdecimal():
        return Address(f"{head}/{name}" if head else name)
    return path


@dataclass
class Purse:
    spent: int = 0
    held: int = 0
    unknown: int = 0

    @property
    def taken(self) -> int:
        return self.spent + self.held + self.unknown


def check_money(run_log: RunLog) -> None:
    """P9: at every start the sum fits every enclosing ledger; a call without a price is not free; a waiting call is not refused."""
    purses: dict[tuple[Address, str], Purse] = defaultdict(Purse)
    reserves: dict[Address, AttemptStarted] = {}
    for event in run_log.log:
        match event:
            case AttemptStarted():
                reserves[event.path] = event
                _reserve(run_log, purses, event)
            case AttemptEnded():
                _settle(run_log, purses, reserves[event.path], event)
            case AttemptDoubted():
                lost = AttemptEnded(event.at, event.path, event.attempt, "error")
                _settle(run_log, purses, reserves[event.path], lost)
                _lose(run_log, purses, reserves[event.path])
            case AttemptLost():
                _lose(run_log, purses, reserves[event.path])
            case RunRecovered():
                for path in event.lost:
                    _lose(run_log, purses, reserves[path])
            case StepEnded(reason="limit"):
                _check_refusal(run_log, purses, event)
            case _:
                pass
    assert all(purse.held == 0 for purse in purses.values())
    hit = any(
        isinstance(e, StepEnded) and e.limit_hit == "" and not run_log.is_shielded(e.path)
        for e in run_log.log
    )
    assert not hit or run_log.end is None or run_log.end.status != "passed", "a run outlived its own limit"


def _reserve(run_log: RunLog, purses: dict[tuple[Address, str], Purse], event: AttemptStarted) -> None:
    for book in books(run_log, event.path):
        for unit in ("usd", "tokens", "calls"):
            amount, limit = getattr(event.reserve, unit), getattr(book.limits, unit)
            purse = purses[(book.path, unit)]
            purse.held += amount
            fits = limit is None or not amount or purse.taken <= limit
            assert fits, f"{event.path} starts beyond the {unit} of {book.path!r}"


def _settle(
    run_log: RunLog, purses: dict[tuple[Address, str], Purse], start: AttemptStarted, end: AttemptEnded
) -> None:
    for book in books(run_log, end.path):
        for unit in ("usd", "tokens", "calls"):
            purse, amount = purses[(book.path, unit)], getattr(start.reserve, unit)
            purse.held -= amount
            used = getattr(end.used, unit)
            purse.spent += used
            if unit == "usd" and not end.cost_known:
                purse.unknown += max(0, amount - used)


def _lose(run_log: RunLog, purses: dict[tuple[Address, str], Purse], start: AttemptStarted) -> None:
    for book in books(run_log, start.path):
        for unit in ("usd", "tokens", "calls"):
            purses[(book.path, unit)].unknown += getattr(start.reserve, unit)


def _check_refusal(run_log: RunLog, purses: dict[tuple[Address, str], Purse], event: StepEnded) -> None:
    """A leaf is refused for lack of money only if nothing is reserved in the ledger that lacks it."""
    instance = run_log.instances[event.path]
    unit = event.message.removeprefix("the limit on ").partition(" ")[0]
    if (
        instance.expanded is not None
        or instance.children
        or instance.asides
        or unit not in ("usd", "tokens", "calls")
    ):
        return
    poor = [book for book in books(run_log, event.path) if event.limit_hit in (book.path, None)]
    # `hard` is None outside the owner of the limit; then the limit is in the step's own ledger.
    assert poor and purses[(poor[0].path, unit)].held == 0, f"{event.path} is refused while {unit} is held"


def check_breaker(run_log: RunLog) -> None:
    """R126: without asking, no step of a block exceeds its `visits` and no cycle of any length is repeated."""
    for instance in run_log:
        block = body_of(instance.step)
        if block is not None:
            _check_block(run_log, instance, block)


def _check_block(run_log: RunLog, instance: InstanceLog, block: Block) -> None:
    rules = _rules(run_log, instance)
    trail: list[int] = []
    excused = False
    for event in run_log.log:
        if isinstance(event, StepReopened) and event.path == instance.path:
            trail, excused = [], False
        if not isinstance(event, StepEntered) or event.parent != instance.path:
            continue
        if event.role == "advice":
            excused = True
        if event.role != "step":
            continue
        step = block.steps[event.index]
        if event.visit > 1 and not excused and event.adopt is None:
            allowed = step.retry.visits if step.retry.visits is not None else rules.visits
            assert allowed is None or event.visit <= allowed, f"{event.path} entered unasked"
            assert not (rules.cycle and goes_round(trail, event.index, rules.cycle)), (
                f"{instance.path!r} goes round: {trail}"
            )
        trail.append(event.index)
        excused = False


def _rules(run_log: RunLog, instance: InstanceLog) -> Breaker:
    for around in run_log.around(instance.path):
        if around.step is not None and isinstance(around.step.verb, Call):
            return around.step.verb.workflow.breaker
    raise AssertionError(instance.path)


def goes_round(trail: Sequence[int], following: int, times: int) -> bool:
    """Whether the trail ends with `times` repetitions of some sequence that is about to start again."""
    for length in range(1, len(trail) // times + 1):
        parts = [tuple(trail[len(trail) - (n + 1) * length : len(trail) - n * length]) for n in range(times)]
        if len(set(parts)) == 1 and parts[0][0] == following:
            return True
    return False


def check_approvals(run_log: RunLog, workflow: Workflow) -> None:
    """R195: several approvals come from that many different people, each of whom was asked."""
    asked: dict[Address, ApprovalAsked] = {}
    allowed: dict[Address, set[str]] = {}
    approvals: dict[Address, list[ApprovalGiven]] = defaultdict(list)
    for event in run_log.log:
        match event:
            case ApprovalAsked():
                asked[event.path] = event
                allowed[event.path] = _named(run_log, event)
            case TimerFired() if event.path in asked and asked[event.path].escalate == event.due:
                verb = _human(run_log.instances[event.path].step)
                if verb is not None and allowed[event.path]:
                    allowed[event.path].update(verb.oversight.escalate_to)
            case ApprovalGiven():
                approvals[event.path].append(event)
                who = allowed[event.path]
                assert not who or event.by in who, f"{event.by} was not asked at {event.path}"
            case StepEnded() if event.path in asked:
                _check_answer(asked[event.path], approvals[event.path], event)
            case _:
                pass


def _human(step: Step | None) -> Human | None:
    return step.verb if step is not None and isinstance(step.verb, Human) else None


def _named(run_log: RunLog, event: ApprovalAsked) -> set[str]:
    for instance in run_log.around(event.path):
        if instance.step is not None and isinstance(instance.step.verb, Call):
            people = instance.step.verb.workflow.people
            return {name for who in event.by for name in (*people.get(who, ()), who)}
    raise AssertionError(event.path)


def _check_answer(asked: ApprovalAsked, given: Sequence[ApprovalGiven], ended: StepEnded) -> None:
    agreed = [answer.by for answer in given if answer.action == "approve"]
    assert len(set(agreed)) == len(agreed), f"{asked.path}: {agreed}"
    people = tuple({answer.by: answer for answer in given})
    if any(answer.action == "reject" for answer in given):
        assert ended.outcome != "passed", f"{asked.path} passed against {people[-1]}"
    by_silence = asked.silence == "passed" and asked.expires is not None and asked.expires <= ended.at
    if ended.outcome == "passed" and given and given[-1].action == "approve" and not by_silence:
        assert len(people) >= asked.approvals, f"{asked.path} passed with {people}"
        assert all(answer.action == "approve" for answer in given)
