"""Routes: targets that exist (7), outcomes that can happen (8), strict files (30), rejections (40)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podium.core.types import CONTINUING_OUTCOMES, OUTCOMES, ROUTABLE, Outcome
from podium.workflow.lint.analysis.control_flow import is_above
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite
from podium.workflow.lint.rules.naming import TARGETS
from podium.workflow.outcomes import possible_outcomes
from podium.workflow.problems import Problem, did_you_mean, listed
from podium.workflow.schema.step import VERBS

WORDS: Final = (*(outcome for outcome in OUTCOMES if outcome in ROUTABLE), "else")


def check(survey: FileSurvey) -> Iterator[Problem]:
    for site in survey.sites:
        possible = possible_outcomes(site.step, site.gates())
        for word, route in site.step.on.items():
            yield from _outcome(site, word, possible)
            yield from _target(site, word, route.target)
        if survey.context.file.strict and not site.block.is_body:
            yield from _strict(site, possible)


def _outcome(site: StepSite, word: str, possible: tuple[Outcome, ...]) -> Iterator[Problem]:
    """Rule 8."""
    verb = verb_of(site)
    failures = [outcome for outcome in possible if outcome not in CONTINUING_OUTCOMES]
    if word not in WORDS:
        hint = did_you_mean(word, WORDS)
        yield site.problem(8, "on", word, message=f'"{word}" is not an outcome', hint=hint, key=True)
    elif word == "skipped" and word not in possible:
        hint = 'only a step with "when" is skipped'
        yield site.problem(8, "on", word, message=f'"{verb}" never ends "skipped"', hint=hint, key=True)
    elif word == "else" and not failures:
        yield site.problem(8, "on", word, message=f'"{verb}" never fails', hint='leave out "else"', key=True)
    elif word != "else" and word not in possible:
        hint = f"it ends {listed(possible, 'or')}"
        yield site.problem(8, "on", word, message=f'"{verb}" never ends "{word}"', hint=hint, key=True)


def verb_of(site: StepSite) -> str:
    """As it was written."""
    return next((verb for verb in VERBS if site.step.get(verb) is not None), "step")


def _target(site: StepSite, word: str, target: str) -> Iterator[Problem]:
    """Rule 7 for what does not exist, rule 11 for what the order of the block does not allow."""
    label, block = f'on.{word} of "{site.name}"', site.block
    if target not in TARGETS and target not in block.steps:
        hint = did_you_mean(target, (*block.steps, *TARGETS))
        message = f'{label}: step "{target}" does not exist in this block'
        yield site.problem(7, "on", word, message=message, hint=hint)
    elif block.kind == "par" and target not in {"next", "fail"}:
        message = f"{label}: a parallel block has no order; it leads to next or fail"
        yield site.problem(11, "on", word, message=message)
    elif block.kind == "dag" and target in block.steps:
        if not is_above(block, target, site.name):
            yield site.problem(11, "on", word, message=f'{label}: "{target}" does not come before it')
    elif block.kind == "dag" and target in {"end", "break"}:
        message = f"{label}: with needs it leads to next, fail or a step before it"
        yield site.problem(11, "on", word, message=message)
    elif target == "break" and not _is_in_loop(site):
        yield site.problem(7, "on", word, message=f"{label}: there is no loop to break")


def _is_in_loop(site: StepSite) -> bool:
    """`on` of a loop speaks about the whole of it, so only a loop further out counts."""
    around = list(site.around())[1:]
    return any(outer.step.for_each is not None or outer.step.repeat is not None for outer in around)


def _strict(site: StepSite, possible: tuple[Outcome, ...]) -> Iterator[Problem]:
    """Rule 30. `skipped` goes on like a step that is not there, so nobody has to route it."""
    on = site.step.on
    open_ = [
        outcome
        for outcome in possible
        if outcome not in on and outcome != "skipped" and (outcome in CONTINUING_OUTCOMES or "else" not in on)
    ]
    if open_ and site.step.verb is not None:
        quoted = listed([f'"{outcome}"' for outcome in open_], "and")
        yield site.problem(30, message=f'strict: "{site.name}" does not route {quoted}', key=True)


def check_rejections(survey: FileSurvey) -> Iterator[Problem]:
    """A person who says no has decided; a reviewer that says no usually wants another round."""
    for site in survey.sites:
        if site.step.verb == "review" and "rejected" not in site.step.on and not _is_caught(site):
            message = f'rejection of "{site.name}" ends the run; route it with on: {{rejected: ...}}'
            yield site.warning(40, message=message)


def _is_caught(site: StepSite) -> bool:
    """Whether the step, or one around it, has an answer to its failure."""
    looped = site.step.for_each is not None and _catches(site)
    return looped or "else" in site.step.on or any(_catches(outer) for outer in list(site.around())[1:])


def _catches(site: StepSite) -> bool:
    on = site.step.on
    few = site.step.pass_ not in {None, "all"}
    return few or "failed" in on or "partial" in on or "else" in on
