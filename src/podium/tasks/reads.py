"""Finds the names that the values and prompts of a step read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from podium.core.expressions.templates import Value, references
from podium.core.model import Agent, Command, Gates, Git, Step, Wait, Write
from podium.core.step_settings import FILLED_IN, ChildRun, Prompt, WorkflowConfig, written_values
from podium.workflow.prompts.prompt import PromptError, plain_prompt

if TYPE_CHECKING:
    from podium.tasks.task_names import Chain


class _IdentityKey:
    """A cache key by identity instead of equality."""

    __slots__ = ("config", "step")

    def __init__(self, step: Step, config: WorkflowConfig) -> None:
        self.step = step
        self.config = config

    def __hash__(self) -> int:
        return hash((id(self.step), id(self.config)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _IdentityKey) and self.step is other.step and self.config is other.config


def chains_read(step: Step, config: WorkflowConfig) -> tuple[Chain, ...] | None:
    """The chains that a step reads; None if they depend on a prompt that is not known yet.

    `config` belongs to the workflow of the step.
    """
    return _chains(_IdentityKey(step, config))


@lru_cache(maxsize=4096)
def _chains(key: _IdentityKey) -> tuple[Chain, ...] | None:
    step, config = key.step, key.config
    names_read = {reference.chain for value in _values(step, config) for reference in references(value)}
    for prompt in _prompts(step):
        chains = _prompt_chains(prompt.text, tuple(config.partials.items()))
        if chains is None:
            return None
        names_read.update(chains)
    return None if _role_is_computed(step) else tuple(sorted(names_read))


def _role_is_computed(step: Step) -> bool:
    """Whether an expression names the role, so that its prompts are known only in the attempt."""
    verb = step.verb
    return isinstance(verb, Agent) and verb.role is not None and not isinstance(verb.role, str)


def _values(step: Step, config: WorkflowConfig) -> Iterator[Value]:
    yield from (
        step.output.file,
        step.output.folder,
        *step.output.files,
        *written_values(step.settings, FILLED_IN),
    )
    yield from step.touches if isinstance(step.touches, tuple) else (step.touches,)
    match step.verb:
        case Agent() as verb:
            yield from (verb.role, verb.agent, verb.model, verb.stdin, config.agents)
            yield None if verb.done is None else dict(verb.done.detail)
            if step.gates is not None and isinstance(step.gates.verb, Gates):
                yield from (value for gate in step.gates.verb.members for value in _gate_values(gate))
        case Command() as verb:
            yield from (*verb.argv, verb.stdin, verb.junit, dict(verb.coverage or {}))
            yield from () if verb.tests is None else (*verb.tests.files, *verb.tests.may_change)
        case Git() as verb:
            yield from (verb.land, verb.message, verb.branch, verb.push, verb.stash)
        case Write() as verb:
            yield verb.files
        case Wait() as verb:
            yield dict(verb.detail)
        case ChildRun() as verb:
            yield from (value for _, value in verb.values)
        case _:
            pass


def _gate_values(gate: Step) -> tuple[Value, ...]:
    """The commands of a gate, which the agent's prompt shows."""
    return gate.verb.argv if isinstance(gate.verb, Command) else ()


def _prompts(step: Step) -> Iterator[Prompt]:
    if isinstance(step.verb, Agent):
        if step.verb.prompt is not None:
            yield step.verb.prompt
        if step.settings.system is not None:
            yield step.settings.system
        yield from (Prompt(text) for text in step.retry.degrade)


@lru_cache(maxsize=1024)
def _prompt_chains(text: str, partials: tuple[tuple[str, str], ...]) -> tuple[Chain, ...] | None:
    """None if the prompt includes a project file or cannot be parsed; rendering reports that."""
    prompt = plain_prompt(text, name="")
    if prompt is None:
        from podium.workflow.prompts.render import parse_prompt

        try:
            prompt = parse_prompt(text, folder=None, name="", partials=dict(partials))
        except PromptError:
            return None
    return tuple(reference.chain for reference in prompt.references)
