"""One file with everything it names, found and read: what validation and compilation work on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from podium.core.step_settings import Prompt
from podium.fast_dataclass import dataclass
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
        """The place of a value of a document, or of its key; for a missing value, the nearest one around it."""
        ...


@dataclass(frozen=True, slots=True)
class FeatureFile:
    feature: Feature
    origin: Origin
    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WorkflowSource:
    """A file with everything it names; `texts` are prompt files by name, children and features are keyed by step path."""

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
    """Every available role, including those this workflow does not use."""
    broken: frozenset[DocPath] = frozenset()
    own_agent_keys: frozenset[tuple[str, str]] = frozenset()
    """The agents and their keys that the workflow or its templates set, not a configuration or the command line."""

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
        """All gates of a step, the role's first; names that do not exist are omitted."""
        if role is None and not step.role and not step.gates:
            return ()
        entries = (*(role.gates if role is not None else self._role_gates(step)), *step.gates)
        gates = (self.gate(entry) if isinstance(entry, str) else entry for entry in entries)
        return tuple(gate for gate in gates if gate is not None)

    def _role_gates(self, step: Step) -> Iterator[str | Gate]:
        names = (step.role,) if isinstance(step.role, str) else step.role or ()
        for name in names:
            role = self.role(name)
            yield from role.gates if role is not None else ()

    def prompt(self, text: str) -> Prompt | None:
        """The prompt of a text, or of the file it names; None if that file does not exist."""
        if not is_prompt_file(text):
            return Prompt(text)
        content = self.texts.get(text)
        return Prompt(content, text) if content is not None else None

    def partial_texts(self) -> dict[str, str]:
        return {own.name: own.text for own in self.partials}

    def child(self, step: Step) -> WorkflowSource | None:
        return self.children.get(step.path)

    def feature(self, step: Step) -> Feature | None:
        """The feature that a `build` expands, unless it is known only at run time."""
        if isinstance(step.build, Feature):
            return step.build
        feature_file = self.features.get(step.path)
        return feature_file.feature if feature_file is not None else None

    def feature_data(self, step: Step) -> Mapping[str, Any] | None:
        """The feature as written."""
        if isinstance(step.build, Feature):
            data: Mapping[str, Any] = data_at(self.raw, step.at("build"))
            return data
        feature_file = self.features.get(step.path)
        return feature_file.raw if feature_file is not None else None


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
