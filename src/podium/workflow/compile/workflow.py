"""Compiles a valid file to the graph that the engine runs.

One step of the file may become several steps of the graph: a loop is put around its body, a list of agents around its
members, and gates below the step they judge. The graph does not depend on the form in which the file was written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from podium.core.model import (
    Block,
    Call,
    Check,
    Choice,
    Continue,
    ForEach,
    Input,
    Labels,
    Repeat,
    Set,
    Step,
    Target,
    Workflow,
)
from podium.core.policy import Count, PassRule
from podium.core.step_settings import OtherProject, WorkflowConfig
from podium.core.types import Outcome
from podium.workflow.compile import policy
from podium.workflow.compile.gates import compile_gates, review
from podium.workflow.compile.leaves import human
from podium.workflow.compile.settings import block_output, output
from podium.workflow.compile.step_defaults import retry_layers
from podium.workflow.compile.values import CompileContext, freeze
from podium.workflow.compile.work import agent_step, command_step, git_step, wait_step, worker_limits
from podium.workflow.context import WorkflowSource
from podium.workflow.defaults import FINALLY_TIMEOUT, OTHER_RETRY
from podium.workflow.outcomes import possible_failures, runs_parallel
from podium.workflow.schema import file as schema_file
from podium.workflow.schema.reader import read
from podium.workflow.schema.routes import Route
from podium.workflow.schema.step import Step as RawStep
from podium.workflow.schema.verb_keys import all_steps
from podium.workflow.schema.workflow_files import FileElsewhere

_TARGET_WORDS: Final = ("next", "end", "fail", "break")

Names = Mapping[str, int]


def compile_workflow(context: CompileContext, *, fingerprint: str = "") -> Workflow:
    file = context.source.file
    limits = file.limits
    return Workflow(
        name=file.name or context.source.name,
        body=_block(context, file.steps, None),
        finally_=_finally(context, file.finally_),
        description=file.description,
        inputs=tuple(_input(name, raw) for name, raw in file.inputs.items()),
        vars=MappingProxyType(dict(context.pairs(file.vars, ("vars",)))),
        outputs=context.pairs(file.outputs, ("outputs",)),
        limits=policy.limits_of_run(context, limits, has_finally=file.finally_ is not None),
        breaker=policy.breaker(file.breaker),
        advisor=_advisor(context),
        policies=policy.policies(context),
        people=MappingProxyType(dict(file.people)),
        env=tuple(dict.fromkeys(_env(context.source))),
        max_parallel=file.max_parallel,
        unknown_cost=(limits.unknown_cost if limits is not None else None) or "ask",
        strict=file.strict,
        labels=Labels()
        if file.labels is None
        else Labels(MappingProxyType(dict(file.labels.steps)), MappingProxyType(dict(file.labels.vars))),
        fingerprint=fingerprint,
        config=_config(context),
        has_computed=bool(context.computed),
    )


def _input(name: str, raw: schema_file.Input) -> Input:
    return Input(
        name=name,
        type=raw.type,
        default=freeze(raw.default),
        required=not raw.has("default"),
        help=raw.help,
        choices=raw.choices,
        exists=raw.exists,
    )


def _env(context: WorkflowSource) -> Iterator[str]:
    """The environment variables that expressions may read, from all steps and child workflows."""
    lists = (context.file.env, *(step.env for _, step in all_steps(context.file)))
    yield from (entry.partition("=")[0] for entries in lists for entry in entries)
    for child in context.children.values():
        yield from _env(child)


def _finally(context: CompileContext, steps: Mapping[str, RawStep] | None) -> Step | None:
    if steps is None:
        return None
    body = _block(context, steps, None)
    has_worker = any(step.has_worker for step in body.steps)
    line = context.line(("finally",))
    return Step(name="finally", verb=body, timeout=FINALLY_TIMEOUT, has_worker=has_worker, line=line)


def _advisor(context: CompileContext) -> Step | None:
    """The step that advises the breaker in place of a person."""
    raw = context.source.file.breaker
    if raw is None or raw.ask == "human":
        return None
    kind = "role" if context.source.role(raw.ask) is not None else "agent"
    raw_step = read(RawStep, {kind: raw.ask, "output": {"schema": "Decision"}, "touches": []}).value
    assert raw_step is not None
    return agent_step(replace(context, failure_handled=True), "advisor", raw_step)


def _config(context: CompileContext) -> WorkflowConfig:
    raw, workspace = context.source.raw, context.source.file.workspace
    agents: Any = context.value(raw.get("agents") or {}, ("agents",))
    return WorkflowConfig(
        agents=agents,
        roles=freeze(raw.get("roles") or {}),
        partials=freeze(context.source.partial_texts()),
        record=freeze(raw.get("record") or {}),
        secrets=freeze(raw.get("secrets") or ()),
        notify=context.source.file.notify,
        subject=context.value(context.source.file.subject, ("subject",)),
        adaptive=freeze(adaptive.written if (adaptive := context.source.file.adaptive) else {}),
        works_in_project=workspace is not None and workspace.mode == "inplace",
    )


def _block(context: CompileContext, steps: Mapping[str, RawStep], raw: RawStep | None) -> Block:
    """`raw` is the step around the block; in a loop its `parallel` and `pass` apply to the loop."""
    names = {name: number for number, name in enumerate(steps)}
    owner = raw if raw is not None and raw.for_each is None else None
    kind = _kind(steps, owner)
    merged = kind == "dag" or (kind == "par" and _join(owner) not in ("best", "discard"))
    inside = replace(context, merged=merged)
    children = tuple(compile_step(inside, name, step, names) for name, step in steps.items())
    return Block(
        kind=kind,
        steps=children,
        parallel=1 if kind == "seq" else _width(context, owner),
        rule=pass_rule(owner),
        cancels_rest=owner is not None and owner.cancel is not None,
        join=_join(owner),
        output=block_output(context, raw),
        index=MappingProxyType(names),
        dependents=_dependents(children) if kind == "dag" else (),
    )


def _kind(steps: Mapping[str, RawStep], owner: RawStep | None) -> Any:
    if any(step.needs is not None for step in steps.values()):
        return "dag"
    return "par" if owner is not None and runs_parallel(owner) else "seq"


def _width(context: CompileContext, owner: RawStep | None) -> Count:
    """The maximum number of parallel steps; a graph is limited only by its needs and the file's maximum."""
    bound = context.source.file.max_parallel
    if owner is None or owner.parallel is None or isinstance(owner.parallel, bool):
        return 1 if owner is not None and owner.parallel is False else bound
    return context.count(owner.parallel, owner.at("parallel"))


def pass_rule(owner: RawStep | None) -> PassRule:
    rule: Any = owner.pass_ if owner is not None else None
    return rule or "all"


def _join(owner: RawStep | None) -> Any:
    return (owner.join if owner is not None else None) or "queue"


def _dependents(steps: tuple[Step, ...]) -> tuple[tuple[int, ...], ...]:
    return tuple(
        tuple(other for other, step in enumerate(steps) if number in step.needs)
        for number in range(len(steps))
    )


def compile_step(context: CompileContext, name: str, raw: RawStep, names: Names) -> Step:
    """Compiles a step with its routes, needs and limits; a loop is put around its body."""
    inner = context
    if not context.failure_handled and policy.handles_failure(raw):
        inner = replace(context, failure_handled=True)
    body = with_description(inner, raw, _without_modifiers(inner, name, raw, names))
    step = _wrap_loop(inner, name, raw, body)
    return step._replace(
        on=MappingProxyType(dict(_routes(inner, name, raw, names))),
        needs=tuple(_needs(inner, name, raw, names)),
        needs_rule="all" if raw.needs is None else raw.needs.rule,
        when=inner.optional(raw.when, raw.at("when")),
        limits=worker_limits(inner, raw),
    )


def with_description(context: CompileContext, raw: RawStep, step: Step) -> Step:
    return step._replace(description=raw.description, log=raw.log, line=context.line(raw.path))


def _needs(context: CompileContext, name: str, raw: RawStep, names: Names) -> Iterator[int]:
    for number, need in enumerate(raw.needs or ()):
        if need in names:
            yield names[need]
        else:
            context.problem(
                7, raw.at("needs", number), f'"{name}" needs "{need}", which is not in this block'
            )


def _routes(
    context: CompileContext, name: str, raw: RawStep, names: Names
) -> Iterator[tuple[Outcome, Target]]:
    if raw.continue_as is not None:
        yield "passed", Target("end")
    otherwise = raw.on.get("else")
    if otherwise is not None:
        target = _target(context, name, raw, "else", otherwise, names)
        for failure in possible_failures(raw, context.source.gates_of(raw), merged=context.merged):
            yield failure, target
    for word, route in raw.on.items():
        if word != "else":
            outcome: Any = word
            yield outcome, _target(context, name, raw, word, route, names)


def _target(
    context: CompileContext, name: str, raw: RawStep, word: str, route: Route, names: Names
) -> Target:
    path = raw.at("on", word)
    if route.choices:
        choices = tuple(_choice(context, name, raw, word, entry, names) for entry in route.choices)
        return Target("choose", choices=choices)
    feedback = context.value(route.feedback, path)
    if route.target in names:
        return Target("step", names[route.target], feedback=feedback, keeps_work=route.keeps_work)
    if route.target in _TARGET_WORDS:
        kind: Any = route.target
        return Target(kind, message=context.value(route.message, path), feedback=feedback)
    context.problem(7, path, f'on.{word} of "{name}": step "{route.target}" does not exist in this block')
    return Target("fail")


def _choice(
    context: CompileContext, name: str, raw: RawStep, word: str, entry: Route, names: Names
) -> Choice:
    when = None if entry.when is None else context.expression(entry.when, raw.at("on", word))
    return Choice(when, _target(context, name, raw, word, entry, names))


def _wrap_loop(context: CompileContext, name: str, raw: RawStep, body: Step) -> Step:
    if raw.for_each is not None:
        verb: ForEach | Repeat = _for_each(context, raw, body)
    elif raw.repeat is not None:
        verb = _repeat(context, raw, body)
    else:
        return body
    return Step(
        name=name, verb=verb, has_worker=body.has_worker, description=body.description, line=body.line
    )


def _for_each(context: CompileContext, raw: RawStep, body: Step) -> ForEach:
    loop = raw.for_each
    assert loop is not None
    path = loop.at("in")
    literal = isinstance(loop.in_, tuple)
    return ForEach(
        items=context.values(loop.in_, path) if literal else context.expression(str(loop.in_), path),
        body=body,
        name=loop.as_,
        where=context.optional(loop.where, loop.at("where")),
        key=context.optional(loop.key, loop.at("key")),
        needs=context.optional(loop.needs, loop.at("needs")),
        parallel=_width(context, raw) if raw.parallel is not None else 1,
        rule=pass_rule(raw),
        join=_join(raw),
        carry=loop.carry or (),
        cancels_rest=raw.cancel is not None,
    )


def _repeat(context: CompileContext, raw: RawStep, body: Step) -> Repeat:
    loop = raw.repeat
    assert loop is not None
    word = "until" if loop.until is not None else "while"
    if loop.max is None:
        context.problem(23, loop.path, "repeat needs max")
    if (loop.until is None) == (loop.while_ is None):
        context.problem(23, loop.path, "repeat needs exactly one of until and while")
    kind: Any = word
    return Repeat(
        body=body,
        test=context.expression(loop.get(word) or "true", loop.at(word)),
        kind=kind,
        max=context.count(loop.max or 1, loop.at("max")),
        on_exhausted=loop.on_exhausted or "fail",
    )


def _without_modifiers(context: CompileContext, name: str, raw: RawStep, names: Names) -> Step:
    """The step without its modifiers."""
    match raw.verb:
        case "agent":
            return agent_step(context, name, raw)
        case "run":
            return command_step(context, name, raw)
        case "git":
            return git_step(context, name, raw)
        case "wait":
            return wait_step(context, name, raw)
        case "review":
            verb = review(context, raw, of=_judged_steps(name, raw, names))
            return _simple(context, name, raw, verb, timeout=False)
        case "human":
            return _simple(context, name, raw, human(context, raw, answers=raw.output is not None))
        case "check":
            return _simple(context, name, raw, Check(context.expression(raw.check or "", raw.at("check"))))
        case "set":
            return _simple(context, name, raw, Set(context.pairs(raw.set_, raw.at("set"))))
        case "steps":
            return _scope(context, name, raw, _block(inner_context(context, raw), raw.steps or {}, raw))
        case "workflow":
            return _call(context, name, raw)
        case "continue_as":
            most = None if raw.max is None else context.count(raw.max, raw.at("max"))
            return _simple(context, name, raw, Continue(context.pairs(raw.with_, raw.at("with")), most))
        case _:
            width = _width(context, raw) if raw.parallel is not None else 1
            from podium.workflow.compile.build import build_step

            return build_step(inner_context(context, raw), name, raw, width, compile_step)


def _judged_steps(name: str, raw: RawStep, names: Names) -> tuple[str, ...]:
    """The steps that a review judges: those in `of`, else those it needs, else the step above it."""
    above = [other for other, number in names.items() if number == names.get(name, 0) - 1]
    return raw.of or raw.needs or tuple(above)


def _simple(context: CompileContext, name: str, raw: RawStep, verb: Any, *, timeout: bool = True) -> Step:
    return Step(
        name=name,
        verb=verb,
        retry=policy.retry(context, retry_layers(context, raw), OTHER_RETRY),
        timeout=context.duration(raw.timeout, raw.at("timeout")) if timeout else None,
        output=output(context, raw),
        touches=(),
    )


def inner_context(context: CompileContext, raw: RawStep) -> CompileContext:
    """The context for the steps of a block, whose protected files apply to all of them."""
    return replace(context, protect=(*context.protect, *context.values(raw.protect, raw.at("protect"))))


def _scope(context: CompileContext, name: str, raw: RawStep, verb: Block | Call) -> Step:
    inner = verb.workflow.body if isinstance(verb, Call) else verb
    return Step(
        name=name,
        verb=verb,
        gates=compile_gates(context, raw),
        retry=policy.retry(context, retry_layers(context, raw), OTHER_RETRY),
        timeout=context.duration(raw.timeout, raw.at("timeout")),
        output=output(context, raw),
        touches=None if raw.touches is None else context.globs(raw.touches, raw.at("touches")),
        has_worker=any(step.has_worker for step in inner.steps),
    )


def _call(context: CompileContext, name: str, raw: RawStep) -> Step:
    child = context.source.child(raw)
    if child is None:
        context.problem(35, raw.at("workflow"), f"{raw.workflow} does not exist")
        return Step(name=name, verb=Block("seq", ()))
    inner = CompileContext(child, context.problems, failure_handled=context.failure_handled)
    elsewhere = raw.workflow if isinstance(raw.workflow, FileElsewhere) else None
    place = None if elsewhere is None else OtherProject(elsewhere.folder, elsewhere.file)
    call = Call(compile_workflow(inner), context.pairs(raw.with_, raw.at("with")), place)
    context.computed.extend(inner.computed)
    return _scope(context, name, raw, call)
