"""Routes: targets that do not exist (7), impossible outcomes (8), strict files (30), rejections (40)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podium.core.types import CONTINUING_OUTCOMES, OUTCOMES, ROUTABLE, Outcome
from podium.workflow.lint.analysis.control_flow import is_above
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite
from podium.workflow.lint.rules.naming import TARGETS
from podium.workflow.outcomes import possible_outcomes
from podium.workflow.problems import Problem, did_you_mean, join_words
from podium.workflow.schema.routes import Route, entry_paths
from podium.workflow.schema.step import VERBS

WORDS: Final = (*(outcome for outcome in OUTCOMES if outcome in ROUTABLE), "else")


def check(survey: FileSurvey) -> Iterator[Problem]:
    for site in survey.sites:
        possible = possible_outcomes(site.step, site.gates(), merged=site.is_merged)
        for word, route in site.step.on.items():
            yield from _outcome(site, word, possible)
            for path, entry in entry_paths(route):
                yield from _target(site, (word, *path), entry)
        if survey.context.file.strict and not site.block.is_body:
            # Claims keep the work of parallel steps apart, so a conflict needs no route.
            yield from _strict(site, possible_outcomes(site.step, site.gates()))


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
        yield site.problem(8, "on", word, message=f'"{verb}" never fails', hint='remove "else"', key=True)
    elif word != "else" and word not in possible:
        hint = f"it can end {join_words(possible, 'or')}"
        yield site.problem(8, "on", word, message=f'"{verb}" never ends "{word}"', hint=hint, key=True)


def verb_of(site: StepSite) -> str:
    """The verb as written."""
    return next((verb for verb in VERBS if site.step.get(verb) is not None), "step")


def _target(site: StepSite, place: tuple[str | int, ...], route: Route) -> Iterator[Problem]:
    """Rule 7 for targets that do not exist, rule 11 for targets that the order of the block does not allow."""
    label, block, target = f'on.{place[0]} of "{site.name}"', site.block, route.target
    if route.keeps_work and (
        target not in block.steps or place[0] in CONTINUING_OUTCOMES or block.kind != "seq"
    ):
        message = f"{label}: start: work is for a step of a sequence that a failure leads to"
        yield site.problem(11, "on", *place, message=message)
    if target not in TARGETS and target not in block.steps:
        hint = did_you_mean(target, (*block.steps, *TARGETS))
        message = f'{label}: step "{target}" does not exist in this block'
        yield site.problem(7, "on", *place, message=message, hint=hint)
    elif block.kind == "par" and target not in {"next", "fail"}:
        message = f"{label}: a step of a parallel block can lead only to next or fail"
        yield site.problem(11, "on", *place, message=message)
    elif block.kind == "dag" and target in block.steps:
        if not is_above(block, target, site.name):
            yield site.problem(11, "on", *place, message=f'{label}: "{target}" does not come before it')
    elif block.kind == "dag" and target in {"end", "break"}:
        message = f"{label}: a step with needs can lead only to next, fail or a step before it"
        yield site.problem(11, "on", *place, message=message)
    elif target == "break" and not _is_in_loop(site):
        yield site.problem(7, "on", *place, message=f"{label}: the step is not inside a loop")


def _is_in_loop(site: StepSite) -> bool:
    """Whether the step is in a loop; `on` of a loop applies to the whole loop, so only outer loops count."""
    around = list(site.around())[1:]
    return any(outer.step.for_each is not None or outer.step.repeat is not None for outer in around)


def _strict(site: StepSite, possible: tuple[Outcome, ...]) -> Iterator[Problem]:
    """Rule 30; `skipped` needs no route, because the run continues as without the step."""
    on = site.step.on
    unrouted = [
        outcome
        for outcome in possible
        if outcome not in on and outcome != "skipped" and (outcome in CONTINUING_OUTCOMES or "else" not in on)
    ]
    if unrouted and site.step.verb is not None:
        quoted = join_words([f'"{outcome}"' for outcome in unrouted], "and")
        yield site.problem(30, message=f'strict: "{site.name}" does not route {quoted}', key=True)


def check_rejections(survey: FileSurvey) -> Iterator[Problem]:
    """Rule 40: a person who rejects has decided, but a reviewer that rejects usually wants another round."""
    for site in survey.sites:
        if site.step.verb == "review" and "rejected" not in site.step.on and not _is_handled(site):
            message = f'a rejection by "{site.name}" ends the run; route it with on: {{rejected: ...}}'
            yield site.warning(40, message=message)


def _is_handled(site: StepSite) -> bool:
    """Whether the step, or one around it, handles its failure."""
    is_handled_loop = site.step.for_each is not None and _handles_failure(site)
    return (
        is_handled_loop
        or "else" in site.step.on
        or any(_handles_failure(outer) for outer in list(site.around())[1:])
    )


def _handles_failure(site: StepSite) -> bool:
    on = site.step.on
    needs_only_some = site.step.pass_ not in {None, "all"}
    return needs_only_some or "failed" in on or "partial" in on or "else" in on
