"""Prompts: sandboxed Jinja2 templates over the names of expressions, checked when loaded, bounded when rendered.

A prompt is read once with everything it includes; rendering reads no file. Values are data: they are written into the
text and never read as templates.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, Final

import jinja2
from jinja2 import nodes

from podium.core.expressions.values import MAX_TEXT, ExprError, Json, Meter, MissingValue
from podium.fast_dataclass import dataclass
from podium.workflow.prompts import checks
from podium.workflow.prompts.environment import MAX_WORK, RENDERING, PromptEnvironment, Rendering
from podium.workflow.prompts.partials import FOLDER, shipped_partial
from podium.workflow.prompts.prompt import Prompt, PromptError, PromptReference

__all__ = ["Prompt", "PromptError", "PromptReference", "parse_prompt", "render"]

MAX_INCLUDES: Final = 20
MAX_TAGS: Final = 5000

Fact = Callable[[tuple[str, str]], Json]

_NO_PARTIALS: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _IncludeSources:
    """Where included files are looked up."""

    folder: Path | None
    partials: Mapping[str, str]


def parse_prompt(
    text: str, *, folder: Path | None, name: str, partials: Mapping[str, str] = _NO_PARTIALS
) -> Prompt:
    """Checks the text, all files of the folder that it includes, and its partials; `partials` replace shipped ones.

    Raises PromptError.
    """
    files: dict[str, str] = {}
    references = _read_includes(name, text, _IncludeSources(folder, partials), files, ())
    return Prompt(name, tuple(files.items()), tuple(dict.fromkeys(references)))


def render(
    prompt: Prompt, names: Mapping[str, Any], *, fact: Fact | None = None, max_chars: int = MAX_TEXT
) -> str:
    """The text, of at most `max_chars` characters. `fact` answers `exists` and `glob`.

    Raises PromptError; NeedFact is passed through.
    """
    meter = Meter(MAX_WORK)
    try:
        template, weight = _compile(prompt)
        meter.spend(weight)
        values = _values(prompt, names)
        rendering = Rendering(meter, fact or _no_facts, lambda: values.get("change"))
        return _join_bounded(template.generate({**values, RENDERING: rendering}), prompt, max_chars)
    except (jinja2.TemplateError, ExprError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise _render_error(error, prompt) from error


def _no_facts(query: tuple[str, str]) -> Json:
    raise MissingValue(f"{query[0]} is not available here")


def _values(prompt: Prompt, names: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the names that the prompt reads, as far as they exist."""
    values: dict[str, Any] = {}
    for name in dict.fromkeys(reference.chain[0] for reference in prompt.references):
        try:
            values[name] = names[name]
        except (KeyError, MissingValue):
            # An error only if the value is really read: `default` and `is defined` may handle its absence.
            continue
    return values


def _join_bounded(pieces: Iterable[str], prompt: Prompt, max_chars: int) -> str:
    parts: list[str] = []
    size = 0
    for piece in pieces:
        parts.append(piece)
        size += len(piece)
        if size > max_chars:
            raise PromptError(f"the rendered text exceeds {max_chars} characters", 1, file=prompt.name)
    return "".join(parts)


def _render_error(error: Exception, prompt: Prompt) -> PromptError:
    names = {name for name, _ in prompt.files}
    places = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in names]
    line, file = (places[-1].lineno or 1, places[-1].filename) if places else (1, prompt.name)
    message = str(error)
    if isinstance(error, jinja2.UndefinedError):
        message = str(MissingValue(message.replace("'", '"')))
    elif isinstance(error, TypeError):
        message = "a filter or test got arguments that it does not take"
    return PromptError(message, line, file=file)


def _read_includes(
    name: str, text: str, sources: _IncludeSources, files: dict[str, str], parents: tuple[str, ...]
) -> list[PromptReference]:
    """Reads included files, depth first, into `files`; a file that includes itself is reported on the way."""
    tree = _parse_checked(text, name)
    files[name] = text
    references = list(checks.reads(tree, name))
    for included, line in checks.includes(tree):
        if included in (*parents, name):
            raise PromptError(f"{included} includes itself", line, file=name)
        if len(parents) >= MAX_INCLUDES:
            raise PromptError(f"files are included more than {MAX_INCLUDES} deep", line, file=name)
        if included in files:
            continue
        inner = _read_included(included, sources, line, name)
        references += _read_includes(included, inner, sources, files, (*parents, name))
    return references


def _parse_checked(text: str, name: str) -> nodes.Template:
    if len(text) > MAX_TEXT:
        raise PromptError(f"this prompt is longer than {MAX_TEXT} characters", 1, file=name)
    if text.count("{{") + text.count("{%") > MAX_TAGS:
        raise PromptError(f'this prompt has more than {MAX_TAGS} "{{{{ }}}}" tags', 1, file=name)
    try:
        tree = _PARSER.parse(text, name)
    except jinja2.TemplateSyntaxError as error:
        message = (error.message or "invalid syntax").removesuffix(".").replace("'", '"')
        raise PromptError(message[:1].lower() + message[1:], error.lineno, file=name) from error
    except RecursionError as error:
        raise PromptError("this prompt is nested too deep", 1, file=name) from error
    checks.check(tree, name)
    return tree


def _read_included(included: str, sources: _IncludeSources, line: int, name: str) -> str:
    plain = PurePosixPath(included)
    folder = sources.folder
    if plain.parent == PurePosixPath(FOLDER) and (folder is None or not (folder / plain).is_file()):
        partial = sources.partials.get(plain.name, shipped_partial(plain.name))
        if partial is None:
            raise PromptError(f"partial {plain.name} does not exist", line, file=name)
        return partial
    if folder is None:
        raise PromptError("this prompt has no folder to include files from", line, file=name)
    inside = (folder / plain).resolve().is_relative_to(folder.resolve())
    if plain.is_absolute() or ".." in plain.parts or not inside:
        raise PromptError(f'"{included}" leaves the prompt folder', line, file=name)
    try:
        with (folder / plain).open("rb") as file:
            return file.read(MAX_TEXT + 1).decode("utf-8")
    except OSError as error:
        raise PromptError(f"{included} does not exist", line, file=name) from error
    except UnicodeDecodeError as error:
        raise PromptError(f"{included} is not UTF-8", line, file=name) from error


class _Files(jinja2.BaseLoader):
    """Loads the files of one prompt, with metered loops."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = files
        self.weights: dict[str, int] = {}

    def load(self, environment: jinja2.Environment, name: str, globals: Any = None) -> jinja2.Template:  # noqa: A002 (jinja2's)
        tree = _PARSER.parse(self.files[name], name)
        weights = {included: self.weight(included) for included, _ in checks.includes(tree)}
        code = environment.compile(checks.meter_tree(tree, weights, environment), name, name)
        return environment.template_class.from_code(environment, code, globals)

    def weight(self, name: str) -> int:
        if name not in self.weights:
            tree = _PARSER.parse(self.files[name], name)
            inner = {included: self.weight(included) for included, _ in checks.includes(tree)}
            self.weights[name] = checks.weight(tree, inner)
        return self.weights[name]


@lru_cache(maxsize=256)
def _compile(prompt: Prompt) -> tuple[jinja2.Template, int]:
    files = _Files(dict(prompt.files))
    return PromptEnvironment(files).get_template(prompt.name), files.weight(prompt.name)


_PARSER: Final = PromptEnvironment(None)
