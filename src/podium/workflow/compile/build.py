"""A feature becomes blocks and loops: interfaces first, then the phases, in each its components.

feature                 block; knows `feature` and `interfaces`
  interfaces            writes their files
  phases                for_each phase, by the barriers
    phase               block
      design            answers the phase in detail, if there is one
      components        for_each component, by their needs
        component       the step that was written
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from podium.core.expressions import feature_functions
from podium.core.expressions.nodes import Call, Const, Field, Name, Node
from podium.core.expressions.templates import Value
from podium.core.fast_dataclass import dataclass
from podium.core.model import Block, Command, ForEach, Output, Step, Write
from podium.core.policy import Count
from podium.workflow.compile import policy
from podium.workflow.compile.gates import compile_gates, with_commands
from podium.workflow.compile.leaves import retry_layers
from podium.workflow.compile.settings import output, picked, schema_of
from podium.workflow.compile.values import CompileContext, frozen
from podium.workflow.defaults import COMMAND_TIMEOUT, OTHER_RETRY
from podium.workflow.schema.fields import attribute_name
from podium.workflow.schema.step import VERBS, Feature
from podium.workflow.schema.step import Step as RawStep

CompileStep = Callable[[CompileContext, str, RawStep, Mapping[str, int]], Step]

_DATA: Final = frozenset({"needs", "description", "touches"})
"""The keys of a component that are part of the item; all others override the step that builds it."""

_FEATURE: Final = Name("feature")
_PHASE: Final = Name("phase")
_COMPONENT: Final = Name("component")
_INTERFACES: Final = Name("interfaces")


@dataclass(frozen=True, slots=True)
class Plan:
    """A build that is being expanded. `data` is None while only the run will tell what the feature is."""

    site: CompileContext
    raw: RawStep
    width: Count
    compile_step: CompileStep
    feature: Feature | None
    data: Mapping[str, Any] | None

    @property
    def interfaces(self) -> Mapping[str, Any] | None:
        """All of them, if a design cannot add to them."""
        if self.data is None or self.raw.design is not None:
            return None
        return feature_functions.interfaces(self.data)


def build_step(
    site: CompileContext, name: str, raw: RawStep, width: Count, compile_step: CompileStep
) -> Step:
    data = site.context.feature_data(raw)
    plan = Plan(site, raw, width, compile_step, site.context.feature(raw), data)
    given = None if data is None else feature_functions.interfaces(data)
    children = [_phases(plan)]
    if given is None or given:
        children.insert(0, _write(given))
    shown = Call("_interfaces", (_FEATURE,)) if given is None else frozen(given)
    return Step(
        name=name,
        verb=_sequence(*children, output=picked(site, raw)),
        gates=compile_gates(site, raw),
        retry=policy.retry(site, retry_layers(raw), OTHER_RETRY),
        timeout=raw.timeout,
        output=output(site, raw),
        touches=None if raw.touches is None else site.globs(raw.touches, raw.at("touches")),
        has_worker=True,
        parameters=(
            ("feature", site.value(raw.build if data is None else data, raw.at("build"))),
            ("interfaces", shown),
        ),
    )


def _sequence(*steps: Step, output: Value = None) -> Block:
    index = MappingProxyType({step.name: number for number, step in enumerate(steps)})
    return Block(kind="seq", steps=steps, output=output, index=index)


def _write(given: Mapping[str, Any] | None) -> Step:
    """Nothing may change but the files of the interfaces themselves."""
    if given is not None:
        return Step("interfaces", Write(frozen(given)), touches=tuple(feature_functions.files(given)))
    return Step("interfaces", Write(_INTERFACES), touches=Call("_files", (_INTERFACES,)))


def _phases(plan: Plan) -> Step:
    """Before a design has answered, nobody knows what a phase needs of the others: then one by one."""
    designed = plan.raw.design is not None
    items: Value = Call("_phases", (_FEATURE, Const(designed)))
    if plan.data is not None:
        items = plan.site.value(feature_functions.phases(plan.data, strict=designed), plan.raw.at("build"))
    line = plan.site.line(plan.raw.path)
    body = Step("phases", _sequence(*_phase(plan)), has_worker=True, line=line)
    verb = ForEach(
        items=items,
        body=body,
        name="phase",
        key=Field(_PHASE, "id"),
        needs=Field(_PHASE, "needs"),
        parallel=plan.width,
    )
    return Step("phases", verb, has_worker=True, line=line)


def _phase(plan: Plan) -> Iterator[Step]:
    if plan.raw.design is None:
        yield _components(plan, _PHASE)
        return
    yield _design(plan, plan.raw.design)
    answer = Field(Field(Name("steps"), "design"), "output")
    detailed = Call("_designed", (_PHASE, answer))
    names = (("interfaces", Field(detailed, "interfaces")),)
    yield replace(_write(None), parameters=names)
    yield replace(_components(plan, detailed), parameters=names)


def _design(plan: Plan, raw: RawStep) -> Step:
    step = plan.compile_step(plan.site, "design", raw, {"design": 0})
    if raw.output is not None:
        return step
    schema = schema_of(plan.site, "Phase", raw.path)
    return replace(step, output=Output(kind="schema", schema=schema, schema_name="Phase"))


def _components(plan: Plan, phase: Node) -> Step:
    rule: Any = plan.raw.pass_ or "all"
    join: Any = plan.raw.join or "queue"
    verb = ForEach(
        items=Call("_components", (phase,)),
        body=_component(plan),
        name="component",
        key=Field(_COMPONENT, "id"),
        needs=Field(_COMPONENT, "needs"),
        parallel=plan.width,
        rule=rule,
        join=join,
    )
    return Step("components", verb, has_worker=True, line=plan.site.line(plan.raw.path))


def _component(plan: Plan) -> Step:
    """The step that was written, held to the component's files and to the interfaces."""
    raw = plan.raw.component
    assert raw is not None
    claim = Field(_COMPONENT, "touches")
    inside = replace(plan.site, claim=claim, protect=(*plan.site.protect, *_locked(plan)))
    body = plan.compile_step(inside, "component", raw, {"component": 0})
    others = tuple(_overriding(replace(plan, site=inside), raw))
    if others:
        body = _alternatives(inside, body, others)
    own = claim if body.touches is None else body.touches
    return replace(body, touches=own, gates=with_commands(body.gates, _checks(plan)))


def _locked(plan: Plan) -> tuple[Value, ...]:
    known = plan.interfaces
    if known is None:
        return (Call("_files", (_INTERFACES,)),)
    return tuple(feature_functions.files(known))


def _checks(plan: Plan) -> tuple[Step, ...]:
    """The commands that prove, after every component, that the interfaces still hold."""
    known = plan.interfaces
    if known is not None:
        commands = {name: interface["check"] for name, interface in known.items() if interface["check"]}
        return tuple(_command(f"interface_{name}", tuple(argv)) for name, argv in commands.items())
    loop = ForEach(
        items=Call("_checks", (_INTERFACES,)),
        body=_command("interfaces", (Name("check"),)),
        name="check",
    )
    return (Step("interfaces", loop, touches=()),)


def _command(name: str, argv: tuple[Value, ...]) -> Step:
    return Step(name, Command(argv), timeout=COMMAND_TIMEOUT, touches=())


def _overriding(plan: Plan, base: RawStep) -> Iterator[tuple[str, Step]]:
    """For each component that says more than its data: when it is meant, and the step that builds it."""
    phases = plan.feature.phases if plan.feature is not None else {}
    for phase_name, phase in phases.items():
        for name, component in phase.components.items():
            if set(component.written_keys()) - _DATA:
                meant = f"component.phase == '{phase_name}' and component.id == '{name}'"
                step_name = f"{phase_name}_{name}"
                merged = overridden(base, component)
                yield meant, plan.compile_step(plan.site, step_name, merged, {step_name: 0})


def overridden(base: RawStep, component: RawStep) -> RawStep:
    """The step with the component's keys in place of its own; a new verb replaces the old one."""
    said = {attribute_name(key): component.get(key) for key in component.written_keys() if key not in _DATA}
    if component.verb is not None and component.verb != base.verb:
        said = {attribute_name(verb): None for verb in VERBS} | said
    return base.with_values(said)


def _alternatives(site: CompileContext, usual: Step, others: tuple[tuple[str, Step], ...]) -> Step:
    """One of several steps, chosen by the component; its result is that of the one that ran."""
    neither = " and ".join(f"not ({meant})" for meant, _ in others)
    steps = [replace(usual, when=site.expression(neither, ()))]
    steps += [replace(step, when=site.expression(meant, ())) for meant, step in others]
    chosen = "null"
    for step in steps:
        chosen = f"default(steps.{step.name}.output, {chosen})"
    output = site.expression(chosen, ())
    return Step("component", _sequence(*steps, output=output), has_worker=True, line=usual.line)
