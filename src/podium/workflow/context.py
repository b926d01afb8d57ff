"""One file with everything it names, found and read: what validation and compilation work on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from podium.core.fast_dataclass import dataclass
from podium.core.model import Prompt
from podium.workflow.agent_capabilities import AGENT_WORDS, AgentTypes
from podium.workflow.problems import Problem
from podium.workflow.prompts.partials import OwnPartial
from podium.workflow.schema.fields import DocPath
from podium.workflow.schema.file import File, Role
from podium.workflow.schema.reader import FieldFault
from podium.workflow.schema.step import Feature, Gate, Step
from podium.workflow.source.files import is_prompt_file
from podium.workflow.source.nodes import SourceLocation


class Origin(Protocol):
    def __call__(self, path: DocPath, *, key: bool = False) -> SourceLocation:
        """Where a value of a document was written, or its key; of what is not there, the nearest thing around."""
        ...


@dataclass(frozen=True, slots=True)
class FeatureFile:
    feature: Feature
    origin: Origin
    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WorkflowSource:
    """`texts` holds the prompt files by the path that names them; children and features go by the step's path."""

    file: File
    name: str
    project: Path
    raw: Mapping[str, Any]
    origin: Origin
    agent_types: AgentTypes
    inputs: Mapping[str, Any] | None = None
    texts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: MappingProxyType({}))
    children: Mapping[DocPath, WorkflowSource] = field(default_factory=lambda: MappingProxyType({}))
    features: Mapping[DocPath, FeatureFile] = field(default_factory=lambda: MappingProxyType({}))
    partials: tuple[OwnPartial, ...] = ()
    role_names: frozenset[str] = frozenset()
    """Every role there is, also those this workflow does not use."""
    broken: frozenset[DocPath] = frozenset()

    def position(self, path: DocPath, *, key: bool = False) -> SourceLocation:
        return self.origin(path, key=key)

    def problem(
        self,
        rule: int,
        path: DocPath,
        message: str,
        *,
        hint: str = "",
        key: bool = False,
        warning: bool = False,
    ) -> Problem:
        return problem_at(self.origin, FieldFault(rule, path, message, hint, key=key, warning=warning))

    def role(self, name: str) -> Role | None:
        return self.file.roles.get(name)

    def is_agent(self, name: str) -> bool:
        return name in self.file.agents or name in AGENT_WORDS or name in self.agent_types

    def gate(self, name: str) -> Gate | None:
        return self.file.gates.get(name)

    def gates_of(self, step: Step, role: Role | None = None) -> tuple[Gate, ...]:
        """All that judge a step, the role's first; names that do not exist are left out."""
        entries = (*(role.gates if role is not None else self._role_gates(step)), *step.gates)
        found = (self.gate(entry) if isinstance(entry, str) else entry for entry in entries)
        return tuple(gate for gate in found if gate is not None)

    def _role_gates(self, step: Step) -> Iterator[str | Gate]:
        names = (step.role,) if isinstance(step.role, str) else step.role or ()
        for name in names:
            role = self.role(name)
            yield from role.gates if role is not None else ()

    def prompt(self, text: str) -> Prompt | None:
        """The text, or what the file it names contains; None if that file does not exist."""
        if not is_prompt_file(text):
            return Prompt(text)
        found = self.texts.get(text)
        return Prompt(found, text) if found is not None else None

    def partial_texts(self) -> dict[str, str]:
        return {own.name: own.text for own in self.partials}

    def child(self, step: Step) -> WorkflowSource | None:
        return self.children.get(step.path)

    def feature(self, step: Step) -> Feature | None:
        """What a `build` expands, unless only the run will tell."""
        if isinstance(step.build, Feature):
            return step.build
        found = self.features.get(step.path)
        return found.feature if found is not None else None

    def feature_data(self, step: Step) -> Mapping[str, Any] | None:
        """The same as it was written."""
        if isinstance(step.build, Feature):
            data: Mapping[str, Any] = data_at(self.raw, step.at("build"))
            return data
        found = self.features.get(step.path)
        return found.raw if found is not None else None


def data_at(document: Any, path: DocPath) -> Any:
    for part in path:
        document = document[part]
    return document


def problem_at(origin: Origin, fault: FieldFault) -> Problem:
    place = origin(fault.path, key=fault.key)
    return Problem(
        place.file,
        place.line,
        place.col,
        fault.rule,
        fault.message,
        fault.hint,
        warning=fault.warning,
    )
