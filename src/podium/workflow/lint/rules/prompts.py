"""Rule 20: a prompt exists, can be parsed as a template, and reads only declared names.

Problems inside a prompt file are reported with the line of that file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from podium.core import step_settings
from podium.workflow.context import WorkflowSource
from podium.workflow.expressions.parser import has_insert
from podium.workflow.lint.analysis.computed_settings import Violation
from podium.workflow.lint.analysis.scope import Scope
from podium.workflow.lint.analysis.text_fields import TextField
from podium.workflow.lint.rules.expression_reads import check_reference
from podium.workflow.lint.rules.paths import may_leave_project
from podium.workflow.problems import Problem
from podium.workflow.prompts.partials import FOLDER as PARTIALS
from podium.workflow.prompts.prompt import Prompt, PromptError, plain_prompt
from podium.workflow.source.files import display_name

FOLDER = "prompts"
"""The folder that a prompt without a file includes from."""


def check_prompt(context: WorkflowSource, scope: Scope, field: TextField) -> Iterator[Problem]:
    prompt_source = context.prompt(field.text)
    if prompt_source is None:
        if not may_leave_project(context, field.text):
            yield context.problem(20, field.path, f"{field.text} does not exist")
        return
    if has_insert(prompt_source.text):
        yield _problem_in_prompt(
            context, field, Violation(18, '"${{ }}" in a prompt; write "{{ }}"'), prompt_source.file or "", 1
        )
        return
    prompt = _parse_cached(context, scope, prompt_source)
    if isinstance(prompt, PromptError):
        yield _problem_in_prompt(
            context, field, Violation(20, prompt.message, prompt.hint or ""), prompt.file, prompt.line
        )
    else:
        yield from _reads(context, scope, field, prompt)


def _parse_cached(
    context: WorkflowSource, scope: Scope, prompt_source: step_settings.Prompt
) -> Prompt | PromptError:
    """The parsed prompt, cached; a text without a file has an empty name."""
    name, cache = prompt_source.file or "", scope.facts.prompts
    if (prompt_source.text, name) not in cache:
        folder = context.project / (Path(name).parent if name else FOLDER)
        try:
            cache[prompt_source.text, name] = _parse(
                prompt_source.text, folder, name, context.partial_texts()
            )
        except PromptError as error:
            cache[prompt_source.text, name] = error
    return cache[prompt_source.text, name]


def _parse(text: str, folder: Path, name: str, partials: Mapping[str, str]) -> Prompt:
    plain = plain_prompt(text, name=name)
    if plain is not None:
        return plain
    # Imported only for a text with tags: importing Jinja takes as long as everything else for a small file.
    from podium.workflow.prompts.render import parse_prompt

    return parse_prompt(text, folder=folder, name=name, partials=partials)


def _reads(context: WorkflowSource, scope: Scope, field: TextField, prompt: Prompt) -> Iterator[Problem]:
    reported: set[tuple[str, ...]] = set()
    for reference in prompt.references:
        for violation in check_reference(scope, reference):
            thing = reference.chain[: 2 if violation.rule != 16 else None]
            if thing not in reported:
                reported.add(thing)
                reworded = _reword(violation, reference.chain)
                yield _problem_in_prompt(context, field, reworded, reference.file, reference.line)


def _reword(violation: Violation, chain: tuple[str, ...]) -> Violation:
    """An unknown name is reported as a problem of the prompt, because roles and prompt files are written apart from steps."""
    if violation.rule != 15:
        return violation
    message = f"the prompt reads {'.'.join(chain)}, which is not declared"
    return Violation(20, message, violation.hint or violation.message)


def _problem_in_prompt(
    context: WorkflowSource, field: TextField, violation: Violation, file: str, line: int
) -> Problem:
    """A problem at its line in the prompt file, or at the text in the workflow."""
    problem = context.problem(
        violation.rule, field.path, violation.message, hint=violation.hint, warning=violation.warning
    )
    if not file:
        return problem
    own = next((own for own in context.partials if file == f"{PARTIALS}/{own.name}"), None)
    if own is not None:
        return replace(problem, file=own.display_name, line=line, col=1)
    base = None if Path(problem.file).is_absolute() else Path.cwd()
    path = context.project / file
    return replace(problem, file=display_name(path.absolute(), base), line=line, col=1)
