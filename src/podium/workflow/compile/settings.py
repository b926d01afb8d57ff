"""Compiles settings that only an attempt needs: context, sandbox and tools of the file, the role and the step."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from podium.core.expressions.templates import Value
from podium.core.model import Fields, Output
from podium.core.step_settings import (
    ContextSettings,
    Prompt,
    SandboxSettings,
    StepSettings,
    ToolApproval,
    WorkspaceSettings,
)
from podium.files.project_paths import STATE_DIR
from podium.workflow.compile.values import CompileContext, freeze, present_fields
from podium.workflow.contracts.builtin import ANY_JSON, BUILTIN, TYPES, hint_for
from podium.workflow.defaults import CONTEXT_BUDGET, HOLD
from podium.workflow.expressions.types import ShorthandError, parse_shorthand, to_json_schema
from podium.workflow.schema import parts
from podium.workflow.schema.fields import DocPath, Raw
from podium.workflow.schema.file import Role
from podium.workflow.schema.step import Step, StepOrGate
from podium.workflow.test_gates.steering import all_steering_globs

SETTINGS: Final = "$SETTINGS"
"""In `protect`: the files that steer the known tools."""


def settings(context: CompileContext, step: StepOrGate, role: Role | None = None) -> StepSettings:
    """The complete settings of a step, so that an attempt need not read the file or the role."""
    file = context.source.file
    own_sandbox = role.sandbox if role is not None else None
    return StepSettings(
        dir=context.value(step.dir, step.at("dir")),
        base=context.value(step.base, step.at("base")) if isinstance(step, Step) else None,
        env=(*file.env, *context.values(step.env, step.at("env"))),
        secrets=step.secrets,
        network=network(context, step, role),
        protect=_with_settings(
            (
                *file.protect,
                *_own_files(context),
                *context.protect,
                *context.values(step.protect, step.at("protect")),
            )
        ),
        sandbox=SandboxSettings(**_merge_maps(context, file.sandbox, own_sandbox, step.sandbox)),
        workspace=_workspace(context, step),
        runs_on=step.runs_on or (role.runs_on if role is not None else None) or (),
        baseline=(step.baseline or file.baseline) if step.verb == "run" else None,
        **(_worker_settings(context, step, role) if step.verb in {"agent", "review"} else {}),
    )


def _with_settings(globs: tuple[Value, ...]) -> tuple[Value, ...]:
    """The globs, with the files that steer tools in the place of `$SETTINGS`."""
    if SETTINGS not in globs:
        return globs
    return (*(glob for glob in globs if glob != SETTINGS), *all_steering_globs())


def _workspace(context: CompileContext, step: StepOrGate) -> WorkspaceSettings:
    """The workspace of a step; a gate gets what the judged step needs, set up with the network of that step."""
    file = context.source.file.workspace
    if isinstance(step, Step):
        own = _merge_maps(context, file, step.workspace)
        if step.verb != "agent":
            # Commands and judges see the whole tree.
            own.pop("hide", None)
        return WorkspaceSettings(**own)
    judged = context.judged
    merged = _merge_maps(context, file, None if judged is None else judged.workspace)
    # A gate judges a checkout of the captured tree, also where the step works in the project itself.
    merged.pop("mode", None)
    merged.pop("hide", None)
    if judged is not None and (merged.get("setup") or merged.get("teardown")):
        merged["network"] = network(context, judged, None)
    return WorkspaceSettings(**merged)


def _worker_settings(context: CompileContext, step: StepOrGate, role: Role | None) -> dict[str, Any]:
    """The context files of an agent, and its tools."""
    own = role.context if role is not None else None
    tools = step.tools if isinstance(step, Step) else None
    return {
        "context": _context(context, context.source.file.context, own, step.context),
        "approve": _approval(step),
        "tools": tools or (role.tools if role is not None else None),
        "system": _system(context, role),
        "candidates": (role.candidates if role is not None else None) or (),
    }


def _approval(step: StepOrGate) -> ToolApproval:
    written = step.approve_tools if isinstance(step, Step) else None
    if written is None:
        return ToolApproval()
    return ToolApproval(written.tools, HOLD if written.wait is None else written.wait)


def _own_files(context: CompileContext) -> Iterator[str]:
    """The workflow and its prompts anywhere in the project, because changing them would change what is asked next."""
    source = context.source
    path = os.path.join(os.getcwd(), source.origin(()).file)  # noqa: PTH109, PTH118 (called for every step)
    place = _place_in(source.project, path)
    if place is not None:  # pragma: no branch (roles are also checked without any workflow)
        yield place
    yield from source.texts


@lru_cache(maxsize=8)
def _place_in(project: Path, path: str) -> str | None:
    """The path in the project; None if it is elsewhere."""
    return Path(path).relative_to(project).as_posix() if Path(path).is_relative_to(project) else None


def network(context: CompileContext, step: StepOrGate, role: Role | None) -> str | tuple[str, ...] | None:
    for setting in (step.network, role.network if role is not None else None, context.source.file.network):
        if setting is not None:
            return setting
    return None


def _system(context: CompileContext, role: Role | None) -> Prompt | None:
    if role is None or role.system is None:
        return None
    return context.prompt(role.system, role.at("system"))


def _context(context: CompileContext, *layers: parts.Context | None) -> ContextSettings:
    """Merges layers: lists are appended, other values replaced by the nearest; no budget exceeds `max_budget`.

    The target is the input with that name unless a layer names another one.
    """
    merged: dict[str, Any] = {}
    for layer in filter(None, layers):
        for key in layer.written_keys():
            if key == "strategy":
                # The nearest one counts, whichever form it has.
                merged |= _strategy(context, layer)
                continue
            value = context.value(layer.get(key), layer.at(key))
            merged[key] = (*merged.get(key, ()), *value) if isinstance(value, tuple) else value
    if merged and "target" not in merged and "target" in (context.source.file.inputs or {}):
        merged["target"] = (context.value("${{ default(inputs.target, '') }}", ()),)
    if context.interfaces:
        merged["interfaces"] = context.interfaces
    largest = merged.pop("max_budget", None)
    if largest is not None:
        merged["budget"] = min(merged.get("budget", CONTEXT_BUDGET), largest)
    return ContextSettings(**merged)


def _strategy(context: CompileContext, layer: parts.Context) -> dict[str, Any]:
    if isinstance(layer.strategy, parts.StrategyCommand):
        argv = context.values(layer.strategy.command, layer.strategy.at("command"))
        return {"strategy": None, "command": argv}
    return {"strategy": context.value(layer.strategy, layer.at("strategy")), "command": ()}


def _merge_maps(context: CompileContext, *layers: Raw | None) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for layer in filter(None, layers):
        merged |= {key: context.value(layer.get(key), layer.at(key)) for key in layer.written_keys()}
    return merged


def parameters(context: CompileContext, raw: StepOrGate, role: Role | None) -> tuple[tuple[str, Value], ...]:
    """The role's parameters with the step's values."""
    own = dict(context.pairs(role.with_, role.at("with"))) if role is not None else {}
    values = dict(context.pairs(raw.with_, raw.at("with"))) if isinstance(raw, Step) else {}
    return tuple((own | values).items())


def output(context: CompileContext, step: Step, role: Role | None = None) -> Output:
    """The step's contract on top of its role's; a plain word replaces only the kind."""
    contract = Output()
    for raw, path in (
        (role.output, role.at("output")) if role is not None else (None, ()),
        (step.output, step.at("output")),
    ):
        if isinstance(raw, parts.Output):
            contract = _contract(context, raw, contract)
        elif raw is not None and "${{" not in raw:
            contract = _output_word(context, raw, path, contract)
    return contract


def block_output(context: CompileContext, raw: Step | None) -> Value:
    if raw is None or not isinstance(raw.output, str) or "${{" not in raw.output:
        return None
    return context.value(raw.output, raw.at("output"))


def _output_word(context: CompileContext, word: str, path: DocPath, base: Output) -> Output:
    match word:
        case "text" | "lines" | "json":
            return Output(kind=word, file=base.file, files=base.files, folder=base.folder)
        case _:
            is_schema = word in BUILTIN or word in context.source.schemas
            hint = (
                f"write {{schema: {word}}}"
                if is_schema
                else "for typed fields write {schema: {name: string}}"
            )
            context.problem(2, path, '"output" must be text, lines, json or a map', hint=hint)
            return base


def _contract(context: CompileContext, raw: parts.Output, base: Output) -> Output:
    file = context.value(raw.file, raw.at("file")) if raw.file is not None else base.file
    files = context.values(raw.files, raw.at("files")) if raw.files is not None else base.files
    folder = context.value(raw.folder, raw.at("folder")) if raw.folder is not None else base.folder
    if folder is not None and file is None:
        context.problem(5, raw.at("folder"), '"folder" needs "file": it is where that file is written')
    if isinstance(folder, str) and STATE_DIR in folder.split("/"):
        message = f"output.folder cannot be in {STATE_DIR}, which has Podium's own files"
        context.problem(24, raw.at("folder"), message)
    if raw.choice is not None:
        base = Output(kind="choice", choices=raw.choice)
    elif raw.schema == ANY_JSON:
        base = Output("json")
    elif raw.schema is not None:
        name = raw.schema if isinstance(raw.schema, str) else None
        base = Output("schema", schema_of(context, raw.schema, raw.at("schema")), name)
    return replace(base, file=file, files=files, folder=folder)


def schema_of(context: CompileContext, raw: str | Mapping[str, Any] | Sequence[Any], path: DocPath) -> Fields:
    """The JSON Schema for a name, a file or shorthand."""
    if not isinstance(raw, str):
        return _shorthand(context, raw, path)
    schema = BUILTIN.get(raw) or context.source.schemas.get(raw)
    if schema is None:
        context.problem(16, path, f"schema {raw} does not exist", hint=hint_for(raw))
        return present_fields({})
    return present_fields(freeze(schema))


def _shorthand(context: CompileContext, raw: Mapping[str, Any] | Sequence[Any], path: DocPath) -> Fields:
    try:
        return present_fields(freeze(to_json_schema(parse_shorthand(raw, named_types=TYPES))))
    except ShorthandError as error:
        context.problem(16, (*path, *error.path), error.message, hint=error.hint)
        return present_fields({})
