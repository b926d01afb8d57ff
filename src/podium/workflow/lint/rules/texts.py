"""Every text of a file in its place: brackets (18), scripts (19), prompts (20), and what they read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from podium.workflow.context import WorkflowSource, data_at
from podium.workflow.expressions.parser import has_insert, has_jinja
from podium.workflow.lint.analysis.assigned_agents import AssignedAgent, players
from podium.workflow.lint.analysis.file_facts import FileFacts
from podium.workflow.lint.analysis.names import learn_items
from podium.workflow.lint.analysis.scope import Place, Scope
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite
from podium.workflow.lint.analysis.text_fields import TextField, spots
from podium.workflow.lint.analysis.visible_steps import visible_steps
from podium.workflow.lint.rules.expression_reads import Complaint, check_expression, check_value
from podium.workflow.lint.rules.prompts import check_prompt
from podium.workflow.problems import Problem, did_you_mean
from podium.workflow.schema.file import Role
from podium.workflow.schema.step import Gate

SECTIONS: Final[Mapping[str, Place]] = {"outputs": "outputs", "vars": "top", "agents": "top"}
"""Parts of the file that hold values."""

WHOLE: Final = frozenset("when needs on for_each repeat parallel pass join limits".split())
"""On a repeated step these speak about the whole of it."""

SHOWN: Final = ("diff", "verdicts", "findings", "tests", "cost", "risk")
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
    know = FileFacts(survey)
    learn_items(know)
    yield from _file(know)
    yield from _shared(know)
    for site in survey.sites:
        yield from _step(know, site)
        yield from _gates(know, site)
    for player in players(survey):
        yield from _played(know, player)


def _file(know: FileFacts) -> Iterator[Problem]:
    """What stands at the top, outside of every step."""
    context = know.survey.context
    for section, place in SECTIONS.items():
        data = context.raw.get(section)
        if isinstance(data, Mapping):
            # Below these keys every text is a value, as it is below `with`.
            for spot in spots({"with": data}, (), frozenset()):
                here = replace(spot, path=(section, *spot.path[1:]))
                yield from _spot(context, Scope(know, None, place), here)
    for name, rules in context.file.policies.items():
        for number, rule in enumerate(rules):
            if rule.when is not None:
                spot = TextField(("policies", name, number, "when"), rule.when, "expression", "when", "when")
                yield from _spot(context, Scope(know, None, "policy"), spot)


def _shared(know: FileFacts) -> Iterator[Problem]:
    """Roles and named gates, which stand for themselves; what they read of steps is checked where they are used."""
    context = know.survey.context
    for section in ("roles", "gates"):
        for shared in context.file.get(section).values():
            data = data_at(context.raw, shared.path)
            scope = Scope(know, None, "shared", role=shared if isinstance(shared, Role) else None)
            for spot in spots(data, shared.path, context.broken):
                yield from _spot(context, scope, spot)


def _step(know: FileFacts, site: StepSite) -> Iterator[Problem]:
    for spot in spots(site.data, site.step.path, site.context.broken):
        if spot.top != "gates":
            yield from _spot(site.context, Scope(know, site, _place(site, spot)), spot)

    for key in ("of", "show"):
        for number, name in enumerate(site.step.get(key) or ()):
            yield from _mentioned(Scope(know, site, "inside"), site, key, number, name)


def _mentioned(scope: Scope, site: StepSite, key: str, number: int, name: str) -> Iterator[Problem]:
    """Steps that are named outside of expressions. What is shown may also be a path, so only a slip is told."""
    seen = visible_steps(scope, name)
    slip = did_you_mean(name, (*site.block.steps, *SHOWN))
    if seen.type is not None or (key == "show" and seen.rule == 15 and (name in SHOWN or not slip)):
        return
    message = f"show: {seen.message}" if key == "show" and seen.rule == 15 else seen.message
    yield site.problem(
        seen.rule, key, number, message=message, hint=seen.hint or (slip if seen.rule == 15 else "")
    )


def _place(site: StepSite, spot: TextField) -> Place:
    if spot.top == "output" and spot.key == "output" and site.step.verb in {"steps", "build"}:
        return "result"
    return PLACES.get((spot.top, spot.key), "whole" if spot.top in WHOLE else "inside")


def _gates(know: FileFacts, site: StepSite) -> Iterator[Problem]:
    """All that judge a step; those of a role and the named ones may stand in another file."""
    for gate in site.gates():
        context = site.context if gate in site.step.gates else know.survey.context
        scope = Scope(know, site, "inside", gate=gate)
        for spot in spots(data_at(context.raw, gate.path), gate.path, context.broken):
            yield from _spot(context, scope, spot)


def _played(know: FileFacts, player: AssignedAgent) -> Iterator[Problem]:
    """The texts of a role, as they are read in the step where it is played."""
    role, context = player.worker.known_role, know.survey.context
    if role is None:
        return
    gate = player.judge if isinstance(player.judge, Gate) else None
    scope = Scope(know, player.site, "inside", gate=gate, role=role)
    own = (player.judge or player.site.step).prompt
    for key, text in (("system", role.system), ("prompt", role.prompt if own is None else None)):
        if text is not None and role.at(key) not in context.broken:
            yield from _spot(context, scope, TextField(role.at(key), text, "template", key, key))


def _spot(context: WorkflowSource, scope: Scope, spot: TextField) -> Iterator[Problem]:
    found = tuple(_brackets(spot))
    if spot.kind == "template" and not found:
        yield from check_prompt(context, scope, spot)
        return
    for complaint in found or _complaints(scope, spot):
        yield context.problem(complaint.rule, spot.path, complaint.message, hint=complaint.hint)


def _brackets(spot: TextField) -> Iterator[Complaint]:
    """Rules 18 and 19."""
    match spot.kind:
        case "expression" if has_insert(spot.text) or has_jinja(spot.text):
            yield Complaint(18, f'"{spot.key}" is an expression; remove the braces')
        case "value" if has_jinja(spot.text) and not _is_foreign(spot.text):
            yield Complaint(18, '"{{ }}" in a value; write "${{ }}"')
        case "template" if has_insert(spot.text):
            yield Complaint(18, '"${{ }}" in a prompt; write "{{ }}"')
        case "plain" if has_insert(spot.text):
            yield Complaint(18, f'"${{{{ }}}}" is not inserted into "{spot.key}"', "write the value itself")
        case "script" if has_insert(spot.text):
            yield Complaint(19, "values may not be inserted into a script; pass them by env")


def _is_foreign(text: str) -> bool:
    """Templates of Go, as docker and gh take them, begin with a dot, which none of ours does."""
    return all(re.match(r"\s*[.]", part) for part in text.split("{{")[1:])


def _complaints(scope: Scope, spot: TextField) -> Iterator[Complaint]:
    if spot.kind == "expression":
        yield from check_expression(scope, spot.text, spot.key)
    elif spot.kind == "value":
        yield from check_value(scope, spot.text)
