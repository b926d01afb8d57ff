"""Builds the text that an agent gets: the author's prompt, context, and feedback on earlier attempts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from errno import ENOENT
from functools import cache, partial
from pathlib import Path
from posixpath import normpath
from typing import Any, Final

from podium.attempt.agent.agent_attempt import AgentAttempt
from podium.attempt.agent.resolve import ResolvedAgent
from podium.attempt.change_policy import globs_of
from podium.attempt.command.stdin import files_in, stdin_of
from podium.attempt.host import Host
from podium.attempt.prompt import excerpt
from podium.attempt.prompt.earlier_outputs import PlacedOutputs, place_outputs
from podium.attempt.prompt.feedback import feedback_text, keep_entries
from podium.attempt.prompt.images import images_among
from podium.attempt.prompt.instructions import project_instructions
from podium.attempt.prompt.pack_plan import Request
from podium.attempt.prompt.packed_files import (
    files_section,
    hidden_files,
    lines_of_hidden,
    memory_facts,
    named_files,
    pack_files,
    removed_in,
)
from podium.attempt.prompt.review_material import FOLDER, material_of
from podium.attempt.prompt.team import team_parts
from podium.attempt.prompt.token_counts import model_key
from podium.attempt.prompt.tree_files import TreeFiles, files_of
from podium.attempt.workspace.hidden import HiddenFiles
from podium.context.manifest import Pack
from podium.core import step_settings
from podium.core.expressions.nodes import Names
from podium.core.expressions.templates import Value, fill, fill_argv
from podium.core.expressions.values import Meter, as_text
from podium.fast_dataclass import dataclass
from podium.ports.agent import ImageInput, ServiceAgent
from podium.redaction.scan import scrub
from podium.tasks.partials import render_partial
from podium.workflow.prompts.quoting import OutsideText, fence, quote_block
from podium.workflow.prompts.render import Prompt, parse_prompt, render

_OWN_ENDINGS: Final = (".yaml", ".yml", ".md", ".txt", ".j2")
"""Of workflows and prompts, which a step may not change."""


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    system: str
    prompt: str
    removed: Mapping[str, int]
    """How many texts that look like secrets were removed, by rule."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Answers of earlier steps that the prompt names as files, by path."""
    images: tuple[ImageInput, ...] = ()
    packed: Pack | None = None
    """The files that `context` packed into the prompt."""
    packed_text: str = ""
    """The section of the prompt with these files."""
    hidden: HiddenFiles | None = None
    """The files that the worker may not see."""


def render_prompt(attempt: AgentAttempt, worker: ResolvedAgent | None) -> RenderedPrompt:
    """System text and prompt; without a worker, the task for a person.

    Raises PromptError, ExprError.
    """
    host = attempt.host
    # List files only on demand: most prompts do not use them, and a large project has many.
    files = cache(partial(files_of, host, attempt.started.start))
    entries = keep_entries(host, attempt.task)
    hiding = _Hiding(attempt, files)
    feedback = hiding.clean(feedback_text(attempt.task, entries))
    names = _Names(
        attempt.names,
        feedback,
        {} if worker is None else worker.parameters,
        frozenset(host.context.outside_inputs),
        attempt.nonce if attempt.verb.judge else "",
    )
    system, prompt = (None, attempt.verb.prompt) if worker is None else (worker.system, worker.prompt)
    persona = "" if system is None else _rendered(attempt, system, names, files)
    instructions = "" if worker is None else _instructions(attempt, worker)
    persona = f"{persona.strip()}\n\n{instructions}".strip() if instructions else persona
    if attempt.verb.stdin is not None:
        literal = _scrubbed(host, persona, _literal_prompt(attempt, attempt.verb.stdin, files), {})
        return replace(literal, hidden=hiding.files)
    own, is_placed = _own_prompt(attempt, prompt, names, files)
    images = _images(attempt, worker, files, hiding)
    reads_files = worker is not None and not isinstance(worker.adapter, ServiceAgent)
    attached = [image.path for image in images]
    model = "" if worker is None else model_key(worker)
    packing = _Packing(own, frozenset(attached), reads_files=reads_files, model=model)
    parts = [own, *_additions(attempt, names, files, packing)]
    if feedback and not is_placed:
        parts.append(hiding.clean(feedback_text(attempt.task, entries, heading=True)))
    outputs = _outputs(attempt, reads_files=reads_files)
    if outputs.facts:
        parts.append(hiding.clean(render_partial(attempt.work.config, "outputs", outputs.facts)))
    parts.append(hiding.clean(_excerpt(attempt)))
    parts.append(_shape(attempt))
    text = "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"
    answers = {path: hiding.clean(content) for path, content in outputs.files.items()}
    rendered = _scrubbed(host, persona, text, answers)
    removed = Counter(rendered.removed) + (
        Counter() if packing.packed is None else removed_in(packing.packed)
    )
    return replace(
        rendered,
        images=images,
        removed=dict(removed),
        packed=packing.packed,
        packed_text=packing.text,
        hidden=hiding.files,
    )


def _literal_prompt(attempt: AgentAttempt, stdin: Value, files: Callable[[], TreeFiles]) -> str:
    """The files or the value that the step names, to the last byte; nothing is filled in or added."""
    host = attempt.host

    def read_from_tree(path: str) -> bytes:
        plain = normpath(path)
        if plain not in files().blobs:
            raise FileNotFoundError(ENOENT, "there is no such file", path)
        return next(content for _, content in files().read([plain]))

    read = files_in(host.project) if host.is_inplace(attempt.step) else read_from_tree
    content = stdin_of(stdin, attempt.names, read, host.run_dir, host.artifacts_dir)
    return content.decode("utf-8", "replace")


def _images(
    attempt: AgentAttempt, worker: ResolvedAgent | None, files: Callable[[], TreeFiles], hiding: _Hiding
) -> tuple[ImageInput, ...]:
    context = attempt.step.settings.context
    if worker is None or not worker.installed.type.capabilities.images or not step_settings.present(context):
        return ()
    named = named_files(context, attempt.names, files())
    return images_among(files(), [path for path in named if not hiding.covers(path)])


def _instructions(attempt: AgentAttempt, worker: ResolvedAgent) -> str:
    if worker.config.get("instructions") != "project":
        return ""
    folder = as_text(fill(attempt.step.settings.dir or ".", attempt.names), Meter())
    return project_instructions(attempt.host, worker.installed.type.capabilities.instruction_files, folder)


def _scrubbed(host: Host, system: str, prompt: str, files: Mapping[str, str]) -> RenderedPrompt:
    """Masks and scrubs the complete texts, including packed files, quotes and feedback."""
    system_text, prompt_text, *contents = (
        scrub(host.mask.text(text)) for text in (system, prompt, *files.values())
    )
    removed: Counter[str] = Counter()
    for text in (system_text, prompt_text, *contents):
        removed.update(text.counts)
    clean = {path: content.text for path, content in zip(files, contents, strict=True)}
    return RenderedPrompt(system_text.text, prompt_text.text, dict(removed), clean)


def _outputs(attempt: AgentAttempt, *, reads_files: bool) -> PlacedOutputs:
    return place_outputs(
        attempt.work.outputs,
        (lambda text: quote_block(text, "output", attempt.nonce)) if attempt.verb.judge else fence,
        reads_files=reads_files,
        in_project=attempt.host.is_inplace(attempt.step),
    )


class _Names(Mapping[str, Any]):
    """The names of a prompt; `feedback` is the text of the feedback."""

    def __init__(
        self,
        names: Names,
        feedback: str,
        parameters: Mapping[str, Any],
        outside: frozenset[str] = frozenset(),
        nonce: str = "",
    ) -> None:
        self._names = names
        self._feedback = feedback
        self._parameters = parameters
        self._outside = outside
        self._nonce = nonce

    def __getitem__(self, name: str) -> Any:
        if name == "feedback":
            return self._feedback
        value: Any = self._names.lookup(name)
        if name == "inputs" and self._outside:
            return {
                each: _outside(content, self._nonce) if each in self._outside else content
                for each, content in value.items()
            }
        return {**self._parameters, **value} if name == "with" and self._parameters else value

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _outside(value: Any, nonce: str) -> Any:
    """The value with all its texts marked as written outside of the project. Inputs nest to a bounded depth."""
    if isinstance(value, str):
        text = OutsideText(value)
        text.nonce = nonce
        return text
    if isinstance(value, Mapping):
        return {key: _outside(each, nonce) for key, each in value.items()}
    return [_outside(each, nonce) for each in value] if isinstance(value, list | tuple) else value


def _own_prompt(
    attempt: AgentAttempt, source: step_settings.Prompt | None, names: _Names, files: Callable[[], TreeFiles]
) -> tuple[str, bool]:
    """The author's prompt, and whether it includes the feedback."""
    if source is None:
        return _default_prompt(attempt), False
    prompt = _parsed(attempt, source)
    is_placed = any(reference.chain[0] == "feedback" for reference in prompt.references)
    return render(prompt, names, fact=lambda query: files().fact(query)), is_placed


def _default_prompt(attempt: AgentAttempt) -> str:
    if attempt.work.team is not None and attempt.work.team.message is not None:
        return ""  # The message is the task.
    advice = attempt.work.advice
    if advice is not None:
        facts = {"where": advice.where, "rule": advice.rule, "situation": advice.situation}
        return render_partial(attempt.work.config, "advice", facts)
    step = {"name": attempt.step.name, "description": attempt.step.description}
    return render_partial(attempt.work.config, "task", {"step": step, "judge": attempt.verb.judge})


def _rendered(
    attempt: AgentAttempt,
    source: step_settings.Prompt,
    names: Mapping[str, Any],
    files: Callable[[], TreeFiles],
) -> str:
    return render(_parsed(attempt, source), names, fact=lambda query: files().fact(query))


def _parsed(attempt: AgentAttempt, source: step_settings.Prompt) -> Prompt:
    name = source.file or ""
    folder = attempt.host.project / (Path(name).parent if name else FOLDER)
    return parse_prompt(source.text, folder=folder, name=name, partials=attempt.work.config.partials)


class _Hiding:
    """The files that the worker may not see, and texts without their lines."""

    def __init__(self, attempt: AgentAttempt, files: Callable[[], TreeFiles]) -> None:
        self.files: HiddenFiles | None = None
        if attempt.step.settings.workspace.hide and not attempt.verb.judge:
            request = _request(attempt, attempt.step.settings.context)
            self.files = hidden_files(attempt.host, request, files())
            self._lines = lines_of_hidden(request, files(), self.files)

    def covers(self, path: str) -> bool:
        return self.files is not None and self.files.covers(path)

    def clean(self, text: str) -> str:
        return text if self.files is None else self._lines.remove(text)


class _Packing:
    """What decides about the packed files, and what was packed."""

    def __init__(self, task: str, images: frozenset[str], *, reads_files: bool, model: str) -> None:
        self.task = task
        self.model = model
        self.images = images
        self.reads_files = reads_files
        self.packed: Pack | None = None
        self.text = ""


def _additions(
    attempt: AgentAttempt, names: _Names, files: Callable[[], TreeFiles], packing: _Packing
) -> Iterator[str]:
    host, started, step, config = attempt.host, attempt.started, attempt.step, attempt.work.config
    if started.degrade:
        rung = step_settings.Prompt(step.retry.degrade[started.degrade - 1])
        yield _rendered(attempt, rung, names, files)
    if host.context.outside_inputs:
        sender = {"trigger": host.context.trigger, "inputs": host.context.outside_inputs}
        yield render_partial(config, "event", sender)
    if started.guidance:
        yield render_partial(config, "guidance", {"guidance": started.guidance})
    yield from team_parts(attempt)
    context = step.settings.context
    if attempt.work.review is not None:
        yield material_of(host, attempt.work.review, config, tree=started.start, nonce=attempt.nonce)
        context = replace(context, diff=False)  # The material already has the diff.
    if step_settings.present(context):
        yield _files_text(attempt, context, files(), packing)
    if attempt.exchange.memory is not None:
        tree = attempt.exchange.memory
        facts = memory_facts(host, started, step.memory, tree, has_files=packing.reads_files)
        yield render_partial(config, "memory", facts)


def _files_text(
    attempt: AgentAttempt, context: step_settings.ContextSettings, files: TreeFiles, packing: _Packing
) -> str:
    request = replace(
        _request(attempt, context),
        task=f"{packing.task}\n{attempt.step.description or ''}",
        reads_files=packing.reads_files,
        images=packing.images,
        model=packing.model,
        command=attempt.exchange.command_output,
    )
    packing.packed = pack_files(attempt.host, request, files)
    section = files_section(packing.packed, request)
    packing.text = render_partial(attempt.work.config, "files", section).strip() if section else ""
    return packing.text


def _request(attempt: AgentAttempt, context: step_settings.ContextSettings) -> Request:
    return Request(
        settings=context,
        names=attempt.names,
        hide=fill_argv(attempt.step.settings.workspace.hide, attempt.names),
        plan=tuple(output.text for output in attempt.work.outputs),
        touches=globs_of(attempt.step, attempt.names) or (),
        since=attempt.work.run_start if attempt.work.review is None else attempt.work.review.base,
        tree=attempt.started.start,
        own=frozenset(
            path
            for path in fill_argv(attempt.step.settings.protect, attempt.names)
            if path.endswith(_OWN_ENDINGS)
        ),
    )


def _excerpt(attempt: AgentAttempt) -> str:
    touches = globs_of(attempt.step, attempt.names)
    facts = excerpt.excerpt_facts(attempt.task, attempt.names, touches=touches)
    return render_partial(attempt.work.config, "excerpt", facts)


def _shape(attempt: AgentAttempt) -> str:
    config = attempt.work.config
    if attempt.verb.judge:
        shape = excerpt.verdict_shape(
            attempt.started, attempt.nonce, attempt.work.review, accepts_tests=bool(attempt.disputed)
        )
        return render_partial(config, "verdict", shape)
    if attempt.turn is not None:
        return ""  # What it says to the person has no form.
    return render_partial(config, "answer", excerpt.answer_shape(attempt.step.output))
