"""Compiles a feature to blocks and loops: first the interfaces, then the phases with their components.

feature                 block that defines `feature` and `interfaces`
  interfaces            writes their files, if no phase that waits for earlier ones has any
  phases                for_each phase, in the order of the barriers
    phase               block
      design            answers with the phase in detail, if the build has one
      interfaces        otherwise: writes those that hold in this phase
      components        for_each component, in the order of their needs
        component       the step as written
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from podium.core.expressions import feature_functions
from podium.core.expressions.nodes import Call, Const, Field, Name, Node
from podium.core.expressions.templates import Value
from podium.core.model import Block, Command, ForEach, Output, Step, Write
from podium.core.policy import Count
from podium.fast_dataclass import dataclass
from podium.workflow.compile import policy
from podium.workflow.compile.gates import compile_gates, with_commands
from podium.workflow.compile.settings import block_output, output, schema_of
from podium.workflow.compile.step_defaults import retry_layers
from podium.workflow.compile.values import CompileContext, freeze
from podium.workflow.defaults import COMMAND_TIMEOUT, OTHER_RETRY
from podium.workflow.schema.fields import attribute_name
from podium.workflow.schema.step import VERBS, Feature
from podium.workflow.schema.step import Step as RawStep

CompileStep = Callable[[CompileContext, str, RawStep, Mapping[str, int]], Step]

_ITEM_KEYS: Final = frozenset({"needs", "description", "touches"})
"""Keys of a component that are part of the loop item; all others override the step that builds it."""

_FEATURE: Final = Name("feature")
_PHASE: Final = Name("phase")
_COMPONENT: Final = Name("component")
_INTERFACES: Final = Name("interfaces")


@dataclass(frozen=True, slots=True)
class Plan:
    """A build that is being expanded; `data` is None if the feature is known only at run time."""

    context: CompileContext
    raw: RawStep
    width: Count
    compile_step: CompileStep
    feature: Feature | None
    data: Mapping[str, Any] | None

    @property
    def interfaces(self) -> Mapping[str, Any] | None:
        """All interfaces, if they are known and hold from the start."""
        if self.data is None or self.raw.design is not None:
            return None
        if feature_functions.has_later_interfaces(self.data):
            return None
        return feature_functions.interfaces(self.data)


def build_step(
    context: CompileContext, name: str, raw: RawStep, width: Count, compile_step: CompileStep
) -> Step:
    data = context.source.feature_data(raw)
    plan = Plan(context, raw, width, compile_step, context.source.feature(raw), data)
    interfaces = plan.interfaces
    children = [_phases(plan)]
    if interfaces:
        children.insert(0, Step("interfaces", Write(freeze(interfaces)), touches=_files_of(interfaces)))
    visible = Call("_interfaces", (_FEATURE,)) if interfaces is None else freeze(interfaces)
    return Step(
        name=name,
        verb=_sequence(*children, output=block_output(context, raw)),
        gates=compile_gates(context, raw),
        retry=policy.retry(context, retry_layers(context, raw), OTHER_RETRY),
        timeout=context.duration(raw.timeout, raw.at("timeout")),
        output=output(context, raw),
        touches=None if raw.touches is None else context.globs(raw.touches, raw.at("touches")),
        has_worker=True,
        parameters=(
            ("feature", context.value(raw.build if data is None else data, raw.at("build"))),
            ("interfaces", visible),
        ),
    )


def _sequence(*steps: Step, output: Value = None) -> Block:
    index = MappingProxyType({step.name: number for number, step in enumerate(steps)})
    return Block(kind="seq", steps=steps, output=output, index=index)


def _files_of(interfaces: Mapping[str, Any]) -> tuple[Value, ...]:
    return tuple(feature_functions.files(interfaces))


def _phases(plan: Plan) -> Step:
    """The loop over the phases; with a design the needs of a phase are unknown beforehand, so phases run one by one."""
    has_design = plan.raw.design is not None
    items: Value = Call("_phases", (_FEATURE, Const(has_design)))
    if plan.data is not None:
        items = plan.context.value(
            feature_functions.phases(plan.data, strict=has_design), plan.raw.at("build")
        )
    line = plan.context.line(plan.raw.path)
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
    """The steps of a phase; `interfaces` are those that hold in it."""
    phase: Node = _PHASE
    locked: Node = Field(_PHASE, "locked")
    if plan.raw.design is not None:
        yield _design(plan, plan.raw.design)
        phase = Call("_designed", (_PHASE, Field(Field(Name("steps"), "design"), "output")))
        locked = Field(phase, "interfaces")
    elif plan.interfaces is not None:
        yield _components(plan, _PHASE)
        return
    names = (("interfaces", locked),)
    yield Step("interfaces", Write(_INTERFACES), touches=Call("_files", (_INTERFACES,)), parameters=names)
    yield replace(_components(plan, phase), parameters=names)


def _design(plan: Plan, raw: RawStep) -> Step:
    step = plan.compile_step(plan.context, "design", raw, {"design": 0})
    if raw.output is not None:
        return step
    schema = schema_of(plan.context, "Phase", raw.path)
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
    return Step("components", verb, has_worker=True, line=plan.context.line(plan.raw.path))


def _component(plan: Plan) -> Step:
    """The step as written, restricted to the component's files and to the interfaces."""
    raw = plan.raw.component
    assert raw is not None
    claim = Field(_COMPONENT, "touches")
    locked = _interface_files(plan)
    protect = (*plan.context.protect, *locked)
    inside = replace(plan.context, claim=claim, protect=protect, interfaces=locked)
    body = plan.compile_step(inside, "component", raw, {"component": 0})
    others = tuple(_overrides(replace(plan, context=inside), raw))
    if others:
        body = _alternatives(inside, body, others)
    own = claim if body.touches is None else body.touches
    return replace(body, touches=own, gates=with_commands(body.gates, _checks(plan)))


def _interface_files(plan: Plan) -> tuple[Value, ...]:
    interfaces = plan.interfaces
    if interfaces is None:
        return (Call("_files", (_INTERFACES,)),)
    return _files_of(interfaces)


def _checks(plan: Plan) -> tuple[Step, ...]:
    """The commands that check the interfaces after every component."""
    interfaces = plan.interfaces
    if interfaces is not None:
        commands = {name: interface["check"] for name, interface in interfaces.items() if interface["check"]}
        return tuple(_command(f"interface_{name}", tuple(argv)) for name, argv in commands.items())
    loop = ForEach(
        items=Call("_checks", (_INTERFACES,)),
        body=_command("interfaces", (Name("check"),)),
        name="check",
    )
    return (Step("interfaces", loop, touches=()),)


def _command(name: str, argv: tuple[Value, ...]) -> Step:
    return Step(name, Command(argv), timeout=COMMAND_TIMEOUT, touches=())


def _overrides(plan: Plan, base: RawStep) -> Iterator[tuple[str, Step]]:
    """For each component with keys besides its data: the condition that selects it, and the step that builds it."""
    phases = plan.feature.phases if plan.feature is not None else {}
    for phase_name, phase in phases.items():
        for name, component in phase.components.items():
            if set(component.written_keys()) - _ITEM_KEYS:
                condition = f"component.phase == '{phase_name}' and component.id == '{name}'"
                step_name = f"{phase_name}_{name}"
                merged = override_step(base, component)
                yield condition, plan.compile_step(plan.context, step_name, merged, {step_name: 0})


def override_step(base: RawStep, component: RawStep) -> RawStep:
    """The step with the component's keys in place of its own; a new verb replaces the old one."""
    values = {
        attribute_name(key): component.get(key) for key in component.written_keys() if key not in _ITEM_KEYS
    }
    if component.verb is not None and component.verb != base.verb:
        values = {attribute_name(verb): None for verb in VERBS} | values
    return base.with_values(values)


def _alternatives(context: CompileContext, default: Step, others: tuple[tuple[str, Step], ...]) -> Step:
    """One of several steps, selected by the component; its result is that of the step that ran."""
    neither = " and ".join(f"not ({condition})" for condition, _ in others)
    steps = [replace(default, when=context.expression(neither, ()))]
    steps += [replace(step, when=context.expression(condition, ())) for condition, step in others]
    result = "null"
    for step in steps:
        result = f"default(steps.{step.name}.output, {result})"
    output = context.expression(result, ())
    return Step("component", _sequence(*steps, output=output), has_worker=True, line=default.line)
