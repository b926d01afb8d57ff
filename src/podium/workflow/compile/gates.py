"""Compiles reviews by agents, and the gates of a step in their stages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from podium.core.model import Agent, Check, Command, ForEach, Gates, Output, Panel, Review, Step, Verb
from podium.core.policy import Count, Retry
from podium.core.step_settings import StepSettings
from podium.workflow.compile import policy
from podium.workflow.compile.leaves import command, human, oversight
from podium.workflow.compile.settings import output, parameters, settings
from podium.workflow.compile.step_defaults import retry_layers, timeout
from podium.workflow.compile.values import CompileContext
from podium.workflow.defaults import COMMAND_TIMEOUT, OTHER_RETRY, REVIEW_TIMEOUT
from podium.workflow.schema.fields import Raw
from podium.workflow.schema.file import Role
from podium.workflow.schema.step import Gate, StepOrGate
from podium.workflow.schema.step import Step as RawStep
from podium.workflow.workers import Worker, reviewers_of, unique_name

_STAGES = (("run", "check"), ("review",), ("human",))


def compile_gates(context: CompileContext, raw: RawStep | None, role: Role | None = None) -> Step | None:
    """Compiles the role's gates, then the step's."""
    if raw is not None:
        # Files that the work must not change are restored from the base tree before its gates run.
        context = replace(
            context,
            protect=(*context.protect, *context.values(raw.protect, raw.at("protect"))),
            judged=raw,
        )
    entries = [*_entries(context, role), *_entries(context, raw)]
    names: set[str] = set()
    gates = [
        (gate.verb or "", _gate(context, unique_name(name, names), gate))
        for name, gate in _without_duplicates(entries)
    ]
    return _in_stages(gates) if gates else None


def _in_stages(gates: list[tuple[str, Step]]) -> Step:
    stages = (tuple(step for verb, step in gates if verb in kinds) for kinds in _STAGES)
    return Step(name="gates", verb=_gates_of_stages(stages))


def _gates_of_stages(stages: Iterable[tuple[Step, ...]]) -> Gates:
    """The stages in a fixed order, whatever the order in the file, so that a person is asked only after commands passed."""
    used = tuple(stage for stage in stages if stage)
    return Gates(used, tuple(step for stage in used for step in stage))


def with_commands(gates: Step | None, extra: tuple[Step, ...]) -> Step | None:
    """The gates with the commands that the language adds, next to those in the file."""
    if gates is None or not isinstance(gates.verb, Gates):
        return _in_stages([("run", step) for step in extra]) if extra else None
    names = {step.name for step in gates.verb.members}
    added = tuple(replace(step, name=unique_name(step.name, names)) for step in extra)
    first, *later = gates.verb.stages
    if not isinstance(first[0].verb, Command | Check | ForEach):
        first, later = (), [first, *later]
    return replace(gates, verb=_gates_of_stages(((*first, *added), *later)))


def _entries(context: CompileContext, owner: Raw | None) -> Iterator[tuple[str, Gate]]:
    """Each gate with its name, or that of its verb."""
    if owner is None:
        return
    for number, entry in enumerate(owner.get("gates")):
        if isinstance(entry, Gate):
            yield entry.name or entry.verb or "gate", entry
            continue
        gate = context.source.gate(entry)
        if gate is not None:
            yield entry, gate
        else:
            context.problem(36, owner.at("gates", number), f'gate "{entry}" is not defined')


def _without_duplicates(entries: list[tuple[str, Gate]]) -> Iterator[tuple[str, Gate]]:
    """Removes duplicates, so that a named gate that both the role and the step use runs once."""
    ids: set[int] = set()
    for name, gate in entries:
        if id(gate) not in ids:
            ids.add(id(gate))
            yield name, gate


def _gate(context: CompileContext, name: str, raw: Gate) -> Step:
    is_review, default = raw.verb == "review", COMMAND_TIMEOUT if raw.verb == "run" else None
    return Step(
        name=name,
        verb=_gate_verb(context, raw),
        when=context.optional(raw.when, raw.at("when")),
        on_fail=raw.on_fail,
        retry=policy.retry(context, retry_layers(context, raw), OTHER_RETRY),
        timeout=None if is_review else context.duration(raw.timeout, raw.at("timeout")) or default,
        touches=(),
        description=raw.description,
        line=context.line(raw.path),
        settings=settings(context, raw) if raw.verb == "run" else StepSettings(),
    )


def _gate_verb(context: CompileContext, raw: Gate) -> Verb:
    match raw.verb:
        case "run":
            return command(context, raw)
        case "review":
            return review(context, raw, of=())
        case "human":
            return human(context, raw, answers=False)
        case _:
            return Check(context.expression(raw.check or "true", raw.at("check")))


def review(context: CompileContext, raw: StepOrGate, *, of: tuple[str, ...]) -> Review:
    rule: Any = raw.pass_ or "all"
    members = tuple(_reviewer(context, raw, worker) for worker in reviewers_of(context.source, raw))
    in_turn = any(member.settings.context.earlier == "all" for member in members)
    return Review(
        members=members,
        of=of,
        rule=rule,
        min_score=context.setting(raw.min_score, raw.at("min_score"), "score"),
        bar=raw.bar or "major",
        oversight=oversight(context, raw, default="auto"),
        phrase=raw.phrase,
        parallel=1 if in_turn else _width(context, raw),
        approve=raw.approve or "last_line",
        verdict=raw.verdict or "review",
        panel=panel(context, raw),
    )


def panel(context: CompileContext, raw: StepOrGate) -> Panel | None:
    """The value that names the members, if the step has one."""
    key = raw.panel_key if isinstance(raw, RawStep) else None
    if key is None:
        return None
    names = context.value(raw.get(key), raw.at(key))
    if key == "review":
        return Panel(names, "agent", tuple(context.source.raw.get("roles") or ()))
    return Panel(names, key)


def _width(context: CompileContext, raw: StepOrGate) -> Count | None:
    """How many reviewers work at once; in a loop the key applies to the loop."""
    width = raw.parallel if isinstance(raw, RawStep) and raw.for_each is None else None
    if width is None or width is True:
        return None
    return 1 if width is False else context.count(width, raw.at("parallel"))


def _reviewer(context: CompileContext, raw: StepOrGate, worker: Worker) -> Step:
    role = worker.known_role
    prompt = raw.prompt if raw.prompt is not None else (role.prompt if role is not None else None)
    model = role.model if role is not None else None
    fallback = (role.fallback if role is not None else None) or ()
    return Step(
        name=worker.name,
        verb=Agent(
            role=context.value(worker.role, raw.at("review")),
            agent=context.value(worker.agent, raw.at("review")),
            model=context.value(model, raw.at("review")),
            prompt=context.prompt(prompt, raw.at("prompt")) if prompt is not None else None,
            fallback=fallback,
            estimate=policy.estimate(context, _estimate(raw), worker.agent, has_fallback=bool(fallback)),
            judge=True,
            member=worker.name,
        ),
        gates=compile_gates(context, None, role),
        retry=_reviewer_retry(context, raw, role),
        timeout=timeout(context, raw, role, REVIEW_TIMEOUT),
        touches=(),
        output=_output_file(context, raw),
        parameters=parameters(context, raw, role),
        line=context.line(raw.path),
        settings=settings(context, raw, role),
    )


def _output_file(context: CompileContext, raw: StepOrGate) -> Output:
    """The file that keeps the verdict; its form is that of a verdict, whatever else `output` says."""
    if not isinstance(raw, RawStep) or raw.output is None:
        return Output()
    contract = output(context, raw)
    if contract.kind != "text" or contract.file is None:
        message = "the output of a review can only have file and folder: its form is that of a verdict"
        context.problem(5, raw.at("output"), message)
    return Output(file=contract.file, folder=contract.folder)


def _estimate(raw: StepOrGate) -> Any:
    return raw.estimate if isinstance(raw, RawStep) else None


def _reviewer_retry(context: CompileContext, raw: StepOrGate, role: Role | None) -> Retry:
    """A reviewer gets one attempt; only malformed or lost answers are repeated. Visits belong to the review step."""
    retry = policy.retry(context, retry_layers(context, raw, role), OTHER_RETRY)
    return replace(retry, visits=None, attempts=1 if retry.per == "run" else retry.attempts, per="visit")
