"""Checks every text of a file: braces (18), scripts (19), prompts (20), and what they read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from podium.core.types import CONTINUING_OUTCOMES
from podium.workflow.context import WorkflowSource, data_at
from podium.workflow.expressions.parser import has_insert, has_jinja
from podium.workflow.lint.analysis.assigned_agents import AssignedAgent, assigned_agents
from podium.workflow.lint.analysis.computed_settings import Violation
from podium.workflow.lint.analysis.file_facts import FileFacts
from podium.workflow.lint.analysis.names import infer_items
from podium.workflow.lint.analysis.scope import Place, Scope
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite
from podium.workflow.lint.analysis.text_fields import TextField, text_fields
from podium.workflow.lint.analysis.visible_steps import visible_step
from podium.workflow.lint.rules.expression_reads import check_expression, check_value
from podium.workflow.lint.rules.prompts import check_prompt
from podium.workflow.problems import Problem, did_you_mean
from podium.workflow.schema.file import Role
from podium.workflow.schema.step import Gate

SECTIONS: Final[Mapping[str, Place]] = {"outputs": "outputs", "vars": "top", "agents": "top"}
"""Parts of the file that contain values."""

WHOLE: Final = frozenset("when needs on for_each repeat parallel pass join cancel limits".split())
"""Keys that apply to a repeated step as a whole."""

SHOWABLE: Final = ("diff", "verdicts", "findings", "tests", "cost", "risk")
"""What a person can be shown besides steps and files."""

PLACES: Final[Mapping[tuple[str, str], Place]] = {
    ("for_each", "where"): "items",
    ("for_each", "key"): "items",
    ("for_each", "needs"): "items",
    ("repeat", "until"): "until",
    ("repeat", "while"): "while",
    ("on", "message"): "after",
}


def check(survey: FileSurvey) -> Iterator[Problem]:
    facts = FileFacts(survey)
    infer_items(facts)
    yield from _file(facts)
    yield from _shared(facts)
    for site in survey.sites:
        yield from _step(facts, site)
        yield from _gates(facts, site)
    for assigned in assigned_agents(survey):
        yield from _role_texts(facts, assigned)


def _file(facts: FileFacts) -> Iterator[Problem]:
    """Texts at the top, outside of every step."""
    context = facts.survey.context
    for section, place in SECTIONS.items():
        data = context.raw.get(section)
        if isinstance(data, Mapping):
            # Below these keys every text is a value, as below `with`.
            for field in text_fields({"with": data}, (), frozenset()):
                placed = replace(field, path=(section, *field.path[1:]))
                yield from _check_field(context, Scope(facts, None, place), placed)
    for section in ("limits", "policies"):
        data = context.raw.get(section)
        for field in text_fields({section: data}, (), context.broken) if data else ():
            if field.kind == "value":
                yield from _check_field(context, Scope(facts, None, "top"), field)
    if context.file.subject is not None:
        field = TextField(("subject",), context.file.subject, "value", "subject", "subject")
        yield from _check_field(context, Scope(facts, None, "subject"), field)
    for name, rules in context.file.policies.items():
        for number, rule in enumerate(rules):
            if rule.when is not None:
                field = TextField(("policies", name, number, "when"), rule.when, "expression", "when", "when")
                yield from _check_field(context, Scope(facts, None, "policy"), field)


def _shared(facts: FileFacts) -> Iterator[Problem]:
    """Roles and named gates by themselves; their reads of steps are checked where they are used."""
    context = facts.survey.context
    for section in ("roles", "gates"):
        for shared in context.file.get(section).values():
            data = data_at(context.raw, shared.path)
            scope = Scope(facts, None, "shared", role=shared if isinstance(shared, Role) else None)
            for field in text_fields(data, shared.path, context.broken):
                yield from _check_field(context, scope, field)


def _step(facts: FileFacts, site: StepSite) -> Iterator[Problem]:
    for field in text_fields(site.data, site.step.path, site.context.broken):
        if field.top != "gates":
            yield from _check_field(site.context, Scope(facts, site, _place(site, field)), field)

    for key in ("of", "show"):
        for number, name in enumerate(site.step.get(key) or ()):
            yield from _step_names(Scope(facts, site, "inside"), site, key, number, name)


def _step_names(scope: Scope, site: StepSite, key: str, number: int, name: str) -> Iterator[Problem]:
    """Checks step names outside of expressions; `show` may also have a path, so only a likely typo is reported."""
    visible = visible_step(scope, name)
    suggestion = did_you_mean(name, (*site.block.steps, *SHOWABLE))
    if visible.type is not None or (
        key == "show" and visible.rule == 15 and (name in SHOWABLE or not suggestion)
    ):
        return
    message = f"show: {visible.message}" if key == "show" and visible.rule == 15 else visible.message
    yield site.problem(
        visible.rule,
        key,
        number,
        message=message,
        hint=visible.hint or (suggestion if visible.rule == 15 else ""),
    )


def _place(site: StepSite, field: TextField) -> Place:
    if field.top == "output" and field.key == "output" and site.step.verb in {"steps", "build"}:
        return "result"
    if field.top == "on" and field.key in ("when", "feedback"):
        outcome = field.path[len(site.step.path) + 1]
        return "after" if outcome in CONTINUING_OUTCOMES else "after_failure"
    return PLACES.get((field.top, field.key), "whole" if field.top in WHOLE else "inside")


def _gates(facts: FileFacts, site: StepSite) -> Iterator[Problem]:
    """All gates of a step; those of a role and named ones may be in another file."""
    for gate in site.gates():
        context = site.context if gate in site.step.gates else facts.survey.context
        scope = Scope(facts, site, "inside", gate=gate)
        for field in text_fields(data_at(context.raw, gate.path), gate.path, context.broken):
            yield from _check_field(context, scope, field)


def _role_texts(facts: FileFacts, assigned: AssignedAgent) -> Iterator[Problem]:
    """The texts of a role, as they are read in the step that uses it."""
    role, context = assigned.worker.known_role, facts.survey.context
    if role is None:
        return
    gate = assigned.judge if isinstance(assigned.judge, Gate) else None
    scope = Scope(facts, assigned.site, "inside", gate=gate, role=role)
    own = (assigned.judge or assigned.site.step).prompt
    for key, text in (("system", role.system), ("prompt", role.prompt if own is None else None)):
        if text is not None and role.at(key) not in context.broken:
            yield from _check_field(context, scope, TextField(role.at(key), text, "template", key, key))


def _check_field(context: WorkflowSource, scope: Scope, field: TextField) -> Iterator[Problem]:
    violations = tuple(_brace_violations(field))
    if field.kind == "template" and not violations:
        yield from check_prompt(context, scope, field)
        return
    for violation in violations or _read_violations(scope, field):
        yield context.problem(
            violation.rule, field.path, violation.message, hint=violation.hint, warning=violation.warning
        )


def _brace_violations(field: TextField) -> Iterator[Violation]:
    """Rules 18 and 19."""
    match field.kind:
        case "expression" if has_insert(field.text) or has_jinja(field.text):
            yield Violation(18, f'"{field.key}" is an expression; remove the braces')
        case "value" if has_jinja(field.text) and not _is_foreign(field.text):
            yield Violation(18, '"{{ }}" in a value; write "${{ }}"')
        case "template" if has_insert(field.text):
            yield Violation(18, '"${{ }}" in a prompt; write "{{ }}"')
        case "plain" if has_insert(field.text):
            yield Violation(18, f'"${{{{ }}}}" has no effect in "{field.key}"', "write the value itself")
        case "script" if has_insert(field.text):
            yield Violation(19, "a script cannot contain ${{ }}; pass values in env")


def _is_foreign(text: str) -> bool:
    """Whether the text has templates of Go, as docker and gh take them; they begin with a dot, which ours never do."""
    return all(re.match(r"\s*[.]", part) for part in text.split("{{")[1:])


def _read_violations(scope: Scope, field: TextField) -> Iterator[Violation]:
    if field.kind == "expression":
        yield from check_expression(scope, field.text, field.key)
    elif field.kind == "value":
        yield from check_value(scope, field.text, field.key)
