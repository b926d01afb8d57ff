"""Reads a workflow and everything it names - prompts, schemas, features, other workflows - into one Context."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from podium.core.fast_dataclass import dataclass
from podium.workflow.agent_capabilities import AgentTypes
from podium.workflow.context import FeatureFile, WorkflowSource, problem_at
from podium.workflow.contracts.schema_check import schema_fault
from podium.workflow.defaults import MAX_DEPTH
from podium.workflow.dialects.detect import to_native
from podium.workflow.merge.merge import Merged, merge
from podium.workflow.merge.sources import Sources, gather
from podium.workflow.problems import Problem
from podium.workflow.schema.fields import DocPath, Raw
from podium.workflow.schema.file import File
from podium.workflow.schema.parts import Output, Retry
from podium.workflow.schema.reader import FieldFault, Reading, read
from podium.workflow.schema.scalars import INSERT
from podium.workflow.schema.step import Feature, Step
from podium.workflow.schema.verb_keys import all_steps, check_file, check_step, components_of
from podium.workflow.source.files import is_inside, is_prompt_file, leads_outside, read_tree
from podium.workflow.source.nodes import plain


@dataclass(frozen=True, slots=True)
class Session:
    """What stays the same for a workflow and its children; `around` are the files that contain this one."""

    agent_types: AgentTypes
    project: Path | None = None
    user_dir: Path | None = None
    overrides: Mapping[str, Any] | None = None
    around: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class GatheredSource:
    context: WorkflowSource | None
    problems: tuple[Problem, ...]
    paths: tuple[Path, ...] = ()


def gather_context(
    session: Session, path: Path, *, inputs: Mapping[str, Any] | None = None
) -> GatheredSource:
    sources = gather(
        path, project_root=session.project, user_dir=session.user_dir, overrides=session.overrides
    )
    return context_of(session, path, sources, inputs=inputs)


def context_of(
    session: Session, path: Path, sources: Sources, *, inputs: Mapping[str, Any] | None = None
) -> GatheredSource:
    """`path` is the file that messages and relative names start from."""
    merged = merge(sources)
    nothing: Reading[File] = Reading(None, (), frozenset())
    reading = read(File, merged.value, source=merged.source) if sources.chain else nothing
    problems = [*merged.problems, *(problem_at(merged.origin, fault) for fault in reading.faults)]
    if reading.value is None:
        return GatheredSource(None, tuple(problems), sources.paths)
    faults = check_file(reading.value, reading.broken)
    problems += [problem_at(merged.origin, fault) for fault in faults]
    context = WorkflowSource(
        file=reading.value,
        name=path.stem,
        project=sources.project,
        raw=merged.value,
        origin=merged.origin,
        agent_types=session.agent_types,
        inputs=inputs,
        partials=sources.partials,
        role_names=merged.role_names,
        broken=reading.broken,
    )
    inner = replace(session, project=sources.project, around=(*session.around, path.resolve()))
    found = _Found(inner, context, base=None if path.is_absolute() else Path.cwd())
    found.read_all()
    return GatheredSource(found.context(), (*problems, *found.problems), (*sources.paths, *found.paths))


@dataclass(frozen=True, slots=True)
class _Found:
    """Collects what the files that a workflow names contain. A file that is missing is simply not there."""

    session: Session
    bare: WorkflowSource
    base: Path | None
    texts: dict[str, str] = field(default_factory=dict)
    schemas: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    features: dict[DocPath, FeatureFile] = field(default_factory=dict)
    children: dict[DocPath, WorkflowSource] = field(default_factory=dict)
    paths: list[Path] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def context(self) -> WorkflowSource:
        return replace(
            self.bare,
            texts=MappingProxyType(self.texts),
            schemas=MappingProxyType(self.schemas),
            features=MappingProxyType(self.features),
            children=MappingProxyType(self.children),
        )

    def read_all(self) -> None:
        for _, step in all_steps(self.bare.file):
            if isinstance(step.build, str) and INSERT not in step.build:
                self.read_feature(step)
            if step.workflow is not None:
                self.read_child(step)
        for text in _named_texts(self._everything()):
            self.read_text(text)
        for schema in _named_schemas(self._everything()):
            self.read_schema(schema)

    def _everything(self) -> Iterator[Raw]:
        yield self.bare.file
        for feature in self.features.values():
            yield feature.feature

    def inside(self, name: str) -> Path | None:
        """The file of that name beside the workflow or in the project; None if it is not there or lies outside."""
        project, folder = self.bare.project, self.session.around[-1].parent
        for path in (folder / name, project / name):
            if path.is_file() and not Path(name).is_absolute() and is_inside(path, project):
                return path
        return None

    def read_text(self, name: str) -> None:
        path = self.inside(name)
        if path is not None and name not in self.texts:
            self.texts[name] = path.read_text("utf-8", errors="replace")
            self.paths.append(path)

    def read_schema(self, schema: Output) -> None:
        name = schema.schema
        path = self.inside(name) if isinstance(name, str) else None
        if path is None or not isinstance(name, str) or name in self.schemas:
            return
        try:
            found = json.loads(path.read_text("utf-8", errors="replace"))
        except ValueError as error:
            found = None
            self.fault(FieldFault(16, schema.at("schema"), f"{name} is not JSON: {error}", key=False))
        if isinstance(found, dict):
            self.schemas[name] = found
            self.paths.append(path)
            why = schema_fault(found)
            if why is not None:
                self.fault(
                    FieldFault(
                        16, schema.at("schema"), f"{name} is not a usable JSON Schema: {why}", key=False
                    )
                )

    def missing(self, rule: int, at: DocPath, name: str) -> None:
        """A path that leaves the project is told by lint, with a rule of its own."""
        if not leads_outside(name, self.bare.project):
            self.fault(FieldFault(rule, at, f"{name} does not exist", key=False))

    def fault(self, fault: FieldFault) -> None:
        self.problems.append(problem_at(self.bare.origin, fault))

    def read_feature(self, step: Step) -> None:
        written = str(step.build)
        path = self.inside(written)
        if path is None:
            self.missing(38, step.at("build"), written)
            return
        tree = to_native(read_tree(path, self.base), "feature")
        self.paths.append(path)
        self.problems.extend(tree.problems)
        if tree.node is None:
            return
        origin = Merged(tree.node).origin
        reading = read(Feature, plain(tree.node), source=Merged(tree.node).source)
        faults = [*reading.faults]
        if reading.value is not None:
            for inner, component in components_of(reading.value):
                faults += check_step(inner, component, reading.broken)
            self.features[step.path] = FeatureFile(reading.value, origin, plain(tree.node))
        self.problems.extend(problem_at(origin, fault) for fault in faults)

    def read_child(self, step: Step) -> None:
        written = step.workflow or ""
        path = self.inside(written)
        if path is None:
            self.missing(35, step.at("workflow"), written)
        elif path.resolve() in self.session.around:
            self.fault(FieldFault(35, step.at("workflow"), f"{path.name} contains itself", key=False))
        elif len(self.session.around) >= MAX_DEPTH:
            deep = f"workflows are nested more than {MAX_DEPTH} deep"
            self.fault(FieldFault(35, step.at("workflow"), deep, key=False))
        else:
            gathered = gather_context(self.session, self.seen_from_here(path))
            self.problems.extend(gathered.problems)
            self.paths.extend(gathered.paths)
            if gathered.context is not None:
                self.children[step.path] = gathered.context

    def seen_from_here(self, path: Path) -> Path:
        """Relative if the workflow itself was named so, since messages call files as they were named."""
        if self.base is None or not path.is_relative_to(self.base):
            return path
        return path.relative_to(self.base)


def _named_texts(roots: Iterator[Raw]) -> Iterator[str]:
    for raw in _walk(roots):
        texts = raw.degrade or () if isinstance(raw, Retry) else _prompts(raw)
        yield from (text for text in texts if is_prompt_file(text))


def _prompts(raw: Raw) -> Iterator[str]:
    for key in ("prompt", "system", "human"):
        text = getattr(raw, key, None)
        if isinstance(text, str):
            yield text


def _named_schemas(roots: Iterator[Raw]) -> Iterator[Output]:
    return (raw for raw in _walk(roots) if isinstance(raw, Output) and isinstance(raw.schema, str))


def _walk(values: Any) -> Iterator[Raw]:
    """Every typed map below."""
    for value in values:
        if isinstance(value, Raw):
            yield value
            yield from _walk(value.get(key) for key in value.written_keys())
        elif isinstance(value, (dict, tuple)):
            yield from _walk(value.values() if isinstance(value, dict) else value)
