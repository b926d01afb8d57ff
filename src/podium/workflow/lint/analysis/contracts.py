"""The output contract of a step as a type, and schemas that cannot be read (16)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from podium.fast_dataclass import dataclass
from podium.workflow.context import WorkflowSource
from podium.workflow.contracts.builtin import ANY_JSON, TYPES, hint_for
from podium.workflow.expressions.types import (
    ANY,
    TEXT,
    Choice,
    ListOf,
    ShorthandError,
    Type,
    from_json_schema,
    parse_shorthand,
)
from podium.workflow.lint.analysis.assigned_agents import roles_of
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite
from podium.workflow.problems import Problem
from podium.workflow.schema.parts import Output

Kind: TypeAlias = Literal["text", "lines", "json", "schema", "choice"]


@dataclass(frozen=True, slots=True)
class Contract:
    kind: Kind
    type: Type


TEXT_CONTRACT: Final = Contract("text", TEXT)
WORDS: Final[Mapping[str, Contract]] = {
    "text": TEXT_CONTRACT,
    "lines": Contract("lines", ListOf(TEXT)),
    "json": Contract("json", ANY),
}


def check(survey: FileSurvey) -> Iterator[Problem]:
    context = survey.context
    for role in context.file.roles.values():
        yield from _check_schema(context, role.output)
    for site in survey.sites:
        yield from _check_schema(site.context, site.step.output)


def _check_schema(context: WorkflowSource, output: Output | str | None) -> Iterator[Problem]:
    schema = output.get("schema") if isinstance(output, Output) else None
    if schema in (None, ANY_JSON) or not isinstance(output, Output):
        return
    if not isinstance(schema, str):
        try:
            parse_shorthand(schema, named_types=TYPES)
        except ShorthandError as error:
            yield context.problem(16, (*output.at("schema"), *error.path), error.message, hint=error.hint)
    elif schema not in TYPES and schema not in context.schemas and not _is_reported(context, schema):
        message = f"schema {schema} does not exist"
        yield context.problem(16, output.at("schema"), message, hint=hint_for(schema))


def _is_reported(context: WorkflowSource, schema: str) -> bool:
    """Whether the file exists; that it is not JSON was reported when it was read."""
    return "/" in schema and (context.project / schema).is_file()


def contract_of(site: StepSite) -> Contract:
    """The contract of the step, else of its role; the design of a phase answers with a Phase."""
    base = Contract("schema", TYPES["Phase"]) if site.block.part == "design" else TEXT_CONTRACT
    if site.step.verb == "agent":
        for role in roles_of(site):
            base = _apply_output(site.context, role.output, base)
    return _apply_output(site.context, site.step.output, base)


def _apply_output(context: WorkflowSource, output: Output | str | None, base: Contract) -> Contract:
    if isinstance(output, str):
        return WORDS.get(output, base)
    if output is None:
        return base
    if output.choice is not None:
        return Contract("choice", Choice(output.choice))
    schema = output.get("schema")
    if schema == ANY_JSON:
        return WORDS[ANY_JSON]
    return base if schema is None else Contract("schema", schema_type(context, schema))


def schema_type(context: WorkflowSource, schema: str | Mapping[str, Any] | Sequence[Any]) -> Type:
    """ANY for a schema that cannot be read, which is reported once at its place."""
    if not isinstance(schema, str):
        try:
            return parse_shorthand(schema, named_types=TYPES)
        except ShorthandError:
            return ANY
    definition = context.schemas.get(schema)
    return TYPES.get(schema, ANY) if definition is None else from_json_schema(definition)
