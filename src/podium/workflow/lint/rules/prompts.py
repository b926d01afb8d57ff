"""Rule 20: a prompt exists, can be read as a template, and reads only what somebody declared.

What is wrong inside a prompt file is told with the line of that file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from podium.core import model
from podium.workflow.context import WorkflowSource
from podium.workflow.expressions.parser import has_insert
from podium.workflow.lint.analysis.scope import Scope
from podium.workflow.lint.analysis.text_fields import TextField
from podium.workflow.lint.rules.expression_reads import Complaint, check_reference
from podium.workflow.lint.rules.paths import leads_out
from podium.workflow.problems import Problem
from podium.workflow.prompts.partials import FOLDER as PARTIALS
from podium.workflow.prompts.prompt import Prompt, PromptError, plain_prompt
from podium.workflow.source.files import display_name

FOLDER = "prompts"
"""Where a prompt that is no file itself includes from."""


def check_prompt(context: WorkflowSource, scope: Scope, spot: TextField) -> Iterator[Problem]:
    written = context.prompt(spot.text)
    if written is None:
        if not leads_out(context, spot.text):
            yield context.problem(20, spot.path, f"{spot.text} does not exist")
        return
    if has_insert(written.text):
        yield _at(context, spot, Complaint(18, '"${{ }}" in a prompt; write "{{ }}"'), written.file or "", 1)
        return
    prompt = _parsed(context, scope, written)
    if isinstance(prompt, PromptError):
        yield _at(context, spot, Complaint(20, prompt.message, prompt.hint or ""), prompt.file, prompt.line)
    else:
        yield from _reads(context, scope, spot, prompt)


def _parsed(context: WorkflowSource, scope: Scope, written: model.Prompt) -> Prompt | PromptError:
    """A text that is no file of its own has an empty name."""
    name, known = written.file or "", scope.know.prompts
    if (written.text, name) not in known:
        folder = context.project / (Path(name).parent if name else FOLDER)
        try:
            known[written.text, name] = _parse(written.text, folder, name, context.partial_texts())
        except PromptError as error:
            known[written.text, name] = error
    return known[written.text, name]


def _parse(text: str, folder: Path, name: str, partials: Mapping[str, str]) -> Prompt:
    plain = plain_prompt(text, name=name)
    if plain is not None:
        return plain
    # Imported only for a text with tags: the library that reads them takes as long as all the rest of a small file.
    from podium.workflow.prompts.render import parse_prompt

    return parse_prompt(text, folder=folder, name=name, partials=partials)


def _reads(context: WorkflowSource, scope: Scope, spot: TextField, prompt: Prompt) -> Iterator[Problem]:
    told: set[tuple[str, ...]] = set()
    for reference in prompt.references:
        for complaint in check_reference(scope, reference):
            thing = reference.chain[: 2 if complaint.rule != 16 else None]
            if thing not in told:
                told.add(thing)
                worded = _worded(complaint, reference.chain)
                yield _at(context, spot, worded, reference.file, reference.line)


def _worded(complaint: Complaint, chain: tuple[str, ...]) -> Complaint:
    """A name that means nothing is a matter of the prompt, since roles and files are written apart from steps."""
    if complaint.rule != 15:
        return complaint
    message = f"prompt reads {'.'.join(chain)}, which nobody declared"
    return Complaint(20, message, complaint.hint or complaint.message)


def _at(context: WorkflowSource, spot: TextField, complaint: Complaint, file: str, line: int) -> Problem:
    """In the prompt file if it is one; else at the text in the workflow."""
    found = context.problem(complaint.rule, spot.path, complaint.message, hint=complaint.hint)
    if not file:
        return found
    own = next((own for own in context.partials if file == f"{PARTIALS}/{own.name}"), None)
    if own is not None:
        return replace(found, file=own.display_name, line=line, col=1)
    base = None if Path(found.file).is_absolute() else Path.cwd()
    path = context.project / file
    return replace(found, file=display_name(path.absolute(), base), line=line, col=1)
