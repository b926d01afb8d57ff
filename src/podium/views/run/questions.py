"""What a run waits for and its limits, with texts from the workflow; needs the folded state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias, assert_never

from podium.core.addresses import ROOT
from podium.core.effects import (
    AskPerson,
    CancelAttempt,
    Effect,
    FindFact,
    JoinTrees,
    RunAttempt,
    StartTimer,
    Watch,
)
from podium.core.expressions.values import plain_json
from podium.core.ledger import working_time
from podium.core.model import Agent, Call, Human, Labels, Wait
from podium.core.queries.conversations import conversation_about
from podium.core.queries.disputes import disputes_shown_to
from podium.core.queries.graph import NO_VERDICT, PRICE, actions_of
from podium.core.queries.pending import is_parkable
from podium.core.queries.tool_calls import asked_call
from podium.core.state import Instance, Leaf, State
from podium.core.types import Millis
from podium.views.format import first_of
from podium.views.plain import one_line, visible
from podium.views.run.checks import with_checks
from podium.views.run.view import LimitView, Pending, RunView, kind_of_question

MOST_FILES: Final = 20
DISPUTED: Final = "Earlier tests do not pass on this work; to approve is to accept that they change:"
Render: TypeAlias = Callable[[State, Leaf], str]
"""Renders the text of a question. Rendering prompts is not part of the views."""


def as_written(state: State, leaf: Leaf) -> str:
    """The text as written in the file, for callers that cannot render it."""
    match leaf.place.step.verb:
        case Human(question=question):
            text = f"{_agent_prefix(leaf)}{question.text.strip()}{_named_files(state, leaf)}"
            return f"{text}{_wanted_call(state, leaf)}"
        case Agent(prompt=prompt) if prompt is not None:
            return prompt.text.strip()
        case _:
            return leaf.place.step.description


def _agent_prefix(leaf: Leaf) -> str:
    about = leaf.place.topic
    return f'"{about.removeprefix(PRICE)}": ' if about.startswith(PRICE) else ""


def _named_files(state: State, leaf: Leaf) -> str:
    """The names of the protected files that a question is about, so that the person who allows them has seen them."""
    owner = state.instances[leaf.place.parent]
    answer = owner.answer if isinstance(owner, Leaf) and leaf.place.topic == "protected" else None
    if answer is None:
        return ""
    return f" {first_of([one_line(name, 200) for name in answer.protected], MOST_FILES)}"


def _wanted_call(state: State, leaf: Leaf) -> str:
    """The exact call that a question is about; nothing of it is left out or reformatted."""
    call = asked_call(state, leaf)
    if call is None:
        return ""
    return f"\n\n{call.tool}: {call.subject}" + (f"\n{call.detail}" if call.detail else "")


def with_state(view: RunView, state: State, render: Render = as_written) -> RunView:
    """The view with the texts of questions and failed checks, and with limits."""
    pending = tuple(pending_in(state, render))
    waits = view.status == "running" and is_parkable(state) and any(p.kind != "retry" for p in pending)
    return with_checks(view, state)._replace(
        pending=pending,
        limits=tuple(limits_in(state)),
        status="waiting" if waits else view.status,
        labels=labels_of(state),
        vars=variables_of(state),
    )


def labels_of(state: State) -> Labels:
    root = state.root.verb
    return root.workflow.labels if isinstance(root, Call) else Labels()


def variables_of(state: State) -> dict[str, Any]:
    """The labelled variables of the run that have values, by their labels."""
    root = state.root.verb
    if not isinstance(root, Call):
        return {}
    workflow = root.workflow
    values = {
        label: boxed[0] if (boxed := state.vars.get((ROOT, name))) is not None else workflow.vars.get(name)
        for name, label in workflow.labels.vars.items()
    }
    return {label: plain_json(value) for label, value in values.items() if value is not None}


def pending_in(state: State, render: Render = as_written) -> Iterator[Pending]:
    if state.ended is not None:
        return
    for (_, path), effect in state.pending.items():
        pending = _pending(state, state.instances[path], effect, render)
        if pending is not None:
            yield pending


def _pending(state: State, instance: Instance, effect: Effect, render: Render) -> Pending | None:
    if not isinstance(instance, Leaf):
        if isinstance(effect, StartTimer) and effect.kind == "retry":
            return Pending(effect.path, "retry", instance.place.entered, effect.due)
        return None
    match effect:
        case AskPerson():
            return question_view(state, instance, effect, render)
        case RunAttempt(started=started, by_hand=True):
            text = render(state, instance)
            return Pending(
                started.path, "by_hand", started.at, question=text, base=started.base, tree=started.start
            )
        case Watch(wait=wait):
            return _wait(instance, wait.at, wait.due)
        case StartTimer(path=path, due=due):
            answer = instance.answer
            is_quota = answer is not None and answer.kind == "quota"
            since = instance.place.entered if answer is None else answer.at
            return Pending(path, "quota" if is_quota else "retry", since, due)
        case RunAttempt() | CancelAttempt() | FindFact() | JoinTrees():
            return None
        case _:
            assert_never(effect)


def question_view(state: State, leaf: Leaf, effect: AskPerson, render: Render) -> Pending:
    """An open question with its text and possible answers."""
    request, step = effect.request, leaf.place.step
    verb = step.verb
    kind = kind_of_question(step.name)
    shows: tuple[str, ...] = ()
    if isinstance(verb, Human):
        kind = "question" if verb.answers else kind
        shows = tuple(word for word in verb.oversight.show if isinstance(word, str))
    conversation = conversation_about(state, leaf)
    return Pending(
        path=request.path,
        kind=kind,
        since=request.at,
        due=request.expires,
        question=f"{render(state, leaf)}{_disputed_tests(state, leaf)}",
        actions=actions_of(step),
        by=request.by,
        approvals=request.approvals,
        approved_by=tuple(approval.by for approval in leaf.approvals),
        about=leaf.place.topic,
        shows=shows,
        base=leaf.place.base,
        tree=request.tree,
        choices=step.output.choices if kind == "question" else (),
        rule=request.rule,
        presence=request.presence,
        until="" if conversation is None else conversation.member.until,
    )


def _disputed_tests(state: State, leaf: Leaf) -> str:
    """The disputed tests that an approval accepts, so that the person who approves has seen them."""
    verb = leaf.place.step.verb
    judges = leaf.place.role == "step" or leaf.place.topic == NO_VERDICT
    asks_approval = isinstance(verb, Human) and not verb.answers and judges
    disputes = disputes_shown_to(state, leaf) if asks_approval else ()
    if not disputes:
        return ""
    rows = (
        f"- {one_line(row['test'] or ', '.join(row['files']), 200)} {one_line(row['problem'], 200)}; "
        f"the author says: {one_line(row['why'], 500)}"
        for dispute in disputes
        for row in dispute.rows
    )
    changed = "\n".join(visible(diff) for diff in dict.fromkeys(dispute.diff for dispute in disputes))
    return "\n\n".join(("", DISPUTED, "\n".join(rows), changed)).rstrip()


def _wait(leaf: Leaf, since: Millis, due: Millis | None) -> Pending:
    verb = leaf.place.step.verb
    assert isinstance(verb, Wait)
    target = verb.detail.get(verb.what, "")
    name = target if isinstance(target, str) else ""
    return Pending(leaf.place.path, verb.what, since, due, name=name)


def limits_in(state: State) -> Iterator[LimitView]:
    """The limits of the whole run; `used` includes what attempts without a price may have cost, but no reservations."""
    ledger = state.ledgers.get(ROOT)
    if ledger is None:
        return
    limits, spent, unknown, in_flight = ledger.limits, ledger.spent, ledger.unknown, ledger.reserved
    used = {
        "usd": (spent.usd + unknown.usd) / 1_000_000,
        "tokens": spent.tokens + unknown.tokens,
        "calls": spent.calls + unknown.calls,
        "window": ledger.window,
        "time": working_time(ledger, state.at) / 1000,
        "transitions": ledger.transitions,
    }
    reserved = {"usd": in_flight.usd / 1_000_000, "tokens": in_flight.tokens, "calls": in_flight.calls}
    scale = {"usd": 1_000_000, "time": 1000}
    for unit, amount in used.items():
        limit = getattr(limits, unit)
        if limit is not None:
            most = limit / scale[unit] if unit in scale else limit
            yield LimitView(unit, most, amount, reserved.get(unit, 0))
