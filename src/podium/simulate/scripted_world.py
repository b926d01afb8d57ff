"""A world that follows a cast; whatever no rule matches succeeds."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

from podium.core.events import (
    ApprovalAsked,
    AttemptEnded,
    AttemptStarted,
    Event,
    FactsAsked,
    JoinAsked,
    JoinEnded,
    WaitEnded,
    WaitStarted,
)
from podium.core.messages import Approve
from podium.core.model import Agent, Command, Members, Review, Step, Wait
from podium.core.payloads import Amounts, Ask, Note, RefusedMember, Verdict
from podium.core.queries.claims import EVERYTHING, claim_of_leaf
from podium.core.queries.conversations import conversation_about, conversation_of
from podium.core.queries.graph import actions_of
from podium.core.state import Leaf, Placement, State
from podium.core.types import TO_A_PERSON, Address, AnswerKind, MicroUsd, Millis, Tree
from podium.simulate.memory_trees import MemoryTrees
from podium.simulate.world import DelayedReport, name_of_person
from podium.workflow.contracts.examples import example_of
from podium.workflow.problems import did_you_mean
from podium.workflow.schema.fields import DocPath
from podium.workflow.scripted.cast import (
    Cast,
    Match,
    Rule,
    is_named,
    iteration_of,
    judged_attempt,
    names_list_of,
    place_of,
)

DEFAULT_RULE = Rule({})
DEFAULT_SCORES = {"approve": 9.0, "reject": 4.0, "abort": 1.0}
FAILURES: dict[str, tuple[AnswerKind, str]] = {
    "quota": ("quota", "quota"),
    "overloaded": ("transient", "overloaded"),
    "auth": ("unavailable", "auth"),
    "timeout": ("timeout", ""),
    "crash": ("transient", "crash"),
    "refused": ("failed", "refused"),
    "garbled": ("malformed", "contract"),
}
AGENT_TIME = Millis(60_000)
COMMAND_TIME = Millis(2_000)
PERSON_TIME = Millis(600_000)


class ScriptedWorld:
    def __init__(self, cast: Cast) -> None:
        self._cast = cast
        self._trees = MemoryTrees(cast.files)
        self._matched: set[DocPath] = set()

    def base(self) -> Tree | None:
        return self._trees.base

    def _rule(self, path: Address, state: State, attempt: int | None = None) -> Rule:
        place = state.instances[path].place
        visit, attempt = judged_attempt(path) or (_visit(state, path), attempt)
        for rule in self._cast.rules:
            match = rule.match
            matches = (
                (match.step in (None, place.step.name) or _is_meant(match.step, path, place.step))
                and match.visit in (None, visit)
                and match.attempt in (None, attempt)
                and match.iteration in (None, iteration_of(path))
                and _prompt_matches(match.prompt, place.step)
            )
            if matches:
                self._matched.add(rule.path)
                return rule
        return DEFAULT_RULE

    def unmatched_rules(self) -> tuple[Rule, ...]:
        """The rules that never matched, most often because of a misspelled step name."""
        return tuple(rule for rule in self._cast.rules if rule.path not in self._matched)

    def attempt(self, started: AttemptStarted, state: State) -> DelayedReport:
        step = state.instances[started.path].place.step
        rule = self._rule(started.path, state, started.attempt)
        kind, reason = _kind(rule)
        text = rule.text if rule.text is not None else f"{started.path} is done"
        turn = _turn(state, started.path, text) if kind == "ok" else ()
        kind = "asked" if turn else kind
        tree = started.start
        if rule.write or rule.delete:
            tree = self._trees.change(started.start, rule.write, rule.delete)
        elif kind == "ok" and _changes_by_default(step):
            tree = self._trees.change(started.start, {_file_for(started, state): started.path}, ())
        ended = AttemptEnded(
            at=Millis(0),
            path=started.path,
            attempt=started.attempt,
            kind=kind,
            reason=reason,
            result=self._result(rule, state.instances[started.path].place, kind, text, tree),
            tree=tree,
            change=self._change(started.base, tree),
            verdict=_verdict(rule, step, started.start),
            used=_used(rule, started, step),
            digest=hashlib.sha1(f"{text}{tree}".encode(), usedforsecurity=False).hexdigest()[:12],
            asks=turn or (asks_of(rule) if kind == "asked" else ()),
            notes=notes_of(rule),
            so_far=rule.so_far,
        )
        default = AGENT_TIME if isinstance(step.verb, Agent) else COMMAND_TIME
        return DelayedReport(_delay(rule, default), ended)

    def _result(
        self, rule: Rule, place: Placement, kind: AnswerKind, text: str, tree: Tree | None
    ) -> dict[str, Any]:
        step, about = place.step, place.topic
        result: dict[str, Any] = {"text": text, "files": self._trees.changed(place.base, tree)}
        if kind == "ok" or rule.output is not None:
            default = _default_output(step, about, text)
            result["output"] = rule.output if rule.output is not None else default
        if isinstance(step.verb, Command):
            result["exit_code"] = rule.exit or (0 if kind == "ok" else 1)
        if rule.blocked is not None:
            result["notes"] = rule.blocked
        return result

    def _change(self, base: Tree | None, tree: Tree | None) -> dict[str, Any]:
        paths = self._trees.changed(base, tree)
        return {"files": len(paths), "added": len(paths), "removed": 0, "paths": paths}

    def person(self, question: ApprovalAsked, state: State, number: int) -> DelayedReport | None:
        rule = self._rule(question.path, state)
        if rule.silent or rule.error == "timeout":
            return None
        step = state.instances[question.path].place.step
        actions = actions_of(step)
        defaults = {"retry": "fail", "proceed": _default_advice(state.instances[question.path].place.topic)}
        action = rule.action or defaults.get(actions[0], actions[0])
        answer = rule.answer
        if rule.action is None and isinstance(answer, str) and answer in actions:
            # `answer: reject` for a question that takes no other answer.
            action, answer = answer, None
        if answer is None and action == "answer":
            conversation = conversation_about(state, state.instances[question.path])
            answer = example_of(step.output, "yes") if conversation is None else conversation.member.until
        by = rule.by or name_of_person(question, state, number)
        if number and rule.by is not None:
            others = (name_of_person(question, state, number + more) for more in (0, 1))
            is_open = not question.by
            by = (
                f"{rule.by}{number + 1}"
                if is_open
                else next((each for each in others if each != rule.by), rule.by)
            )
        return DelayedReport(
            _delay(rule, PERSON_TIME), Approve(question.path, action, by, rule.text or "", answer)
        )

    def wait(self, wait: WaitStarted, state: State) -> DelayedReport | None:
        verb = state.instances[wait.path].place.step.verb
        rule = self._rule(wait.path, state)
        has_timer = isinstance(verb, Wait) and (verb.timer is not None or verb.minute_of_day is not None)
        if rule.silent or rule.error == "timeout" or has_timer:
            return None
        result = {"output": rule.output if rule.output is not None else {}}
        outcome = "failed" if rule.exit and rule.outcome == "ok" else rule.outcome
        ended = WaitEnded(Millis(0), wait.path, outcome, result, "" if outcome == "ok" else "poll")
        return DelayedReport(_delay(rule, AGENT_TIME), ended)

    def fact(self, query: FactsAsked, state: State) -> Any:
        fact = self._cast.facts.get(query.argument)
        if fact is not None:
            return fact
        if query.function == "glob":
            return self._trees.glob(query.tree, query.argument)
        return self._trees.exists(query.tree, query.argument)

    def join(self, request: JoinAsked, state: State) -> JoinEnded:
        head, refused = request.onto, []
        for path, tree in request.members:
            own = state.instances[path].base
            merged = self._trees.merge(request.fork if own is None else own, head, tree)
            if isinstance(merged, list):
                where = path if request.gated else request.path
                refused.append(RefusedMember(where, "conflict", f"both changed {', '.join(merged)}"))
            else:
                head = merged
        return JoinEnded(Millis(0), request.path, head, tuple(refused))


def explain_unmatched(match: Match, state: State, events: Iterable[Event], *, runs_commands: bool) -> str:
    """Why a rule that nothing matched was never used, with the places that there were. `runs_commands`: they really ran."""
    places = [place for event in events if (place := _place_asked(event, state)) is not None]
    named = [
        place
        for place in places
        if match.step is None or _is_meant(match.step, place[0], state.instances[place[0]].place.step)
    ]
    if match.step is not None and not named:
        names = tuple(dict.fromkeys(place_of(path) for path, *_ in places))
        hint = did_you_mean(match.step, names)
        suggestion = f" ({hint})" if hint else ""
        return f'nothing at "{match.step}" was asked{suggestion}; there were: {", ".join(names) or "none"}'
    answerable = [place for place in named if not (runs_commands and place[3])]
    if named and not answerable:
        return f'"{match.step}" is a command, which really runs in a test'
    fits = [
        path
        for path, visit, attempt, _ in answerable
        if match.visit in (None, visit)
        and match.attempt in (None, attempt)
        and match.iteration in (None, iteration_of(path))
    ]
    if fits and match.prompt is None:
        return f"an earlier rule answers {fits[0]}"
    what = "another prompt" if fits else "other numbers"
    listed = ", ".join(f"{path} visit {visit} attempt {attempt}" for path, visit, attempt, _ in answerable)
    return f"there were only places with {what}: {listed or 'none'}"


def _is_meant(written: str, path: Address, step: Step) -> bool:
    workers = (step.verb.agent, step.verb.role) if isinstance(step.verb, Agent) else ()
    return is_named(written, path) or names_list_of(written, path, *workers)


def _place_asked(event: Event, state: State) -> tuple[Address, int, int, bool] | None:
    """The address, the visit and the attempt that a rule can name, and whether it is a command."""
    if not isinstance(event, AttemptStarted | ApprovalAsked | WaitStarted):
        return None
    attempt = event.attempt if isinstance(event, AttemptStarted) else 1
    visit, attempt = judged_attempt(event.path) or (_visit(state, event.path), attempt)
    return event.path, visit, attempt, isinstance(state.instances[event.path].place.step.verb, Command)


def _visit(state: State, path: Address) -> int:
    """The visit of a step; a member has the visit of its step, because it is entered once per visit of that step."""
    place = state.instances[path].place
    parent = state.instances[place.parent].place
    return parent.visit if isinstance(parent.step.verb, Members | Review) else place.visit


def _file_for(started: AttemptStarted, state: State) -> str:
    """A file that the attempt may change, if no rule names one."""
    leaf = state.instances[started.path]
    claim = claim_of_leaf(state, leaf) if isinstance(leaf, Leaf) else ()
    glob = claim[0] if claim and claim != EVERYTHING else f"work/{place_of(started.path)}"
    return glob.replace("**", "changed").replace("*", "changed")


def _default_output(step: Step, about: str, text: str) -> Any:
    """A value that satisfies the contract; an advisor without a rule halts a run that the breaker stopped."""
    if step.output.schema_name == "Decision":
        return {"action": _default_advice(about)}
    return example_of(step.output, text)


def _default_advice(about: str) -> str:
    return "proceed" if about.removeprefix(TO_A_PERSON) == "complete" else "halt"


def _prompt_matches(pattern: str | None, step: Step) -> bool:
    if pattern is None:
        return True
    prompt = step.verb.prompt if isinstance(step.verb, Agent) else None
    return prompt is not None and re.search(pattern, prompt.text) is not None


def _kind(rule: Rule) -> tuple[AnswerKind, str]:
    if rule.error is not None:
        return FAILURES[rule.error]
    if rule.blocked is not None:
        return "blocked", "blocked"
    if rule.exit:
        return "failed", ""
    return ("asked", "") if rule.ask else ("ok", "")


def _turn(state: State, path: Address, text: str) -> tuple[Ask, ...]:
    """What a worker says in its conversation; () if it has none, or it is over."""
    conversation = conversation_of(state, state.instances[path])
    if conversation is None or conversation.is_over:
        return ()
    return (Ask(conversation.member.name, text),)


def asks_of(rule: Rule) -> tuple[Ask, ...]:
    return tuple(Ask(ask.to, ask.question, ask.files) for ask in rule.ask)


def notes_of(rule: Rule) -> tuple[Note, ...]:
    return tuple(Note(note.text, note.to) for note in rule.note)


def _changes_by_default(step: Step) -> bool:
    """Whether a worker without a rule changes a file, because its step requires a change."""
    return isinstance(step.verb, Agent) and not step.verb.judge and step.verb.no_change == "fail"


def _verdict(rule: Rule, step: Step, tree: Tree | None) -> Verdict | None:
    if not (isinstance(step.verb, Agent) and step.verb.judge):
        return None
    spec = rule.verdict
    if spec is not None:
        score = DEFAULT_SCORES[spec.decision] if spec.score is None else spec.score
        findings = spec.findings
        if spec.decision == "reject" and not findings:
            issue = rule.text or "not good enough"
            findings = ({"id": "F1", "severity": "major", "issue": issue, "status": "open"},)
        return Verdict(spec.decision, score, findings, tree, spec.summary)
    return Verdict("approve", 9, (), tree)


def _used(rule: Rule, started: AttemptStarted, step: Step) -> Amounts:
    if not isinstance(step.verb, Agent) or step.verb.by_hand:
        return Amounts()
    if rule.error == "quota" and rule.usage is None and not rule.cost_usd:
        return Amounts()  # A used-up quota refuses the call, so nothing is used.
    tokens = started.reserve.tokens // 4
    if rule.usage is not None:
        tokens = rule.usage.input + rule.usage.output
    usd = started.reserve.usd // 4 if rule.cost_usd is None else round(rule.cost_usd * 1_000_000)
    return Amounts(MicroUsd(usd), tokens, 1)


def _delay(rule: Rule, default: Millis) -> Millis:
    return default if rule.delay is None else rule.delay
