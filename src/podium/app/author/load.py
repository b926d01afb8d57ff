"""Files on disk: check them, show what they resolve to, and load them for a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from podium.adapters.agents.registry import agent_types
from podium.errors import EXIT_CONFIGURATION, EXIT_PASSED, EXIT_PATH, ConfigurationError, PathViolation
from podium.fast_dataclass import dataclass
from podium.workflow.load import load
from podium.workflow.problems import EFFECT_RULE, did_you_mean, in_order, mistakes

if TYPE_CHECKING:
    from podium.core.model import Workflow
    from podium.workflow.context import WorkflowSource
    from podium.workflow.problems import Problem

PATH_RULE = 24
TEST_SUFFIX: Final = ".test.yaml"


@dataclass(frozen=True, slots=True)
class Checked:
    """The problems of one file."""

    path: Path
    problems: tuple[Problem, ...]
    workflow: Workflow | None = None
    """None if there is a mistake."""

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if not problem.warning)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.warning)

    @property
    def exit_code(self) -> int:
        if any(problem.rule == PATH_RULE for problem in self.errors):
            return EXIT_PATH
        return EXIT_CONFIGURATION if self.errors else EXIT_PASSED


def check(path: Path, *, user_dir: Path | None = None, settings: Mapping[str, Any] | None = None) -> Checked:
    """Every mistake in a file and in the files it uses; `settings` override them. A file of tests is checked as one."""
    if path.name.endswith(TEST_SUFFIX):
        return Checked(path, _problems_of_tests(path))
    loaded = load(path, agent_types=agent_types(), user_dir=user_dir, overrides=settings)
    return Checked(path, loaded.problems, loaded.workflow)


def _problems_of_tests(path: Path) -> tuple[Problem, ...]:
    from podium.workflow.problems import Problem
    from podium.workflow.scripted.test_file import read_tests

    try:
        read_tests(path)
    except ConfigurationError as error:
        rows = error.problems or (Problem(str(path), 1, 1, 1, error.message, error.hint or "").data(),)
        return tuple(Problem(**row) for row in rows)  # type: ignore[arg-type]  # rows of Problem.data
    return ()


@dataclass(frozen=True, slots=True)
class LoadedWorkflow:
    """A workflow without mistakes, and what it was read from; read once for everything that a run needs of it."""

    file: Path
    workflow: Workflow
    context: WorkflowSource
    paths: tuple[Path, ...]
    """Every file that had a part in it."""
    settings: Mapping[str, Any]
    """What the command line set over all files."""
    warnings: tuple[Problem, ...] = ()
    """What of a file in another format has no effect; a run prints them before it starts."""

    def check_inputs(self, inputs: Mapping[str, Any]) -> None:
        """Raises with all mistakes in the values of a run's inputs."""
        from podium.workflow.lint.rules.inputs import check_values

        checked = Checked(self.file, in_order(check_values(self.context, inputs)))
        if checked.errors:
            raise _mistakes(checked)
        if self.workflow.has_computed:
            from podium.app.values import check_settings

            check_settings(self.workflow, inputs)


def load_workflow(
    path: Path,
    *,
    user_dir: Path | None = None,
    project: Path | None = None,
    settings: Mapping[str, Any] | None = None,
    is_started: bool = False,
    document: Mapping[str, Any] | None = None,
) -> LoadedWorkflow:
    """Raises with all mistakes of the file. `is_started` says that it is the definition of a stored run, which may have been
    stored as `document`."""
    loaded = load(
        path,
        agent_types=agent_types(),
        user_dir=user_dir,
        project=project,
        overrides=settings,
        is_started=is_started,
        document=document,
    )
    if loaded.workflow is None:
        raise _mistakes(Checked(path, loaded.problems))
    assert loaded.context is not None
    warnings = tuple(problem for problem in loaded.problems if problem.rule == EFFECT_RULE)
    return LoadedWorkflow(path, loaded.workflow, loaded.context, loaded.paths, settings or {}, warnings)


def open_workflow(
    path: Path,
    *,
    user_dir: Path | None = None,
    project: Path | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Workflow:
    """A workflow that is ready to run; raises with all its mistakes otherwise."""
    return load_workflow(path, user_dir=user_dir, project=project, settings=settings).workflow


def _mistakes(checked: Checked) -> ConfigurationError | PathViolation:
    return mistakes(checked.errors, PathViolation if checked.exit_code == EXIT_PATH else ConfigurationError)


def resolved(
    path: Path,
    *,
    origin: bool = False,
    user_dir: Path | None = None,
    settings: Mapping[str, Any] | None = None,
) -> str:
    """The workflow with templates and configuration merged in."""
    from podium.workflow.merge.merge import merge
    from podium.workflow.merge.sources import gather
    from podium.workflow.merge.write_yaml import standalone, write_merged

    merged = merge(gather(path, user_dir=user_dir, overrides=settings))
    checked = Checked(path, tuple(merged.problems))
    if checked.errors:
        raise mistakes(checked.errors)
    return write_merged(merged, origin=True) if origin else write_merged(standalone(merged))


def converted(path: Path) -> str:
    """A file of another format as a native one; comments name what has no native form."""
    from podium.workflow.dialects.detect import MARK, translate
    from podium.workflow.merge.insert_steps import write_next_steps
    from podium.workflow.merge.judging_roles import choose_forms
    from podium.workflow.merge.sources import gather
    from podium.workflow.merge.templates import merge_templates
    from podium.workflow.merge.write_yaml import write_document
    from podium.workflow.source.files import read_tree
    from podium.workflow.source.nodes import fields

    tree = read_tree(path, Path.cwd())
    if tree.node is None:
        raise mistakes(tree.problems)
    done = None if MARK in fields(tree.node) else translate(tree.node)
    if done is None:
        fact = (
            "is native already" if MARK in fields(tree.node) else "has the shape of no format that is known"
        )
        raise ConfigurationError(f"{path} {fact}", hint="docs/how-to lists the formats: coming-from-*.md")
    checked = Checked(path, in_order((*tree.problems, *done.translation.problems)))
    if checked.errors:
        raise mistakes(checked.errors)
    node = done.node
    if done.kind == "workflow":
        sources = gather(path)
        steps = {name for file in sources.chain for name in fields(fields(file).get("steps"))}
        node = write_next_steps(node, merge_templates(sources.chain or (node,)).root)
        node = choose_forms(node, sources.layers, steps or {"plan"})
    remarks = [(warning.line, warning.message) for warning in checked.warnings]
    remarks += [(place.line, text) for place, text in done.translation.notes]
    notes = "".join(f"# Line {line}: {text}\n" for line, text in sorted(remarks))
    return f"# Translated from {path.name}, a file in the {done.dialect} format ({done.kind}).\n{notes}{write_document(node)}"


EXAMPLES: Final = {"int": "5", "number": "1.5", "bool": "true", "list": "[a, b]", "map": "{key: value}"}


def parse_inputs(pairs: tuple[str, ...], source: LoadedWorkflow | None = None) -> dict[str, Any]:
    """`key=value` pairs of a command line, with values of the declared types."""
    types = {} if source is None else {item.name: item.type for item in source.workflow.inputs}
    values: dict[str, Any] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key:
            raise ConfigurationError(f"{pair!r} is not an input", hint="write -i name=value")
        if source is not None and key not in types:
            hint = did_you_mean(key, types) or _inputs_hint(set(types))
            raise ConfigurationError(f'{source.workflow.name} has no input "{key}"', hint=hint)
        values[key] = _typed(source, key, value, types.get(key, "string"))
    return values


def _typed(source: LoadedWorkflow | None, key: str, value: str, kind: str) -> Any:
    if kind in ("string", "path"):
        return value
    from podium.workflow.source.yaml import load as load_yaml

    parsed = load_yaml(value, name=key).value
    accepted = {"int": int, "number": (int, float), "bool": bool, "list": list, "map": dict}[kind]
    if not isinstance(parsed, accepted) or (isinstance(parsed, bool) and kind != "bool"):  # type: ignore[arg-type]  # a type or types
        assert source is not None
        message, hint = f'input "{key}" must be {kind}, not {value!r}', f"-i {key}={EXAMPLES[kind]}"
        raise mistakes((source.context.problem(34, ("inputs", key), message, hint=hint, key=True),))
    return parsed


def _inputs_hint(names: set[str]) -> str:
    return f"its inputs are {', '.join(sorted(names))}" if names else "it has no inputs"
