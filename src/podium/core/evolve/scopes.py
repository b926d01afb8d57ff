"""Applies the events of scopes: entering children, expanding, reopening, jumping. Called by evolve only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from podium.core import addresses, ledger
from podium.core.effects import StartTimer
from podium.core.events import InstanceEvent, JumpAsked, JumpOrdered, StepEntered, StepExpanded, StepReopened
from podium.core.evolve.leaves import take_ticket
from podium.core.evolve.lifecycle import IllegalEvent, phases_after
from podium.core.model import Call, ForEach, Repeat, Step
from podium.core.payloads import RefusedMember
from podium.core.policy import NO_LIMITS, NO_RESERVE, Limits
from podium.core.queries.computed import entered_call, limits_before_entry
from podium.core.queries.graph import (
    BLOCKS,
    PRICE,
    SCOPES,
    WORK,
    child_step,
    frame_of_child,
    open_needs,
    order_of_verb,
    side_of,
    workflow_of,
)
from podium.core.queries.rebases import rebase_for
from podium.core.queries.step_failures import FAILURES, forget_failures
from podium.core.queries.steps import children_of
from podium.core.state import (
    Instance,
    Leaf,
    Ledger,
    OpenNeeds,
    Placement,
    Scope,
    State,
    TakenRebase,
    Visit,
)
from podium.core.types import Address, MicroUsd, Millis
from podium.fast_dataclass import replace, replacer

TRAIL_KEPT: Final = 64
TRAIL_MOST: Final = 1024
"""The maximum length of the trail, which every entry copies; otherwise a long sequence would cost its length squared."""
FINALLY_TIME: Final = Millis(600_000)
FINALLY_TRANSITIONS: Final = 200
_with_child: Final = replacer(
    Scope,
    *("live", "next", "jump", "last_answer", "outgoing_feedback", "ready", "claimants"),
    *("recent_children", "head", "facts"),
)


def enter(state: State, event: StepEntered) -> State:
    parent = state.instances.get(event.parent)
    # Only the question about a price is asked before its parent starts.
    too_early = parent is not None and parent.phase == "ready" and not event.about.startswith(PRICE)
    if parent is None or too_early or parent.phase == "ended" or event.path in state.instances:
        raise IllegalEvent(f"{event.path!r} cannot be entered now")
    if event.role == "step" and not isinstance(parent, Scope):
        raise IllegalEvent(f"{event.parent!r} is not a scope and has no child steps")
    parent_place, step = parent.place, child_step(state, parent, event.role, event.index, event.about)
    own_ledger = _own_ledger(state, parent, step, event)
    if own_ledger is not None and own_ledger.path not in state.ledgers:
        state.ledgers.put(own_ledger.path, own_ledger)
    if ledger.counts_as_transition(event.role, parent_place, index=event.index, visit=event.visit):
        ledger.count_transition(state, parent_place.ledger)
    if event.role == "member" and event.target < 0:
        ledger.count_messages(state, parent_place.ledger, 1)
    state = _record_rebase(state, parent, step, event)
    state = _update_parent(state, parent, step, event)
    place = Placement(
        path=event.path,
        parent=event.parent,
        step=step,
        role=event.role,
        index=event.index,
        visit=event.visit,
        frame=frame_of_child(parent, step, event.path),
        ledger=parent_place.ledger if own_ledger is None else own_ledger.path,
        in_for_each=parent_place.in_for_each or isinstance(parent_place.step.verb, ForEach),
        in_finally=parent_place.in_finally or event.role == "finally",
        base=event.base,
        start=event.start,
        entered=event.at,
        topic=event.about,
        target=event.target,
        adopt=event.adopt,
        proceed=event.proceed,
        order=order_of_verb(step.verb),
        claim=event.claim,
        after=event.after,
        keeps_head=event.keeps_head,
    )
    return _create_instance(state, place, event)


def _record_rebase(state: State, parent: Instance, step: Step, event: StepEntered) -> State:
    if event.role != "step" or not isinstance(parent, Scope):
        return state
    rebase = rebase_for(state, parent, step, event.index, event.visit)
    if rebase is None or event.start != rebase.tree:
        return state
    return state._replace(rebased=TakenRebase(rebase, event.at))


def _create_instance(state: State, place: Placement, event: StepEntered) -> State:
    verb = place.step.verb
    if isinstance(verb, SCOPES):
        scope = Scope(place, head=event.start, base=event.base, feedback=event.feedback)
        state.instances.put(event.path, scope)
        return state
    queued = isinstance(verb, WORK) and not event.not_ready and event.adopt is None
    ticket = state.queue_tail if queued else -1
    state.instances.put(event.path, Leaf(place, ticket=ticket, feedback=event.feedback, base=event.base))
    return take_ticket(state, event.path) if queued else state


def _own_ledger(state: State, parent: Instance, step: Step, event: StepEntered) -> Ledger | None:
    """The step's own ledger, shared by all its visits; None if it has no limits."""
    if event.role == "finally":
        return _ledger_of_finally(state, parent, event)
    limits, is_computed = step.limits, False
    if isinstance(step.verb, Call) and limits == NO_LIMITS:
        is_computed = step.verb.workflow.has_computed
        limits = limits_before_entry(step.verb.workflow)
    if limits is NO_LIMITS or (limits == NO_LIMITS and not is_computed):
        return None
    path = addresses.without_visit(event.path)
    assert state.started is not None
    carried = next((spend for spend in state.started.run.carried_steps if spend.path == path), None)
    return ledger.new_ledger(path, parent.place.ledger, limits, carried)


def _ledger_of_finally(state: State, parent: Instance, event: StepEntered) -> Ledger:
    """Its own time and transitions, and what the run has left of the rest; after a limit of the run, its reserve."""
    enclosing = parent.place.ledger
    books = ledger.chain(state, enclosing)
    reserve, is_limited = books[0].limits.finally_, _was_limited(state, parent, event)

    def remaining(unit: Literal["usd", "tokens", "calls"]) -> int | None:
        pairs = [(getattr(book.limits, unit), getattr(ledger.total(book), unit)) for book in books]
        rest = min((max(0, limit - used) for limit, used in pairs if limit is not None), default=None)
        own: int = getattr(reserve, unit)
        if not is_limited or (reserve != NO_RESERVE and not own):
            return rest
        return own if rest is None else min(own, rest)

    usd, members = (
        remaining("usd"),
        [book.limits.members for book in books if book.limits.members is not None],
    )
    limits = Limits(
        usd=None if usd is None else MicroUsd(usd),
        tokens=remaining("tokens"),
        calls=remaining("calls"),
        time=FINALLY_TIME,
        transitions=FINALLY_TRANSITIONS,
        members=min(members, default=None),
    )
    return Ledger(event.path, enclosing, limits, is_finally=True)


def _was_limited(state: State, parent: Instance, event: StepEntered) -> bool:
    """Whether a limit ended the body; the own limit of a step whose failure was routed does not."""
    is_hit = isinstance(parent, Scope) and parent.limit_hit is not None and state.halt is None
    return is_hit or event.about.endswith(" limit")


def _waive_rule(state: State, parent: Instance, event: StepEntered) -> State:
    """A rule about a total is asked about once, that about failures again after as many new ones."""
    if event.about == FAILURES and isinstance(parent, Scope):
        return forget_failures(state, parent, event.target)
    return state._replace(waived_rules=(*state.waived_rules, event.about))


def _update_parent(state: State, parent: Instance, step: Step, event: StepEntered) -> State:
    if event.role != "step":
        state.instances.put(event.parent, _with_side_child(parent, event))
        return _waive_rule(state, parent, event) if event.role == "advice" else state
    assert isinstance(parent, Scope)
    back = bool(event.stale) and parent.place.order == "seq"
    if event.stale:
        parent = _reset_needs(state, _make_stale(state, parent, event.stale), event)
    scope = _with_child(
        parent,
        live=parent.live + 1,
        # After a jump back, the steps beyond this one count as not entered.
        next=event.index + 1 if back else max(parent.next, event.index + 1),
        jump=-1,
        last_answer=None,
        outgoing_feedback=()
        if step.has_worker
        else _deduplicate((*parent.outgoing_feedback, *event.feedback)),
        ready=_ready_after(parent, event.index),
        claimants=(*parent.claimants, event.path) if event.claim else parent.claimants,
        recent_children=(*_trail(state, parent), event.index),
        head=event.base if back and not event.keeps_head else parent.head,
        # Each round looks up facts again, because work in the project itself changes files but no tree.
        facts=() if isinstance(parent.place.step.verb, Repeat) else parent.facts,
    )
    state.instances.put(event.parent, scope)
    state.latest.put((event.parent, event.index), Visit(event.visit, event.path, False))
    return state


def _ready_after(scope: Scope, index: int) -> tuple[int, ...]:
    """The children that are still to be entered after this one; parallel ones that it overtook are added."""
    if scope.place.order == "many" and index > scope.next:
        return (*scope.ready, *range(scope.next, index))
    return tuple([ready for ready in scope.ready if ready != index]) if scope.ready else ()


def _trail(state: State, scope: Scope) -> tuple[int, ...]:
    """The trail without its oldest entries, long enough to detect any cycle through the block."""
    if len(scope.recent_children) < TRAIL_KEPT:
        return scope.recent_children
    length = TRAIL_KEPT
    if isinstance(scope.place.step.verb, BLOCKS):
        rounds = workflow_of(state, scope.place).breaker.cycle or 0
        length = min(TRAIL_MOST, max(TRAIL_KEPT, 2 * rounds * scope.total))
    return scope.recent_children[1 - length :]


def _deduplicate(feedback: tuple[Address, ...]) -> tuple[Address, ...]:
    return tuple(dict.fromkeys(feedback)) if len(feedback) > 1 else feedback


def _with_side_child(parent: Instance, event: StepEntered) -> Instance:
    if isinstance(parent, Leaf):
        return parent._replace(side_child=event.path)
    return parent._replace(
        side_child=event.path,
        questions_asked=parent.questions_asked + (event.role in ("question", "advice")),
        closing=parent.closing or event.role == "finally",
    )


def _make_stale(state: State, scope: Scope, stale: tuple[int, ...]) -> Scope:
    """Mark these results as stale: they can no longer be read and no longer count for the scope."""
    path = scope.place.path
    for index in stale:
        visit = state.latest.get((path, index))
        if visit is not None and visit.fresh:
            state.latest.put((path, index), visit._replace(fresh=False))
            scope = _untally(scope, state.instances[visit.path])
    stale_indexes = set(stale)
    routes = tuple(p for p in scope.routes if state.instances[p].place.index not in stale_indexes)
    return scope._replace(routes=routes)


def _reset_needs(state: State, scope: Scope, event: StepEntered) -> Scope:
    """After a jump back in a graph, make the dependents of the entered child wait for it again."""
    if scope.place.order != "dag":
        return scope
    path, stale = scope.place.path, set(event.stale)
    released: list[int] = []
    for index in event.stale:
        waits = open_needs(state, scope, index, stale)
        # The needs of the entered child have ended; whether they succeeded also counts for this visit.
        state.unmet.put((path, index), waits._replace(left=0) if index == event.index else waits)
        if not waits.left and index != event.index:
            released.append(
                index
            )  # It is stale because of the files it shares with the child, not because of a need.
    return scope._replace(ready=(*(index for index in scope.ready if index not in stale), *released))


def _untally(scope: Scope, child: Instance) -> Scope:
    """Undo that an ended child was counted for or against its scope."""
    match side_of(scope, child):
        case "bad":
            return scope._replace(bad=scope.bad - 1)
        case "skipped":
            return scope._replace(skipped=scope.skipped - 1)
        case _:
            return scope._replace(ok=scope.ok - 1)


def expand(state: State, event: StepExpanded) -> State:
    scope = _scope(state, event)
    if event.due is not None:
        state.pending.put(("timer", event.path), StartTimer(event.path, event.due))
    if isinstance(scope.place.step.verb, Call) and event.path != addresses.ROOT:
        state.vars.put((event.path, addresses.INPUTS), (event.items[0],))
        scope = _enter_workflow(state, scope, scope.place.step.verb, event.items[0])
    scope = scope._replace(
        phase="open",
        total=event.total,
        items=event.items,
        keys=event.keys,
        dependents=_reverse(event.needs),
        start_tree=scope.head,
        join_status=None,
    )
    return _release(state, scope)


def _enter_workflow(state: State, scope: Scope, call: Call, inputs: Mapping[str, Any]) -> Scope:
    """Gives the computed settings of a called workflow their values; its limits count from the first visit on."""
    if not call.workflow.has_computed:
        return scope
    entered, place = entered_call(call, inputs), scope.place
    if place.visit == 1 and place.step.limits == NO_LIMITS:
        book = state.ledgers[place.ledger]
        state.ledgers.put(place.ledger, book._replace(limits=entered.workflow.limits))
    return scope._replace(place=replace(place, step=place.step._replace(verb=entered)))


def _reverse(needs: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    dependents: list[list[int]] = [[] for _ in needs]
    for index, of_index in enumerate(needs):
        for need in of_index:
            dependents[need].append(index)
    return tuple(map(tuple, dependents))


def _release(state: State, scope: Scope) -> State:
    """Open a scope; in a graph, count the needs of each child and mark those without any as ready."""
    path = scope.place.path
    if scope.place.order == "dag":
        needs = needs_of(scope)
        for index, of_index in enumerate(needs):
            state.unmet.put((path, index), OpenNeeds(len(of_index), False))
        scope = scope._replace(ready=tuple(i for i, of_index in enumerate(needs) if not of_index))
    state.instances.put(path, scope)
    return state


def needs_of(scope: Scope) -> tuple[tuple[int, ...], ...]:
    """For each child of a graph, its needs. O(width)."""
    verb = scope.place.step.verb
    if isinstance(verb, BLOCKS):
        return tuple(step.needs for step in children_of(verb))
    return _reverse(scope.dependents)


def reopen(state: State, event: StepReopened) -> State:
    """Start another attempt of a scope: all its children become stale, and its head stays where the last attempt left it.

    If a join refused its work, it starts from the head of its parent instead, which holds the conflicting work.
    """
    scope = _scope(state, event)
    if scope.live or event.attempt != scope.tries + 2:
        raise IllegalEvent(f"{event.path!r} cannot be tried again now")
    previous = _make_stale(state, scope, tuple(range(scope.next)))
    if isinstance(previous.join_status, RefusedMember):
        parent = state.instances[previous.place.parent]
        assert isinstance(parent, Scope)
        previous = previous._replace(base=parent.head, head=parent.head)
    reopened = Scope(
        previous.place,
        phase="open",
        cancelling=previous.cancelling,
        tries=previous.tries + 1,
        total=previous.total,
        feedback=(*previous.feedback, *event.feedback),
        head=previous.head,
        start_tree=previous.head,
        base=previous.base,
        items=previous.items,
        keys=previous.keys,
        dependents=previous.dependents,
        questions_asked=previous.questions_asked,
        next_join_ticket=previous.next_join_ticket,
        next_join=previous.next_join,
        join_refusal=previous.join_refusal,
        expired=previous.expired,
        usd=previous.usd,
    )
    if event.due is not None:
        state.pending.put(("retry", event.path), StartTimer(event.path, event.due, "retry"))
    return _release(state, reopened)


def jump(state: State, event: JumpOrdered | JumpAsked) -> State:
    scope = _scope(state, event)
    if isinstance(event, JumpOrdered):
        if scope.jump == event.target:
            raise IllegalEvent(f"{event.path!r} is already jumping to this step")
        routes = tuple(path for path in scope.routes if path not in event.feedback)
        carry = (*scope.outgoing_feedback, *event.feedback)
        jumped = scope._replace(jump=event.target, outgoing_feedback=carry, routes=routes, last_answer=None)
    else:
        jumped = scope._replace(jump=event.target)
    state.instances.put(event.path, jumped)
    return state


def _scope(state: State, event: InstanceEvent) -> Scope:
    instance = state.instances.get(event.path)
    if not isinstance(instance, Scope):
        raise IllegalEvent(f"{event.path!r} is not a scope that has been entered")
    phases_after(instance, event)
    return instance
