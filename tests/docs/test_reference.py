"""Nothing that a person can write or read is left out of the reference, and what is generated is up to date."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import get_args

import pytest

from podium.adapters.agents.registry import BUILT_IN
from podium.core.events import Event, InstanceEvent, RunEvent
from podium.core.expressions.functions import ARITY
from podium.core.types import OUTCOMES, UNITS
from podium.frontends.cli.main import COMMANDS
from podium.workflow.agent_capabilities import AGENT_WORDS
from podium.workflow.contracts.builtin import BUILTIN
from podium.workflow.defaults import PRESETS
from podium.workflow.prompts.environment import FILTERS
from podium.workflow.schema.fields import Raw, known_keys
from podium.workflow.schema.file import Agent, File, Input, PolicyRule, Price, Record, Role
from podium.workflow.schema.parts import (
    Backoff,
    Breaker,
    Context,
    Coverage,
    Escalate,
    Estimate,
    Failures,
    ForEach,
    Git,
    Output,
    Repeat,
    Retry,
    Sandbox,
    Script,
    Stop,
    TopLimits,
    Wait,
    Workspace,
)
from podium.workflow.schema.step import VERBS, Feature, Gate, Interface, Phase, Step, TeamMember
from podium.workflow.scripted.cast import Cast, Match, Rule, Usage, VerdictSpec
from podium.workflow.scripted.test_file import (
    Bounds,
    Expect,
    FileWords,
    PromptWords,
    QuestionWords,
    StepWords,
    Trial,
    TrialFile,
)
from tests.docs.page_files import ROOT
from tools.docs import generated

MAPS: tuple[type[Raw], ...] = (
    *(File, Input, Step, Gate, Role, PolicyRule, Record, TopLimits, Breaker, Failures),
    *(Retry, Backoff, Stop, Context, Workspace, Sandbox, Output, Estimate, Wait, TeamMember, Coverage),
    *(Escalate, Script, Git, ForEach, Repeat, Feature, Phase, Interface),
)
WORKFLOW = "docs/reference/workflow.md"


def mentioned(path: str) -> set[str]:
    """The words that a page has in code."""
    text = (ROOT / path).read_text("utf-8")
    spans = [
        span for line in text.splitlines() if not line.startswith("```") for span in line.split("`")[1::2]
    ]
    return set(re.findall(r"[A-Za-z_!][\w!]*", " ".join(spans)))


def left_out(words: Iterable[str], path: str) -> list[str]:
    known = mentioned(path)
    return sorted(word for word in words if word not in known)


@pytest.mark.parametrize("model", MAPS, ids=lambda model: model.__name__)
def test_every_key_of_the_file_format_is_in_the_reference(model: type[Raw]) -> None:
    assert left_out(known_keys(model), WORKFLOW) == []


@pytest.mark.parametrize("model", [Agent, Price], ids=lambda model: model.__name__)
def test_every_key_of_an_agent_is_in_its_table(model: type[Raw]) -> None:
    assert left_out(known_keys(model), "docs/reference/agent-keys.md") == []


@pytest.mark.parametrize(
    "words",
    [VERBS, ARITY, FILTERS, UNITS, PRESETS, (*BUILT_IN, *AGENT_WORDS)],
    ids=["verbs", "functions", "filters", "units", "presets", "agents"],
)
def test_every_word_of_the_language_is_in_the_reference(words: Iterable[str]) -> None:
    assert left_out(words, WORKFLOW) == []


def test_every_shipped_role_is_in_the_reference() -> None:
    roles = [path.stem for path in (ROOT / "src/podium/data/roles").glob("*.yaml")]

    assert roles
    assert left_out(roles, WORKFLOW) == []


@pytest.mark.parametrize("model", [Cast, Rule, Match, VerdictSpec, Usage], ids=lambda model: model.__name__)
def test_every_key_of_a_cast_is_explained(model: type[Raw]) -> None:
    assert left_out(known_keys(model), "docs/how-to/rehearse.md") == []


@pytest.mark.parametrize(
    "model",
    [TrialFile, Trial, Expect, StepWords, FileWords, PromptWords, QuestionWords, Bounds],
    ids=lambda model: model.__name__,
)
def test_every_key_of_a_test_file_is_in_the_reference(model: type[Raw]) -> None:
    assert left_out(known_keys(model), "docs/reference/test-file.md") == []


def test_every_event_has_its_section() -> None:
    sections = re.findall(
        r"^### (\w+)$", (ROOT / "docs/reference/events.md").read_text("utf-8"), re.MULTILINE
    )

    assert {kind.__name__ for kind in get_args(Event)} == set(sections)
    assert len(sections) == len(get_args(RunEvent)) + len(get_args(InstanceEvent))


def test_every_event_says_what_it_means() -> None:
    rows = re.findall(
        r"^\| \[(\w+)\]\(#\w+\) \| (.*?) \|",
        (ROOT / "docs/reference/events.md").read_text("utf-8"),
        re.MULTILINE,
    )

    assert len(rows) == len(get_args(Event))
    assert [name for name, meaning in rows if not meaning.strip()] == []


def test_outcomes_schemas_and_commands_have_their_places() -> None:
    commands = (ROOT / "docs/reference/cli.md").read_text("utf-8")
    schemas = (ROOT / "docs/reference/schemas.md").read_text("utf-8")

    assert left_out(OUTCOMES, "docs/reference/outcomes.md") == []
    assert [name for name in COMMANDS if f"## podium {name}\n" not in commands] == []
    assert [name for name in BUILTIN if f"## {name}\n" not in schemas] == []


@pytest.mark.slow  # `make check` compares the same pages in its stage docs.
@pytest.mark.parametrize("path", generated())
def test_generated_pages_are_up_to_date(path: str) -> None:
    assert (ROOT / path).read_text("utf-8") == generated()[path](), "run make docs"
