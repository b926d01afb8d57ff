"""A file that was read and found right becomes the graph that the engine runs.

One step of the file may be several of the graph: a loop stands around its body, a list of agents around its
members, gates hang below what they judge. Nothing of the spelling survives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from podium.core.model import Block, Call, Check, ForEach, Input, Repeat, Set, Step, Target, Workflow
from podium.core.policy import NO_LIMITS, Count, Limits, PassRule
from podium.core.types import Outcome
from podium.workflow.compile import policy
from podium.workflow.compile.gates import compile_gates, review
from podium.workflow.compile.leaves import human, retry_layers
from podium.workflow.compile.settings import output, picked
from podium.workflow.compile.values import CompileContext, fields, frozen
from podium.workflow.compile.work import agent_step, command_step, git_step, wait_step
from podium.workflow.context import WorkflowSource
from podium.workflow.defaults import FINALLY_TIMEOUT, LIMITS, OTHER_RETRY
from podium.workflow.outcomes import is_wide, possible_failures
from podium.workflow.schema import file as schema_file
from podium.workflow.schema.reader import read
from podium.workflow.schema.step import Route
from podium.workflow.schema.step import Step as RawStep
from podium.workflow.schema.verb_keys import all_steps
from podium.workflow.workers import workers_of

_CONFIG: Final = (
    "agents",
    "roles",
    "secrets",
    "notify",
    "record",
    "context",
    "workspace",
    "sandbox",
    "network",
    "protect",
)
_WORDS: Final = ("next", "end", "fail", "break")

Names = Mapping[str, int]


def compile_workflow(site: CompileContext, *, fingerprint: str = "") -> Workflow:
    file = site.context.file
    limits = file.limits
    return Workflow(
        name=file.name or site.context.name,
        body=_block(site, file.steps, None),
        finally_=_finally(site, file.finally_),
        description=file.description,
        inputs=tuple(_input(name, raw) for name, raw in file.inputs.items()),
        vars=MappingProxyType(dict(site.pairs(file.vars, ("vars",)))),
        outputs=site.pairs(file.outputs, ("outputs",)),
        limits=policy.limits(limits, LIMITS),
        breaker=policy.breaker(file.breaker),
        advisor=_advisor(site),
        policies=policy.policies(site),
        people=MappingProxyType(dict(file.people)),
        env=tuple(dict.fromkeys(_env(site.context))),
        max_parallel=file.max_parallel,
        unknown_cost=(limits.unknown_cost if limits is not None else None) or "ask",
        strict=file.strict,
        fingerprint=fingerprint,
        config=_config(site),
    )


def _input(name: str, raw: schema_file.Input) -> Input:
    return Input(
        name=name,
        type=raw.type,
        default=frozen(raw.default),
        required=not raw.has("default"),
        help=raw.help,
        choices=raw.choices,
        exists=raw.exists,
    )


def _env(context: WorkflowSource) -> Iterator[str]:
    """The variables that expressions may read, wherever they are passed on."""
    said = (context.file.env, *(step.env for _, step in all_steps(context.file)))
    yield from (entry.partition("=")[0] for entries in said for entry in entries)
    for child in context.children.values():
        yield from _env(child)


def _finally(site: CompileContext, steps: Mapping[str, RawStep] | None) -> Step | None:
    if steps is None:
        return None
    body = _block(site, steps, None)
    has_worker = any(step.has_worker for step in body.steps)
    line = site.line(("finally",))
    return Step(name="finally", verb=body, timeout=FINALLY_TIMEOUT, has_worker=has_worker, line=line)


def _advisor(site: CompileContext) -> Step | None:
    """Whom the breaker asks in place of a person."""
    raw = site.context.file.breaker
    if raw is None or raw.ask == "human":
        return None
    who = "role" if site.context.role(raw.ask) is not None else "agent"
    made = read(RawStep, {who: raw.ask, "output": {"schema": "Decision"}, "touches": []}).value
    assert made is not None
    return agent_step(replace(site, provided=True), "advisor", made)


def _config(site: CompileContext) -> Mapping[str, Any]:
    raw = site.context.raw
    found = {key: frozen(raw[key]) for key in _CONFIG if key in raw}
    partials = frozen(site.context.partial_texts()) or None
    return fields({**found, "agents": site.value(raw.get("agents", {}), ("agents",)), "partials": partials})


def _block(site: CompileContext, steps: Mapping[str, RawStep], raw: RawStep | None) -> Block:
    """`raw` is the step whose block this is; in a loop its width and rule speak about the loop."""
    names = {name: number for number, name in enumerate(steps)}
    children = tuple(compile_step(site, name, step, names) for name, step in steps.items())
    owner = raw if raw is not None and raw.for_each is None else None
    kind = _kind(steps, owner)
    return Block(
        kind=kind,
        steps=children,
        parallel=1 if kind == "seq" else _width(site, owner),
        rule=pass_rule(owner),
        join=_join(owner),
        output=picked(site, raw),
        index=MappingProxyType(names),
        dependents=_dependents(children) if kind == "dag" else (),
    )


def _kind(steps: Mapping[str, RawStep], owner: RawStep | None) -> Any:
    if any(step.needs is not None for step in steps.values()):
        return "dag"
    return "par" if owner is not None and is_wide(owner) else "seq"


def _width(site: CompileContext, owner: RawStep | None) -> Count:
    """A graph is as wide as its needs allow, up to the common bound."""
    bound = site.context.file.max_parallel
    if owner is None or owner.parallel is None or isinstance(owner.parallel, bool):
        return 1 if owner is not None and owner.parallel is False else bound
    return site.count(owner.parallel, owner.at("parallel"))


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


def compile_step(site: CompileContext, name: str, raw: RawStep, names: Names) -> Step:
    """The step with what speaks about the whole of it; a loop is put around its body."""
    here = replace(site, provided=site.provided or policy.is_provided_for(raw))
    body = described(here, raw, _plain(here, name, raw, names))
    whole = _looped(here, name, raw, body)
    return replace(
        whole,
        on=MappingProxyType(dict(_routes(here, name, raw, names))),
        needs=tuple(_needs(here, name, raw, names)),
        when=here.optional(raw.when, raw.at("when")),
        limits=_limits(here, raw),
    )


def described(site: CompileContext, raw: RawStep, step: Step) -> Step:
    return replace(step, description=raw.description, line=site.line(raw.path))


def _limits(site: CompileContext, raw: RawStep) -> Limits:
    roles = [worker.known_role for worker in workers_of(site.context, raw)] if raw.verb == "agent" else []
    base = NO_LIMITS
    for role in roles:
        base = policy.limits(role.limits if role is not None else None, base)
    return policy.limits(raw.limits, base)


def _needs(site: CompileContext, name: str, raw: RawStep, names: Names) -> Iterator[int]:
    for number, need in enumerate(raw.needs or ()):
        if need in names:
            yield names[need]
        else:
            site.problem(7, raw.at("needs", number), f'"{name}" needs "{need}", which is not in this block')


def _routes(site: CompileContext, name: str, raw: RawStep, names: Names) -> Iterator[tuple[Outcome, Target]]:
    otherwise = raw.on.get("else")
    if otherwise is not None:
        target = _target(site, name, raw, "else", otherwise, names)
        for failure in possible_failures(raw, site.context.gates_of(raw)):
            yield failure, target
    for word, route in raw.on.items():
        if word != "else":
            outcome: Any = word
            yield outcome, _target(site, name, raw, word, route, names)


def _target(site: CompileContext, name: str, raw: RawStep, word: str, route: Route, names: Names) -> Target:
    path = raw.at("on", word)
    if route.target in names:
        return Target("step", names[route.target])
    if route.target in _WORDS:
        kind: Any = route.target
        return Target(kind, message=site.value(route.message, path))
    site.problem(7, path, f'on.{word} of "{name}": step "{route.target}" does not exist in this block')
    return Target("fail")


def _looped(site: CompileContext, name: str, raw: RawStep, body: Step) -> Step:
    if raw.for_each is not None:
        verb: ForEach | Repeat = _for_each(site, raw, body)
    elif raw.repeat is not None:
        verb = _repeat(site, raw, body)
    else:
        return body
    return Step(
        name=name, verb=verb, has_worker=body.has_worker, description=body.description, line=body.line
    )


def _for_each(site: CompileContext, raw: RawStep, body: Step) -> ForEach:
    loop = raw.for_each
    assert loop is not None
    path = loop.at("in")
    literal = isinstance(loop.in_, tuple)
    return ForEach(
        items=site.values(loop.in_, path) if literal else site.expression(str(loop.in_), path),
        body=body,
        name=loop.as_,
        where=site.optional(loop.where, loop.at("where")),
        key=site.optional(loop.key, loop.at("key")),
        needs=site.optional(loop.needs, loop.at("needs")),
        parallel=_width(site, raw) if raw.parallel is not None else 1,
        rule=pass_rule(raw),
        join=_join(raw),
    )


def _repeat(site: CompileContext, raw: RawStep, body: Step) -> Repeat:
    loop = raw.repeat
    assert loop is not None
    word = "until" if loop.until is not None else "while"
    if loop.max is None:
        site.problem(23, loop.path, "repeat needs max")
    if (loop.until is None) == (loop.while_ is None):
        site.problem(23, loop.path, "repeat needs one of until, while")
    kind: Any = word
    return Repeat(
        body=body,
        test=site.expression(loop.get(word) or "true", loop.at(word)),
        kind=kind,
        max=site.count(loop.max or 1, loop.at("max")),
        on_exhausted=loop.on_exhausted or "fail",
    )


def _plain(site: CompileContext, name: str, raw: RawStep, names: Names) -> Step:
    """The step without its modifiers."""
    match raw.verb:
        case "agent":
            return agent_step(site, name, raw)
        case "run":
            return command_step(site, name, raw)
        case "git":
            return git_step(site, name, raw)
        case "wait":
            return wait_step(site, name, raw)
        case "review":
            verb = review(site, raw, of=_judged(name, raw, names))
            return _simple(site, name, raw, verb, timeout=False)
        case "human":
            return _simple(site, name, raw, human(site, raw, answers=raw.output is not None))
        case "check":
            return _simple(site, name, raw, Check(site.expression(raw.check or "", raw.at("check"))))
        case "set":
            return _simple(site, name, raw, Set(site.pairs(raw.set_, raw.at("set"))))
        case "steps":
            return _scope(site, name, raw, _block(inner_site(site, raw), raw.steps or {}, raw))
        case "workflow":
            return _call(site, name, raw)
        case _:
            width = _width(site, raw) if raw.parallel is not None else 1
            from podium.workflow.compile.build import build_step

            return build_step(inner_site(site, raw), name, raw, width, compile_step)


def _judged(name: str, raw: RawStep, names: Names) -> tuple[str, ...]:
    """What a review step judges: what it says, else what it needs, else the step above."""
    above = [other for other, number in names.items() if number == names.get(name, 0) - 1]
    return raw.of or raw.needs or tuple(above)


def _simple(site: CompileContext, name: str, raw: RawStep, verb: Any, *, timeout: bool = True) -> Step:
    return Step(
        name=name,
        verb=verb,
        retry=policy.retry(site, retry_layers(raw), OTHER_RETRY),
        timeout=raw.timeout if timeout else None,
        output=output(site, raw),
        touches=(),
    )


def inner_site(site: CompileContext, raw: RawStep) -> CompileContext:
    """What a block says about files holds for everything in it."""
    return replace(site, protect=(*site.protect, *site.values(raw.protect, raw.at("protect"))))


def _scope(site: CompileContext, name: str, raw: RawStep, verb: Block | Call) -> Step:
    inner = verb.workflow.body if isinstance(verb, Call) else verb
    return Step(
        name=name,
        verb=verb,
        gates=compile_gates(site, raw),
        retry=policy.retry(site, retry_layers(raw), OTHER_RETRY),
        timeout=raw.timeout,
        output=output(site, raw),
        touches=None if raw.touches is None else site.globs(raw.touches, raw.at("touches")),
        has_worker=any(step.has_worker for step in inner.steps),
    )


def _call(site: CompileContext, name: str, raw: RawStep) -> Step:
    child = site.context.child(raw)
    if child is None:
        site.problem(35, raw.at("workflow"), f"{raw.workflow} does not exist")
        return Step(name=name, verb=Block("seq", ()))
    inner = CompileContext(child, site.problems, provided=site.provided)
    return _scope(site, name, raw, Call(compile_workflow(inner), site.pairs(raw.with_, raw.at("with"))))
