"""Reads a workflow and every file it names - prompts, schemas, features, other workflows - into a WorkflowSource."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from podium.fast_dataclass import dataclass
from podium.files import bounded_json
from podium.files.inside import MAX_TEXT_FILE, read_file
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
from podium.workflow.schema.workflow_files import FileElsewhere
from podium.workflow.source.files import is_inside, is_prompt_file, leads_outside, read_tree
from podium.workflow.source.nodes import node_from_value, plain


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """Options shared by a workflow and its children; `parents` are the files that contain this one."""

    agent_types: AgentTypes
    project: Path | None = None
    user_dir: Path | None = None
    overrides: Mapping[str, Any] | None = None
    parents: tuple[Path, ...] = ()
    document: Mapping[str, Any] | None = None
    """The merged document of a stored run, which replaces what its unchanged files would become today."""


@dataclass(frozen=True, slots=True)
class GatheredSource:
    context: WorkflowSource | None
    problems: tuple[Problem, ...]
    paths: tuple[Path, ...] = ()


def gather_context(
    options: LoadOptions, path: Path, *, inputs: Mapping[str, Any] | None = None
) -> GatheredSource:
    sources = gather(
        path, project_root=options.project, user_dir=options.user_dir, overrides=options.overrides
    )
    return context_of(options, path, sources, inputs=inputs)


def context_of(
    options: LoadOptions, path: Path, sources: Sources, *, inputs: Mapping[str, Any] | None = None
) -> GatheredSource:
    """Merges and checks sources; messages and relative names start from `path`."""
    merged = merge(sources, is_child=bool(options.parents))
    if options.document is not None:
        root = node_from_value(options.document, merged.root.place)
        merged = replace(merged, root=root, problems=())
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
        agent_types=options.agent_types,
        inputs=inputs,
        partials=sources.partials,
        role_names=merged.role_names,
        broken=reading.broken,
        own_agent_keys=merged.own_agent_keys,
    )
    inner = replace(
        options, project=sources.project, parents=(*options.parents, path.resolve()), document=None
    )
    files = _NamedFiles(inner, context, base=None if path.is_absolute() else Path.cwd())
    files.read_all()
    return GatheredSource(files.context(), (*problems, *files.problems), (*sources.paths, *files.paths))


@dataclass(frozen=True, slots=True)
class _NamedFiles:
    """Collects the contents of the files that a workflow names; a missing file is omitted."""

    options: LoadOptions
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
        everything = tuple(_walk(self._everything()))
        for text in _named_texts(everything):
            self.read_text(text)
        for schema in _named_schemas(everything):
            self.read_schema(schema)

    def _everything(self) -> Iterator[Raw]:
        yield self.bare.file
        for feature in self.features.values():
            yield feature.feature

    def inside(self, name: str) -> Path | None:
        """The file of that name next to the workflow or in the project; None if it is missing or outside the project."""
        project, folder = self.bare.project, self.options.parents[-1].parent
        for path in (folder / name, project / name):
            if path.is_file() and not Path(name).is_absolute() and is_inside(path, project):
                return path
        return None

    def read_text(self, name: str) -> None:
        path = self.inside(name)
        if path is not None and name not in self.texts:
            self.texts[name] = read_file(path, MAX_TEXT_FILE).decode("utf-8", "replace")
            self.paths.append(path)

    def read_schema(self, schema: Output) -> None:
        name = schema.schema
        path = self.inside(name) if isinstance(name, str) else None
        if path is None or not isinstance(name, str) or name in self.schemas:
            return
        try:
            content = bounded_json.loads(read_file(path, MAX_TEXT_FILE).decode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            content = None
            self.fault(FieldFault(16, schema.at("schema"), f"{name} is not JSON: {error}", key=False))
        if isinstance(content, dict):
            self.schemas[name] = content
            self.paths.append(path)
            why = schema_fault(content)
            if why is not None:
                self.fault(
                    FieldFault(
                        16, schema.at("schema"), f"{name} is not a usable JSON Schema: {why}", key=False
                    )
                )

    def missing(self, rule: int, at: DocPath, name: str) -> None:
        """Reports a missing file; lint reports a path that leaves the project by another rule."""
        if not leads_outside(name, self.bare.project):
            self.fault(FieldFault(rule, at, f"{name} does not exist", key=False))

    def fault(self, fault: FieldFault) -> None:
        self.problems.append(problem_at(self.bare.origin, fault))

    def read_feature(self, step: Step) -> None:
        name = str(step.build)
        path = self.inside(name)
        if path is None:
            self.missing(38, step.at("build"), name)
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
        name = step.workflow or ""
        if isinstance(name, FileElsewhere):
            self.read_elsewhere(step, name)
            return
        path = self.inside(name)
        if path is None:
            self.missing(35, step.at("workflow"), name)
        else:
            self.gather_child(step, path, self.options)

    def read_elsewhere(self, step: Step, named: FileElsewhere) -> None:
        project = self.bare.project.resolve()
        folder = (project / named.folder).resolve()
        path = folder / named.file
        if Path(named.folder).is_absolute():
            fault, hint = (
                f"in: {named.folder} is an absolute path",
                "write it from the top of this project: in: ../api",
            )
        elif folder == project:
            fault, hint = f"in: {named.folder} is this repository", f"workflow: {named.file}"
        elif not folder.is_dir():
            fault, hint = (
                f"in: {named.folder} does not exist",
                f"it is looked for from {project.name}, the project",
            )
        elif not (folder / ".git").exists():
            fault, hint = f"in: {named.folder} is not the top of a git repository", ""
        elif Path(named.file).is_absolute() or not path.is_file() or not is_inside(path, folder):
            fault, hint = (
                f"{named.folder} has no file {named.file}",
                "its path starts at the top of that repository",
            )
        else:
            self.gather_child(step, path, replace(self.options, project=folder))
            return
        self.fault(FieldFault(35, step.at("workflow"), fault, hint, key=False))

    def gather_child(self, step: Step, path: Path, options: LoadOptions) -> None:
        if path.resolve() in self.options.parents:
            self.fault(FieldFault(35, step.at("workflow"), f"{path.name} contains itself", key=False))
        elif len(self.options.parents) >= MAX_DEPTH:
            deep = f"workflows are nested more than {MAX_DEPTH} deep"
            self.fault(FieldFault(35, step.at("workflow"), deep, key=False))
        else:
            gathered = gather_context(options, self.relative_name(path))
            self.problems.extend(gathered.problems)
            self.paths.extend(gathered.paths)
            if gathered.context is not None:
                self.children[step.path] = gathered.context

    def relative_name(self, path: Path) -> Path:
        """The path relative to the current folder if the workflow was named so, because messages name files as the user did."""
        if self.base is None or not path.is_relative_to(self.base):
            return path
        return path.relative_to(self.base)


def _named_texts(maps: Iterable[Raw]) -> Iterator[str]:
    for raw in maps:
        texts = raw.degrade or () if isinstance(raw, Retry) else _prompts(raw)
        yield from (text for text in texts if is_prompt_file(text))


def _prompts(raw: Raw) -> Iterator[str]:
    for key in ("prompt", "system", "human"):
        text = getattr(raw, key, None)
        if isinstance(text, str):
            yield text


def _named_schemas(maps: Iterable[Raw]) -> Iterator[Output]:
    return (raw for raw in maps if isinstance(raw, Output) and isinstance(raw.schema, str))


def _walk(values: Any) -> Iterator[Raw]:
    """Every typed map below some values."""
    for value in values:
        kind = type(value)
        if kind is dict:
            yield from _walk(value.values())
        elif kind is tuple:
            yield from _walk(value)
        elif isinstance(value, Raw):
            yield value
            yield from _walk([value.get(key) for key in value.written_keys()])
