"""Compiles small workflows for tests of the compiler."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any, TypeVar

from podium.adapters.agents.registry import agent_types
from podium.core.model import Block, Gates, Step, Verb, Workflow
from podium.workflow.load import Loaded, load
from tests.workflow.kit import write

Kind = TypeVar("Kind", bound=Verb)
HEAD = "podium: 1\nname: flow\n"


def load_text(folder: Path, text: str, files: Mapping[str, str] | None = None, **options: Any) -> Loaded:
    """Loads a flow.yaml, which may omit the header, in a project with these other files."""
    head = "" if "podium:" in text else HEAD
    write(folder, {**(files or {}), "flow.yaml": head + dedent(text)})
    return load(folder / "flow.yaml", project=folder, agent_types=agent_types(), **options)


def compile_text(folder: Path, text: str, files: Mapping[str, str] | None = None) -> Workflow:
    actual = load_text(folder, text, files)
    if actual.workflow is None:
        raise AssertionError("\n".join(problem.render() for problem in actual.errors))
    return actual.workflow


def errors(
    folder: Path, text: str, files: Mapping[str, str] | None = None, **options: Any
) -> list[tuple[int, str]]:
    return [(problem.rule, problem.message) for problem in load_text(folder, text, files, **options).errors]


def step_of(workflow: Workflow, *names: str) -> Step:
    """The step at a path of names through blocks."""
    block = workflow.body
    for name in names[:-1]:
        inner = block.steps[block.index[name]].verb
        assert isinstance(inner, Block)
        block = inner
    return block.steps[block.index[names[-1]]]


def only_step(folder: Path, step: str, rest: str = "", files: Mapping[str, str] | None = None) -> Step:
    """The step `it` of a workflow with no other step; `step` is its map in flow style."""
    return step_of(compile_text(folder, f"{dedent(rest)}\nsteps:\n  it: {step}\n", files), "it")


def verb_of(step: Step, kind: type[Kind]) -> Kind:
    assert isinstance(step.verb, kind)
    return step.verb


def gates_of(step: Step) -> Gates:
    assert step.gates is not None
    assert step.gates.name == "gates"
    return verb_of(step.gates, Gates)
