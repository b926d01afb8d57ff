"""What only an attempt needs: context, walls and tools, the file's, the role's and the step's put together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from podium.core.expressions.templates import Value
from podium.core.model import Fields, Output
from podium.workflow.compile.values import CompileContext, fields, frozen
from podium.workflow.contracts.builtin import BUILTIN, TYPES
from podium.workflow.expressions.types import ShorthandError, parse_shorthand, to_json_schema
from podium.workflow.schema import parts
from podium.workflow.schema.fields import DocPath, Raw
from podium.workflow.schema.file import Role
from podium.workflow.schema.step import Step, StepOrGate


def settings(site: CompileContext, step: StepOrGate, role: Role | None = None) -> Fields:
    """Complete for the step: nobody has to look at the file or the role again."""
    file = site.context.file
    return fields(
        {
            **(_for_worker(site, step, role) if step.verb in {"agent", "review"} else {}),
            **({"workspace": _map(site, file.workspace, step.workspace)} if isinstance(step, Step) else {}),
            "protect": (
                *file.protect,
                *_own_files(site),
                *site.protect,
                *site.values(step.protect, step.at("protect")),
            ),
            "dir": site.value(step.dir, step.at("dir")),
            "sandbox": _map(site, file.sandbox, role.sandbox if role is not None else None, step.sandbox),
            "network": network(site, step, role),
            "secrets": step.secrets,
            "env": (*file.env, *site.values(step.env, step.at("env"))),
            "runs_on": step.runs_on or (role.runs_on if role is not None else None),
        }
    )


def _for_worker(site: CompileContext, step: StepOrGate, role: Role | None) -> dict[str, Any]:
    """What is packed for an agent, and what it may use."""
    own = role.context if role is not None else None
    tools = step.tools if isinstance(step, Step) else None
    return {
        "context": _context(site, site.context.file.context, own, step.context),
        "tools": tools or (role.tools if role is not None else None),
        "system": _system(site, role),
        "candidates": role.candidates if role is not None else None,
    }


def _own_files(site: CompileContext) -> Iterator[str]:
    """The workflow and its prompts, wherever in the project they lie: who edits them decides what is asked next."""
    context = site.context
    written = Path(context.origin(()).file)
    place = written if written.is_absolute() else Path.cwd() / written
    if place.is_relative_to(
        context.project
    ):  # pragma: no branch (roles are also checked without any workflow)
        yield place.relative_to(context.project).as_posix()
    yield from context.texts


def network(site: CompileContext, step: StepOrGate, role: Role | None) -> str | tuple[str, ...] | None:
    for found in (step.network, role.network if role is not None else None, site.context.file.network):
        if found is not None:
            return found
    return None


def _system(site: CompileContext, role: Role | None) -> Fields | None:
    if role is None or role.system is None:
        return None
    prompt = site.prompt(role.system, role.at("system"))
    return fields({"text": prompt.text, "file": prompt.file})


def _context(site: CompileContext, *layers: parts.Context | None) -> Fields | None:
    """Lists append, the nearest word wins."""
    found: dict[str, Any] = {}
    for layer in filter(None, layers):
        for key in layer.written_keys():
            here = site.value(layer.get(key), layer.at(key))
            found[key] = (*found.get(key, ()), *here) if isinstance(here, tuple) else here
    return fields(found) if found else None


def _map(site: CompileContext, *layers: Raw | None) -> Fields | None:
    found: dict[str, Value] = {}
    for layer in filter(None, layers):
        found |= {key: site.value(layer.get(key), layer.at(key)) for key in layer.written_keys()}
    return fields(found) if found else None


def parameters(site: CompileContext, raw: StepOrGate, role: Role | None) -> tuple[tuple[str, Value], ...]:
    """The role's parameters with the step's values."""
    own = dict(site.pairs(role.with_, role.at("with"))) if role is not None else {}
    given = dict(site.pairs(raw.with_, raw.at("with"))) if isinstance(raw, Step) else {}
    return tuple((own | given).items())


def output(site: CompileContext, step: Step, role: Role | None = None) -> Output:
    """The step's contract on top of its role's; a word replaces the kind and nothing else."""
    found = Output()
    for raw, path in (
        (role.output, role.at("output")) if role is not None else (None, ()),
        (step.output, step.at("output")),
    ):
        if isinstance(raw, parts.Output):
            found = _contract(site, raw, found)
        elif raw is not None and "${{" not in raw:
            found = _word(site, raw, path, found)
    return found


def picked(site: CompileContext, raw: Step | None) -> Value:
    if raw is None or not isinstance(raw.output, str) or "${{" not in raw.output:
        return None
    return site.value(raw.output, raw.at("output"))


def _word(site: CompileContext, word: str, path: DocPath, base: Output) -> Output:
    match word:
        case "text" | "lines" | "json":
            return Output(kind=word, file=base.file, files=base.files)
        case _:
            site.problem(2, path, '"output" must be text, lines, json or a map')
            return base


def _contract(site: CompileContext, raw: parts.Output, base: Output) -> Output:
    file = site.value(raw.file, raw.at("file")) if raw.file is not None else base.file
    files = site.values(raw.files, raw.at("files")) if raw.files is not None else base.files
    if raw.choice is not None:
        return Output(kind="choice", choices=raw.choice, file=file, files=files)
    if raw.schema is not None:
        name = raw.schema if isinstance(raw.schema, str) else None
        schema = schema_of(site, raw.schema, raw.at("schema"))
        return Output(kind="schema", schema=schema, schema_name=name, file=file, files=files)
    return Output(base.kind, base.schema, base.schema_name, base.choices, file, files)


def schema_of(site: CompileContext, raw: str | Mapping[str, Any], path: DocPath) -> Fields:
    """The JSON Schema that a name, a file or a short hand stands for."""
    if isinstance(raw, Mapping):
        return _shorthand(site, raw, path)
    found = BUILTIN.get(raw) or site.context.schemas.get(raw)
    if found is None:
        site.problem(
            16, path, f"there is no schema {raw}", hint=f"one of {', '.join(BUILTIN)}, a file or a map"
        )
        return fields({})
    return fields(frozen(found))


def _shorthand(site: CompileContext, raw: Mapping[str, Any], path: DocPath) -> Fields:
    try:
        return fields(frozen(to_json_schema(parse_shorthand(raw, named_types=TYPES))))
    except ShorthandError as error:
        site.problem(16, (*path, *error.path), error.message, hint=error.hint)
        return fields({})
