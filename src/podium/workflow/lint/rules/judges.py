"""Judging: missing work (26), phrases (27), policies (32), gates by name (36)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podium.core.expressions.nodes import Call, Name
from podium.core.expressions.templates import walk
from podium.core.types import LEVELS
from podium.workflow.context import WorkflowSource
from podium.workflow.expressions.parser import ExpressionError, parse_expression
from podium.workflow.lint.analysis.contracts import contract_of
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite, judged_names, judged_steps
from podium.workflow.lint.rules.file_claims import changes_files
from podium.workflow.problems import Problem, did_you_mean
from podium.workflow.schema.parts import DocPath
from podium.workflow.schema.scalars import INSERT
from podium.workflow.schema.step import Gate, StepOrGate
from podium.workflow.workers import workers_of

VERBS_WITHOUT_WORK: Final = frozenset({"human", "check", "wait", "set", "continue_as"})
"""Verbs without a result that could be judged, unless they have an `output`."""


def check(survey: FileSurvey) -> Iterator[Problem]:
    yield from _policies(survey.context)
    yield from _gate_names(survey)
    for gate in survey.context.file.gates.values():
        yield from _level(survey.context, gate)
    for site in survey.sites:
        yield from _level(site.context, site.step)
        if site.step.verb == "review":
            yield from _judged(survey, site)
        if site.step.verb == "human":
            yield from _change_policies(site)
        for entry in site.step.gates:
            if isinstance(entry, Gate):
                yield from _level(site.context, entry)
        for gate in site.gates():
            yield from _unbound(gate, site, site)


def _judged(survey: FileSurvey, site: StepSite) -> Iterator[Problem]:
    """Rule 26; names that do not exist or come later are reported as reads."""
    if not judged_names(site):
        message = f'"{site.name}" has no step before it to judge; name one with of'
        yield site.problem(26, "review", message=message, key=True)
    for judged in judged_steps(survey, site):
        verb = judged.step.verb
        if verb in VERBS_WITHOUT_WORK and judged.step.output is None:
            key = "of" if site.step.of is not None else "review"
            message = f'"{site.name}" judges "{judged.name}", which produces nothing'
            yield site.problem(26, key, message=message, key=key == "review")
        else:
            yield from _unbound(site.step, site, judged)


def _unbound(judge: StepOrGate, site: StepSite, judged: StepSite) -> Iterator[Problem]:
    """Rule 27: a phrase or a quality gate names no tree, so it proves nothing about files; a value has no last line."""
    key = "phrase" if judge.phrase is not None else "verdict"
    if judge.phrase is None and judge.verdict != "quality_gate":
        return
    place, subject = judge.at(key), "phrase" if key == "phrase" else "verdict: quality_gate"
    workers = workers_of(judged.context, judged.step) if judged.step.verb == "agent" else ()
    writes = any(changes_files(judged, worker.known_role) for worker in workers)
    if writes or judged.step.touches or judged.step.verb in {"steps", "workflow", "build", "git"}:
        yield site.context.problem(27, place, f"{subject} cannot approve a step that changes files")
    elif key == "phrase" and contract_of(judged).kind != "text":
        yield site.context.problem(27, place, "phrase cannot approve a step whose output is not text")


def _policies(context: WorkflowSource) -> Iterator[Problem]:
    """Rule 32."""
    for name, rules in context.file.policies.items():
        path: DocPath = ("policies", name)
        if not rules or rules[-1].when is not None:
            message = f'policy "{name}" must end with a rule without when'
            yield context.problem(32, path, message, hint="- {level: human}", key=True)
        for number, rule in enumerate(rules[:-1]):
            if rule.when is None:
                message = f'policy "{name}": rules after one without when are never used'
                yield context.problem(32, (*path, number), message)
        if name in LEVELS:
            yield context.problem(
                32, path, f'"{name}" is a level; choose another name for the policy', key=True
            )


def _level(context: WorkflowSource, judge: StepOrGate) -> Iterator[Problem]:
    levels = (*LEVELS, *context.file.policies)
    if judge.level is not None and INSERT not in judge.level and judge.level not in levels:
        hint = did_you_mean(judge.level, levels)
        yield context.problem(
            32, judge.at("level"), f'level or policy "{judge.level}" does not exist', hint=hint
        )


def _change_policies(site: StepSite) -> Iterator[Problem]:
    """A human step judges no change, so a rule about a change cannot apply to it."""
    level = str(site.step.level)
    rules = site.context.file.policies.get(level, ())
    if any(rule.when is not None and _is_about_change(rule.when) for rule in rules):
        message = f'policy "{level}" reads a change, but "{site.name}" judges none'
        hint = "make it a gate of the step whose change it judges, or a review"
        yield site.context.problem(32, site.step.at("level"), message, hint=hint)


def _is_about_change(when: str) -> bool:
    try:
        nodes = tuple(walk(parse_expression(when)))
    except ExpressionError:
        # Reported at its own place.
        return False
    return any(
        node == Name("change") or (isinstance(node, Call) and node.function == "touched") for node in nodes
    )


def _gate_names(survey: FileSurvey) -> Iterator[Problem]:
    """Rule 36."""
    gates = survey.context.file.gates
    owners: list[tuple[WorkflowSource, tuple[str | Gate, ...], DocPath]] = [
        (survey.context, role.gates, role.at("gates")) for role in survey.context.file.roles.values()
    ]
    owners += [(site.context, site.step.gates, site.step.at("gates")) for site in survey.sites]
    for context, entries, path in owners:
        for number, entry in enumerate(entries):
            if isinstance(entry, str) and entry not in gates:
                hint = did_you_mean(entry, gates)
                yield context.problem(36, (*path, number), f'gate "{entry}" is not defined', hint=hint)
