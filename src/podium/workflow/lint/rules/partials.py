"""Rule 20 for partials that a user or a project replaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podium.workflow.lint.analysis.survey import FileSurvey
from podium.workflow.problems import Problem
from podium.workflow.prompts.partials import PARTIALS, PROMPT_RULE, SUFFIX, OwnPartial, Partial
from podium.workflow.prompts.prompt import Prompt, PromptError


def check(survey: FileSurvey) -> Iterator[Problem]:
    texts = survey.context.partial_texts()
    for own in survey.context.partials:
        spec = PARTIALS.get(own.name.removesuffix(SUFFIX))
        # Any other partial is checked with the prompt that includes it, because it reads the names of that prompt.
        if spec is not None:
            yield from _check(own, spec, texts)


def _check(own: OwnPartial, spec: Partial, texts: Mapping[str, str]) -> Iterator[Problem]:
    # Imported only if there is such a partial.
    from podium.workflow.prompts.render import parse_prompt

    try:
        prompt = parse_prompt(own.text, folder=None, name=own.name, partials=texts)
    except PromptError as error:
        yield Problem(own.display_name, error.line, 1, PROMPT_RULE, error.message, error.hint or "")
    else:
        yield from _unknown_reads(own, spec, prompt)
        yield from _missing_reads(own, spec, prompt)


def _unknown_reads(own: OwnPartial, spec: Partial, prompt: Prompt) -> Iterator[Problem]:
    for reference in prompt.references:
        name, *inner = reference.chain
        fields = spec.names.get(name, ())
        if name not in spec.names or (inner and inner[0] not in fields):
            message = f"this partial reads {'.'.join(reference.chain)}, which is not available to it"
            available = [f"{name}.{field}" for field in fields] or list(spec.names)
            hint = f"available: {', '.join(available)}"
            yield Problem(own.display_name, reference.line, 1, PROMPT_RULE, message, hint)


def _missing_reads(own: OwnPartial, spec: Partial, prompt: Prompt) -> Iterator[Problem]:
    names_read = {reference.chain[0] for reference in prompt.references}
    for name in spec.needed:
        if name not in names_read:
            hint = f"it must use: {', '.join(spec.needed)}"
            yield Problem(own.display_name, 1, 1, PROMPT_RULE, f"this partial does not use {name}", hint)
