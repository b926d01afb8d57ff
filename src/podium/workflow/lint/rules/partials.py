"""Rule 20 for the parts of prompts that are Podium's own, in the words of a user or a project."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podium.workflow.lint.analysis.survey import FileSurvey
from podium.workflow.problems import Problem
from podium.workflow.prompts.partials import PARTIALS, PROMPT_RULE, SUFFIX, OwnPartial, Partial
from podium.workflow.prompts.prompt import Prompt, PromptError


def check(survey: FileSurvey) -> Iterator[Problem]:
    texts = survey.context.partial_texts()
    for own in survey.context.partials:
        known = PARTIALS.get(own.name.removesuffix(SUFFIX))
        # Any other is checked with the prompt that includes it, whose names it reads.
        if known is not None:
            yield from _check(own, known, texts)


def _check(own: OwnPartial, known: Partial, texts: Mapping[str, str]) -> Iterator[Problem]:
    # Imported only where somebody has written one.
    from podium.workflow.prompts.render import parse_prompt

    try:
        prompt = parse_prompt(own.text, folder=None, name=own.name, partials=texts)
    except PromptError as error:
        yield Problem(own.display_name, error.line, 1, PROMPT_RULE, error.message, error.hint or "")
    else:
        yield from _read_too_much(own, known, prompt)
        yield from _read_too_little(own, known, prompt)


def _read_too_much(own: OwnPartial, known: Partial, prompt: Prompt) -> Iterator[Problem]:
    for reference in prompt.references:
        name, *inner = reference.chain
        fields = known.names.get(name, ())
        if name not in known.names or (inner and inner[0] not in fields):
            message = f"this partial reads {'.'.join(reference.chain)}, which it is not given"
            given = [f"{name}.{field}" for field in fields] or list(known.names)
            hint = f"it is given {', '.join(given)}"
            yield Problem(own.display_name, reference.line, 1, PROMPT_RULE, message, hint)


def _read_too_little(own: OwnPartial, known: Partial, prompt: Prompt) -> Iterator[Problem]:
    read = {reference.chain[0] for reference in prompt.references}
    for name in known.needed:
        if name not in read:
            hint = f"what an agent is told would be of no use without: {', '.join(known.needed)}"
            yield Problem(own.display_name, 1, 1, PROMPT_RULE, f"this partial does not say {name}", hint)
