"""Lists of conditions in `on`: one entry always applies (45), and no branch runs into another one (46)."""

from __future__ import annotations

from collections.abc import Iterator

from podium.core.expressions.nodes import Compare, Const, ExprError, Node
from podium.workflow.expressions.inference import TypeProblem
from podium.workflow.expressions.parser import ExpressionError, parse_expression
from podium.workflow.expressions.types import Choice, Type
from podium.workflow.lint.analysis.file_facts import FileFacts
from podium.workflow.lint.analysis.names import infer_items, type_of
from podium.workflow.lint.analysis.scope import Scope
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite
from podium.workflow.problems import Problem
from podium.workflow.schema.routes import Route


def check(survey: FileSurvey) -> Iterator[Problem]:
    lists = [
        (site, word, route) for site in survey.sites for word, route in site.step.on.items() if route.choices
    ]
    if not lists:
        return
    facts = FileFacts(survey)
    infer_items(facts)
    for site, word, route in lists:
        yield from _check_last(facts, site, word, route)
        yield from _check_branches(site, word, route)


def _check_last(facts: FileFacts, site: StepSite, word: str, route: Route) -> Iterator[Problem]:
    for number, entry in enumerate(route.choices[:-1]):
        if entry.when is None:
            message = f'on.{word} of "{site.name}": entries after one without when are never used'
            yield site.problem(45, "on", word, number + 1, message=message)
            return
    if route.choices[-1].when is not None and not _covers_all(facts, site, route):
        message = f'on.{word} of "{site.name}": the last entry has a when, so it may be that none applies'
        yield site.problem(
            45, "on", word, message=message, hint="end the list with {to: ...} for all other cases"
        )


def _covers_all(facts: FileFacts, site: StepSite, route: Route) -> bool:
    """Whether the conditions compare one value with each of the values that it can have."""
    nodes = [_parsed(entry.when or "") for entry in route.choices]
    compared = {node.left for node in nodes if _is_equality(node) and isinstance(node, Compare)}
    if len(compared) != 1 or not all(_is_equality(node) for node in nodes):
        return False
    [value] = compared
    kind = _type(facts, site, value)
    words = {
        node.right.value for node in nodes if isinstance(node, Compare) and isinstance(node.right, Const)
    }
    return isinstance(kind, Choice) and set(kind.values) <= words


def _parsed(text: str) -> Node | None:
    try:
        return parse_expression(text)
    except ExpressionError:
        return None  # Reported with its place by the check of texts.


def _is_equality(node: Node | None) -> bool:
    return isinstance(node, Compare) and node.op == "==" and isinstance(node.right, Const)


def _type(facts: FileFacts, site: StepSite, node: Node) -> Type | None:
    try:
        return type_of(Scope(facts, site, "after"), node)
    except (TypeProblem, ExprError):
        return None


def _check_branches(site: StepSite, word: str, route: Route) -> Iterator[Problem]:
    """In a sequence, a branch continues with the step below it, which may be the beginning of another branch."""
    block = site.block
    if block.kind != "seq":
        return
    names, order = list(block.steps), block.order
    targets = {entry.target for entry in route.choices if order.get(entry.target, -1) > order[site.name]}
    for target in sorted(targets, key=lambda name: order[name]):
        number = order[target]
        while number + 1 < len(names) and "passed" not in block.steps[names[number]].on:
            number += 1
            if names[number] in targets:
                last = names[number - 1]
                message = (
                    f'on.{word} of "{site.name}": the branch of "{target}" runs into "{names[number]}", '
                    "another branch of the list"
                )
                hint = f'say where "{last}" leads: on: {{passed: end}}, {{passed: next}} or a step'
                yield site.problem(46, "on", word, message=message, hint=hint)
                break
