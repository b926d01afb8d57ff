"""Approvals: whom to ask, at which level, for how long, what an answer means, and late vetoes (C28)."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from podium.core.decide.entry import start_of
from podium.core.events import ApprovalAsked, ApprovalGiven, Event, StepEnded
from podium.core.messages import Approve, Jump, Refusal
from podium.core.model import Block, Call, Gates, Human, Review
from podium.core.policy import Oversight, PolicyRule
from podium.core.queries.disputes import ACCEPTED, accepted_by_person, disputes_shown_to
from podium.core.queries.evaluate import try_evaluate, try_fill
from podium.core.queries.graph import NO_VERDICT, body_of, workflow_of
from podium.core.queries.tool_calls import asked_call
from podium.core.state import Instance, Leaf, State
from podium.core.types import LEVELS, Millis, Outcome


def ask_person(state: State, leaf: Leaf, verb: Human, now: Millis) -> Event:
    """Ask the question, or pass without asking if the level does not need a person."""
    rule = _rule_for(state, leaf, verb, now)
    if isinstance(rule, StepEnded):
        return rule
    path = leaf.place.path
    if rule.level == "auto" or (rule.level == "notify" and not rule.veto):
        return StepEnded(now, path, "passed", result={"verdict": {"decision": "passed", "by": []}})
    if state.started is not None and state.started.no_human and rule.level == "human":
        return StepEnded(
            now,
            path,
            "aborted",
            "no_human",
            1,
            message="a person must approve, but the run may not ask a person",
        )
    oversight = oversight_for(state, leaf, verb)
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
        remind=None if oversight.remind is None else Millis(now + oversight.remind),
        escalate=None if oversight.escalate_after is None else Millis(now + oversight.escalate_after),
        key=_key(state, leaf, verb),
        rule=rule.text,
        presence=rule.presence,
    )


def _key(state: State, leaf: Leaf, verb: Human) -> str:
    disputed = (str(row["id"]) for dispute in disputes_shown_to(state, leaf) for row in dispute.rows)
    call = asked_call(state, leaf)
    called = () if call is None else (call.tool, call.subject, call.detail)
    question = "\0".join((leaf.place.topic, verb.question.text, *disputed, *called))
    return hashlib.sha256(question.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def oversight_for(state: State, leaf: Leaf, verb: Human) -> Oversight:
    """The oversight that applies: for the engine's question about a review, that of the review."""
    parent = state.instances[leaf.place.parent].place.step.verb
    return (
        parent.oversight if leaf.place.role == "question" and isinstance(parent, Review) else verb.oversight
    )


def _rule_for(state: State, leaf: Leaf, verb: Human, now: Millis) -> PolicyRule | StepEnded:
    parent = state.instances[leaf.place.parent]
    if leaf.place.role == "question" and isinstance(parent.place.step.verb, Review):
        rule = oversight_of(state, parent, parent.place.step.verb.oversight, now, ends=leaf)
        if isinstance(rule, PolicyRule) and leaf.place.topic in (NO_VERDICT, "exhausted"):
            # The level says who has to see the work besides the reviewers. Here nothing is decided without a person.
            return replace(rule, level="human", veto=Millis(0))
        return rule
    return oversight_of(state, leaf, verb.oversight, now)


def oversight_of(
    state: State, instance: Instance, oversight: Oversight, now: Millis, *, ends: Instance | None = None
) -> PolicyRule | StepEnded:
    """The rule that applies: the written or computed level, or the first matching rule of the named policy."""
    answer = try_fill(state, instance, oversight.level, now)
    if not isinstance(answer, tuple):
        return _oversight_error(ends or instance, "level must not use exists or glob", now)
    level = answer[0]
    if level in LEVELS:
        return PolicyRule(level, None, oversight.by, oversight.approvals, oversight.veto, oversight.presence)
    for rule in workflow_of(state, instance.place).policies.get(str(level), ()):
        holds = (True,) if rule.when is None else try_evaluate(state, instance, rule.when, now)
        if isinstance(holds, StepEnded):
            return _oversight_error(ends or instance, holds.message, now)
        if isinstance(holds, tuple) and holds[0] is True:
            return replace(rule, presence=rule.presence or oversight.presence)
    return _oversight_error(ends or instance, f"{level!r} is neither a level nor a policy", now)


def _oversight_error(instance: Instance, message: str, now: Millis) -> StepEnded:
    return StepEnded(now, instance.place.path, "error", "expression", 1, message=message)


def after_person(state: State, leaf: Leaf, verb: Human, now: Millis) -> StepEnded:
    """The end of a question after a person's answer, or after the time to answer ran out."""
    path, request = leaf.place.path, leaf.approval_request
    assert request is not None
    if leaf.expired:
        exit_code = 124 if request.silence == "timeout" else 0
        return StepEnded(now, path, request.silence, exit=exit_code, tree=None)
    last = leaf.approvals[-1]
    outcome = _outcome(last.action)
    by = [approval.by for approval in leaf.approvals]
    result: dict[str, Any] = {
        "verdict": {"decision": outcome, "by": by, "tree": last.tree},
        "text": last.text,
        "action": last.action,
    }
    accepted = accepted_by_person(state, leaf) if _accepts_tests(leaf, verb, last.action) else ()
    if accepted:
        result[ACCEPTED] = list(accepted)
    if verb.answers or leaf.place.role in ("question", "advice"):
        result["output"] = last.answer if last.answer is not None else last.text
    reason = "" if outcome == "passed" else outcome
    return StepEnded(now, path, outcome, reason, exit=0 if outcome == "passed" else 4, result=result)


def _accepts_tests(leaf: Leaf, verb: Human, action: str) -> bool:
    """Whether an answer approves work; most of the engine's own questions are about something else."""
    judges = leaf.place.role == "step" or leaf.place.topic == NO_VERDICT
    return action == "approve" and not verb.answers and judges


def _outcome(action: str) -> Outcome:
    match action:
        case "reject":
            return "rejected"
        case "abort":
            return "aborted"
        case _:
            # The other actions answer the engine's own questions; the question itself has passed.
            return "passed"


def may_answer(approvers: tuple[str, ...], by: str, groups: dict[str, tuple[str, ...]]) -> bool:
    """Whether this person may answer; an empty list of approvers means anyone."""
    return not approvers or any(by == approver or by in groups.get(approver, ()) for approver in approvers)


def has_approved(approvals: tuple[ApprovalGiven, ...], by: str) -> bool:
    """Whether this person has already approved."""
    return any(approval.by == by for approval in approvals)


def late_veto(state: State, message: Approve, now: Millis) -> Jump | Refusal | None:
    """The jump that a rejection after the fact asks for; None if nothing passed here with only a notice."""
    noticed = state.instances.get(message.path)
    rule = None if noticed is None or message.action != "reject" else notify_rule(state, noticed, now)
    if noticed is None or rule is None:
        return None
    if not may_answer(rule.by, message.by, dict(workflow_of(state, noticed.place).people)):
        return Refusal("not_asked", f"{message.by} may not answer; only {', '.join(rule.by)} may")
    target = _veto_target(state, noticed)
    if target is None:
        return Refusal(
            "no_way_back", f"{message.path!r} has no route for a rejection; to stop the run, cancel it"
        )
    return Jump(target[0].place.path, target[1], message.by, message.text)


def notify_rule(state: State, noticed: Instance, now: Millis) -> PolicyRule | None:
    """The notify rule by which the step passed without waiting for a person."""
    verb, ending = noticed.place.step.verb, noticed.ending
    if not isinstance(verb, Human | Review) or ending is None or ending.outcome != "passed":
        return None
    if not all(_is_fresh(state, each) for each in (noticed, _judged_step(state, noticed) or noticed)):
        return None
    rule = oversight_of(state, noticed, verb.oversight, now)
    return None if isinstance(rule, StepEnded) or rule.level != "notify" or rule.veto else rule


def _is_fresh(state: State, instance: Instance) -> bool:
    """Whether its result is still valid."""
    latest = state.latest.get((instance.place.parent, instance.place.index))
    return latest is not None and latest.path == instance.place.path and latest.fresh


def _judged_step(state: State, noticed: Instance) -> Instance | None:
    """The step whose gate this is; None if it is not a gate."""
    gates = state.instances[noticed.place.parent].place
    return state.instances[gates.parent] if isinstance(gates.step.verb, Gates) else None


def _veto_target(state: State, noticed: Instance) -> tuple[Instance, str] | None:
    """The sequence and the step to return to: the step that the gate judges, else the route for `rejected`."""
    owner = _judged_step(state, noticed)
    if owner is not None:
        return state.instances[owner.place.parent], owner.place.step.name
    parent = state.instances[noticed.place.parent]
    target = noticed.place.step.on.get("rejected")
    verb = parent.place.step.verb
    body = body_of(verb) if isinstance(verb, Block | Call) else None
    if target is None or target.kind != "step" or body is None:
        return None
    return parent, body.steps[target.step].name
