"""The components that a file names: those of a feature, or the steps of a workflow that say what they touch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from podium.app.author.load import load_workflow
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.workflow.context import problem_at
from podium.workflow.dialects.detect import to_native
from podium.workflow.merge.merge import Merged
from podium.workflow.problems import mistakes
from podium.workflow.schema.fields import DocPath
from podium.workflow.schema.reader import read
from podium.workflow.schema.step import Feature, Step
from podium.workflow.schema.verb_keys import all_steps
from podium.workflow.source.files import read_tree
from podium.workflow.source.nodes import Node, fields, plain


@dataclass(frozen=True, slots=True)
class NamedComponents:
    """Everything by the name of a component: `phase.component`, or the name of a step."""

    touches: Mapping[str, Sequence[str]]
    needs: Mapping[str, Sequence[str]]
    waits: Mapping[str, Sequence[str]]
    phases: Mapping[str, str] = field(default_factory=dict)
    """Empty for the steps of a workflow."""
    file: Path | None = None
    places: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The map of each component in `file`."""
    read_only: str = ""
    """Why nothing can be written into the file; empty if it can."""

    def need(self, source: str, target: str) -> str:
        """How `source` names `target` in its needs."""
        phase = self.phases.get(source)
        return target.removeprefix(f"{phase}.") if phase else target


def read_components(file: Path, *, user_dir: Path) -> NamedComponents:
    tree = read_tree(file, Path.cwd())
    if tree.node is None:
        raise mistakes(tree.problems)
    native = to_native(tree, "feature")
    if native.node is not None and "phases" in fields(native.node):
        foreign = "" if native.node is tree.node else f"{file} is in another format: podium convert {file}"
        return _of_feature(_feature(native.node), file, (), foreign)
    return _of_workflow(file, user_dir)


def _feature(node: Node) -> Feature:
    reading = read(Feature, plain(node), source=Merged(node).source)
    if reading.value is None or reading.faults:
        origin = Merged(node).origin
        raise mistakes(tuple(problem_at(origin, fault) for fault in reading.faults))
    return reading.value


def _of_feature(feature: Feature, file: Path, top: tuple[str, ...], read_only: str) -> NamedComponents:
    rows = list(_rows(feature))
    names = [f"{phase}.{name}" for phase, name, _ in rows]
    waits: dict[str, list[str]] = {}
    earlier: list[str] = []
    for phase, body in feature.phases.items():
        own = [f"{phase}.{name}" for name in body.components]
        waits |= dict.fromkeys(own, list(earlier) if body.barrier == "strict" else [])
        earlier += own
    return NamedComponents(
        {name: step.touches or () for name, (_, _, step) in zip(names, rows, strict=True)},
        {
            name: tuple(need if "." in need else f"{phase}.{need}" for need in step.needs or ())
            for name, (phase, _, step) in zip(names, rows, strict=True)
        },
        waits,
        {name: phase for name, (phase, _, _) in zip(names, rows, strict=True)},
        file,
        {f"{phase}.{name}": (*top, "phases", phase, "components", name) for phase, name, _ in rows},
        read_only,
    )


def _rows(feature: Feature) -> Iterator[tuple[str, str, Step]]:
    return (
        (phase, name, step)
        for phase, body in feature.phases.items()
        for name, step in body.components.items()
    )


def _of_workflow(file: Path, user_dir: Path) -> NamedComponents:
    source = load_workflow(file, user_dir=user_dir)
    context = source.context
    builds = [step for _, step in all_steps(context.file) if step.verb == "build"]
    if len(builds) > 1:
        raise ConfigurationError(
            f"{file} has {len(builds)} builds", hint="name the file of one feature: podium deps FEATURE.yaml"
        )
    for build in builds:
        feature = context.feature(build)
        if feature is None:
            raise ConfigurationError(
                f'the feature of "{build.path[-1]}" is known only when the run is there',
                hint="name the file of a feature: podium deps FEATURE.yaml",
            )
        if isinstance(build.build, Feature):
            return _of_feature(feature, file, _texts(build.at("build")), _foreign(file))
        return read_components(context.project / str(build.build), user_dir=user_dir)
    steps = {name: step for name, step in context.file.steps.items() if step.touches}
    if not steps:
        raise ConfigurationError(
            f"{file} has no build, and no step says what it touches",
            hint="look at folders instead: podium deps --by folder:1",
        )
    is_graph = any(step.needs is not None for step in context.file.steps.values())
    return NamedComponents(
        {name: step.touches or () for name, step in steps.items()},
        {name: tuple(step.needs or ()) for name, step in context.file.steps.items()},
        {} if is_graph else _in_order(list(steps)),
        file=file,
        places={name: _texts(step.path) for name, step in steps.items()},
        read_only=_foreign(file) or ("" if is_graph else "its steps run in the order of the file"),
    )


def _in_order(names: Sequence[str]) -> dict[str, Sequence[str]]:
    return {name: names[:number] for number, name in enumerate(names)}


def _texts(path: DocPath) -> tuple[str, ...]:
    return tuple(str(part) for part in path)


def _foreign(file: Path) -> str:
    tree = read_tree(file, Path.cwd())
    is_native = tree.node is not None and "podium" in fields(tree.node)
    return "" if is_native else f"{file} is in another format: podium convert {file}"
