"""What judges: reviews by agents, and the gates of a step in their stages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from podium.core.model import NO_FIELDS, Agent, Check, Command, ForEach, Gates, Review, Step, Verb
from podium.core.policy import Retry
from podium.workflow.compile import policy
from podium.workflow.compile.leaves import command, human, oversight, retry_layers
from podium.workflow.compile.settings import parameters, settings
from podium.workflow.compile.values import CompileContext
from podium.workflow.defaults import COMMAND_TIMEOUT, OTHER_RETRY, REVIEW_TIMEOUT
from podium.workflow.schema.fields import Raw
from podium.workflow.schema.file import Role
from podium.workflow.schema.step import Gate, StepOrGate
from podium.workflow.schema.step import Step as RawStep
from podium.workflow.workers import Worker, reviewers_of, unique

_STAGES = (("run", "check"), ("review",), ("human",))


def compile_gates(site: CompileContext, raw: RawStep | None, role: Role | None = None) -> Step | None:
    """The role's gates first, then the step's."""
    if raw is not None:
        # What the work may not change, its gates take from before it.
        site = replace(site, protect=(*site.protect, *site.values(raw.protect, raw.at("protect"))))
    found = [*_entries(site, role), *_entries(site, raw)]
    taken: set[str] = set()
    gates = [(gate.verb or "", _gate(site, unique(name, taken), gate)) for name, gate in _once(found)]
    return _in_stages(gates) if gates else None


def _in_stages(gates: list[tuple[str, Step]]) -> Step:
    stages = (tuple(step for verb, step in gates if verb in kinds) for kinds in _STAGES)
    return Step(name="gates", verb=_staged(stages))


def _staged(stages: Iterable[tuple[Step, ...]]) -> Gates:
    """Whatever the order in the file: a person is never asked about what a command would have refused."""
    kept = tuple(stage for stage in stages if stage)
    return Gates(kept, tuple(step for stage in kept for step in stage))


def with_commands(gates: Step | None, extra: tuple[Step, ...]) -> Step | None:
    """Also the commands that the language adds by itself, together with those that were written."""
    if gates is None or not isinstance(gates.verb, Gates):
        return _in_stages([("run", step) for step in extra]) if extra else None
    taken = {step.name for step in gates.verb.members}
    added = tuple(replace(step, name=unique(step.name, taken)) for step in extra)
    first, *later = gates.verb.stages
    if not isinstance(first[0].verb, Command | Check | ForEach):
        first, later = (), [first, *later]
    return replace(gates, verb=_staged(((*first, *added), *later)))


def _entries(site: CompileContext, owner: Raw | None) -> Iterator[tuple[str, Gate]]:
    """Each gate with the name it was given, or that of its verb."""
    if owner is None:
        return
    for number, entry in enumerate(owner.get("gates")):
        if isinstance(entry, Gate):
            yield entry.name or entry.verb or "gate", entry
            continue
        named = site.context.gate(entry)
        if named is not None:
            yield entry, named
        else:
            site.problem(36, owner.at("gates", number), f'gate "{entry}" is not defined')


def _once(found: list[tuple[str, Gate]]) -> Iterator[tuple[str, Gate]]:
    """A named gate that both the role and the step ask for judges once."""
    seen: set[int] = set()
    for name, gate in found:
        if id(gate) not in seen:
            seen.add(id(gate))
            yield name, gate


def _gate(site: CompileContext, name: str, raw: Gate) -> Step:
    is_review = raw.verb == "review"
    return Step(
        name=name,
        verb=_gate_verb(site, raw),
        when=site.optional(raw.when, raw.at("when")),
        on_fail=raw.on_fail,
        retry=policy.retry(site, retry_layers(raw), OTHER_RETRY),
        timeout=raw.timeout or COMMAND_TIMEOUT if raw.verb == "run" else None if is_review else raw.timeout,
        touches=(),
        description=raw.description,
        line=site.line(raw.path),
        settings=settings(site, raw) if raw.verb == "run" else NO_FIELDS,
    )


def _gate_verb(site: CompileContext, raw: Gate) -> Verb:
    match raw.verb:
        case "run":
            return command(site, raw)
        case "review":
            return review(site, raw, of=())
        case "human":
            return human(site, raw, answers=False)
        case _:
            return Check(site.expression(raw.check or "true", raw.at("check")))


def review(site: CompileContext, raw: StepOrGate, *, of: tuple[str, ...]) -> Review:
    rule: Any = raw.pass_ or "all"
    return Review(
        members=tuple(_reviewer(site, raw, worker) for worker in reviewers_of(site.context, raw)),
        of=of,
        rule=rule,
        min_score=raw.min_score,
        bar=raw.bar or "major",
        oversight=oversight(site, raw, default="auto"),
        phrase=raw.phrase,
    )


def _reviewer(site: CompileContext, raw: StepOrGate, worker: Worker) -> Step:
    role = worker.known_role
    written = raw.prompt if raw.prompt is not None else (role.prompt if role is not None else None)
    model = role.model if role is not None else None
    return Step(
        name=worker.name,
        verb=Agent(
            role=site.value(worker.role, raw.at("review")),
            agent=site.value(worker.agent, raw.at("review")),
            model=site.value(model, raw.at("review")),
            prompt=site.prompt(written, raw.at("prompt")) if written is not None else None,
            fallback=(role.fallback if role is not None else None) or (),
            estimate=policy.estimate(site, _estimate(raw), worker.agent),
            judge=True,
            member=worker.name,
        ),
        gates=compile_gates(site, None, role),
        retry=_reviewer_retry(site, raw, role),
        timeout=raw.timeout or (role.timeout if role is not None else None) or REVIEW_TIMEOUT,
        touches=(),
        parameters=parameters(site, raw, role),
        line=site.line(raw.path),
        settings=settings(site, raw, role),
    )


def _estimate(raw: StepOrGate) -> Any:
    return raw.estimate if isinstance(raw, RawStep) else None


def _reviewer_retry(site: CompileContext, raw: StepOrGate, role: Role | None) -> Retry:
    """A judge is asked once; only what was malformed or lost is asked again. Visits belong to the review."""
    found = policy.retry(site, retry_layers(raw, role), OTHER_RETRY)
    return replace(found, visits=None)
