"""Approvals: who is asked, how strictly, for how long, what an answer means, what a late veto undoes (C28)."""

from __future__ import annotations

import hashlib
from typing import Any

from podium.core.decide.entry import start_of
from podium.core.events import ApprovalAsked, ApprovalGiven, Event, StepEnded
from podium.core.messages import Approve, Jump, Refusal
from podium.core.model import Block, Call, Gates, Human, Oversight, Review
from podium.core.policy import PolicyRule
from podium.core.queries.evaluate import ask, ask_value
from podium.core.queries.graph import body_of, workflow_of
from podium.core.state import Instance, Leaf, State
from podium.core.types import LEVELS, Millis, Outcome


def ask_person(state: State, leaf: Leaf, verb: Human, now: Millis) -> Event:
    """Put the question, or answer it where the level does not want a person."""
    rule = _rule_for(state, leaf, verb, now)
    if isinstance(rule, StepEnded):
        return rule
    path = leaf.place.path
    if rule.level == "auto" or (rule.level == "notify" and not rule.veto):
        return StepEnded(now, path, "passed", result={"verdict": {"decision": "passed", "by": []}})
    if state.started is not None and state.started.no_human and rule.level == "human":
        return StepEnded(
            now, path, "aborted", "no_human", 1, message="a person is needed, and nobody may be asked"
        )
    sight = _sight(state, leaf, verb)
    limit = rule.veto if rule.level == "notify" else leaf.place.step.timeout
    return ApprovalAsked(
        at=now,
        path=path,
        level=rule.level,
        by=rule.by,
        approvals=rule.approvals,
        tree=start_of(leaf),
        expires=None if limit is None else Millis(now + limit),
        silence="passed" if rule.level == "notify" else "timeout",
        remind=None if sight.remind is None else Millis(now + sight.remind),
        escalate=None if sight.escalate_after is None else Millis(now + sight.escalate_after),
        key=_key(leaf, verb),
    )


def _key(leaf: Leaf, verb: Human) -> str:
    asked = f"{leaf.place.about}\0{verb.question.text}"
    return hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _sight(state: State, leaf: Leaf, verb: Human) -> Oversight:
    """How people are told: for the engine's own question about a review, as that review says."""
    parent = state.instances[leaf.place.parent].place.step.verb
    return (
        parent.oversight if leaf.place.role == "question" and isinstance(parent, Review) else verb.oversight
    )


def _rule_for(state: State, leaf: Leaf, verb: Human, now: Millis) -> PolicyRule | StepEnded:
    parent = state.instances[leaf.place.parent]
    if leaf.place.role == "question" and isinstance(parent.place.step.verb, Review):
        return oversight_of(state, parent, parent.place.step.verb.oversight, now, ends=leaf)
    return oversight_of(state, leaf, verb.oversight, now)


def oversight_of(
    state: State, instance: Instance, sight: Oversight, now: Millis, *, ends: Instance | None = None
) -> PolicyRule | StepEnded:
    """The level that holds here: written, computed, or found by a policy in facts the engine measured."""
    answer = ask_value(state, instance, sight.level, now)
    if not isinstance(answer, tuple):
        return _unclear(ends or instance, "level may not look into files", now)
    word = answer[0]
    if word in LEVELS:
        return PolicyRule(word, None, sight.by, sight.approvals, sight.veto)
    for rule in workflow_of(state, instance.place).policies.get(str(word), ()):
        holds = (True,) if rule.when is None else ask(state, instance, rule.when, now)
        if isinstance(holds, StepEnded):
            return _unclear(ends or instance, holds.message, now)
        if isinstance(holds, tuple) and holds[0] is True:
            return rule
    return _unclear(ends or instance, f"no level and no policy is called {word!r}", now)


def _unclear(instance: Instance, message: str, now: Millis) -> StepEnded:
    return StepEnded(now, instance.place.path, "error", "expression", 1, message=message)


def after_person(leaf: Leaf, verb: Human, now: Millis) -> StepEnded:
    """What the answer of a person, or their silence, amounts to."""
    path, asked = leaf.place.path, leaf.asked
    assert asked is not None
    if leaf.silent:
        exit_code = 124 if asked.silence == "timeout" else 0
        return StepEnded(now, path, asked.silence, exit=exit_code, tree=None)
    last = leaf.given[-1]
    outcome = _outcome(last.action)
    by = [given.by for given in leaf.given]
    result: dict[str, Any] = {
        "verdict": {"decision": outcome, "by": by, "tree": last.tree},
        "text": last.text,
        "action": last.action,
    }
    if verb.answers or leaf.place.role in ("question", "advice"):
        result["output"] = last.answer if last.answer is not None else last.text
    reason = "" if outcome == "passed" else outcome
    return StepEnded(now, path, outcome, reason, exit=0 if outcome == "passed" else 4, result=result)


def _outcome(action: str) -> Outcome:
    match action:
        case "reject":
            return "rejected"
        case "abort":
            return "aborted"
        case _:
            # Answers to the engine's own questions say what to do; that they were given is all that counts here.
            return "passed"


def may_answer(whom: tuple[str, ...], by: str, groups: dict[str, tuple[str, ...]]) -> bool:
    """Whether this person is among those who are asked; an empty list means anybody."""
    return not whom or any(by == who or by in groups.get(who, ()) for who in whom)


def has_answered(given: tuple[ApprovalGiven, ...], by: str) -> bool:
    """Whether somebody is among those who have said yes so far; any other answer is the last one."""
    return any(answer.by == by for answer in given)


def late_veto(state: State, message: Approve, now: Millis) -> Jump | Refusal | None:
    """The way back that it asks for; None if there was no notice that this could be a veto of."""
    noticed = state.instances.get(message.path)
    rule = None if noticed is None or message.action != "reject" else _notice(state, noticed, now)
    if noticed is None or rule is None:
        return None
    if not may_answer(rule.by, message.by, dict(workflow_of(state, noticed.place).people)):
        return Refusal("not_asked", f"{message.by} is not among those who decide: {', '.join(rule.by)}")
    back = _way_back(state, noticed)
    if back is None:
        return Refusal(
            "no_way_back", f"no route says where a rejection of {message.path!r} leads; cancel ends the run"
        )
    return Jump(back[0].place.path, back[1], message.by, message.text)


def _notice(state: State, noticed: Instance, now: Millis) -> PolicyRule | None:
    """The rule by which it passed without waiting for anybody."""
    verb, ending = noticed.place.step.verb, noticed.ending
    if not isinstance(verb, Human | Review) or ending is None or ending.outcome != "passed":
        return None
    if not all(_counts(state, each) for each in (noticed, _owner(state, noticed) or noticed)):
        return None
    rule = oversight_of(state, noticed, verb.oversight, now)
    return None if isinstance(rule, StepEnded) or rule.level != "notify" or rule.veto else rule


def _counts(state: State, instance: Instance) -> bool:
    """Whether its result has not become stale."""
    latest = state.latest.get((instance.place.parent, instance.place.slot))
    return latest is not None and latest.path == instance.place.path and latest.fresh


def _owner(state: State, noticed: Instance) -> Instance | None:
    """The step whose gate it is."""
    gates = state.instances[noticed.place.parent].place
    return state.instances[gates.parent] if isinstance(gates.step.verb, Gates) else None


def _way_back(state: State, noticed: Instance) -> tuple[Instance, str] | None:
    """The sequence and its step: that of the gate itself, else the one that the route names."""
    owner = _owner(state, noticed)
    if owner is not None:
        return state.instances[owner.place.parent], owner.place.step.name
    around = state.instances[noticed.place.parent]
    target = noticed.place.step.on.get("rejected")
    verb = around.place.step.verb
    body = body_of(verb) if isinstance(verb, Block | Call) else None
    if target is None or target.kind != "step" or body is None:
        return None
    return around, body.steps[target.step].name
