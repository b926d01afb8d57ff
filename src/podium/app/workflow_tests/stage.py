"""A copy of a project in a repository of its own, in which a test of a workflow is played."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Final

from podium.app.author.load import load_workflow
from podium.app.memories import start_edit, store_file
from podium.app.paths import project_root
from podium.attempt.workspace.toolchain import FOLDERS, is_editable
from podium.core.model import Call
from podium.core.queries.steps import all_steps
from podium.core.types import Millis, Tree
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.files.inside import inside
from podium.files.project_paths import STATE_DIR
from podium.git.command import Git, run, text
from podium.git.repository import Repository, find, tree_with_uncommitted, trees
from podium.git.workdir.checkout import checkout
from podium.workflow.scripted.cast import NO_CAST, Cast, read_cast
from podium.workflow.scripted.test_file import DEFAULT_TIMEOUT, SUFFIX, Trial, TrialFile

PERSON: Final = (("user.name", "Podium test"), ("user.email", "test@podium.invalid"))


@dataclass(frozen=True, slots=True, kw_only=True)
class TestProject:
    """One test with all that it needs, the words for each put together with its own."""

    name: str
    project: Path
    workflow: Path
    """From the top of the project."""
    source: Path
    """The file with the rules of the cast."""
    cast: Cast | None
    replay: Path | None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    vars: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    memory: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    no_human: bool = False
    timeout: Millis = DEFAULT_TIMEOUT
    runs: int | None = None


def staged(path: Path, file: TrialFile, name: str, test: Trial) -> TestProject:
    """Raises ConfigurationError for what is named and not there."""
    folder = path.absolute().parent
    project = (folder / file.project).resolve() if file.project else project_root(folder)
    workflow = folder / (file.workflow or path.name.removesuffix(SUFFIX) + ".yaml")
    if not workflow.is_file() or not workflow.resolve().is_relative_to(project):
        raise ConfigurationError(
            f"{path}: {workflow.name} is not a file of {project}",
            hint="name it: workflow: FILE, and project: FOLDER",
        )
    source, cast = _cast(path, file, test)
    replay = test.replay or (file.replay if test.cast is None else None)
    return TestProject(
        name=name,
        project=project,
        workflow=workflow.resolve().relative_to(project),
        source=source,
        cast=None if replay else cast,
        replay=folder / replay if replay else None,
        inputs={**file.inputs, **test.inputs},
        vars={**file.vars, **test.vars},
        env={**file.env, **test.env},
        files={**file.files, **test.files},
        memory={**file.memory, **test.memory},
        no_human=test.no_human or file.no_human,
        timeout=test.timeout or file.timeout or DEFAULT_TIMEOUT,
        runs=test.runs or file.runs,
    )


def _cast(path: Path, file: TrialFile, test: Trial) -> tuple[Path, Cast | None]:
    """The rules of the test come first, then those for all tests if they are in the same file.

    Without any, agents answer as without a rule: a test never calls a real one.
    """
    cast = test.cast if test.cast is not None else file.cast
    if cast is None:
        return path, NO_CAST
    if isinstance(cast, str):
        return path.parent / cast, read_cast(path.parent / cast)
    shared = file.cast if isinstance(file.cast, tuple) and cast is not file.cast else ()
    return path, Cast({"rules": (*cast, *shared)})


@contextmanager
def stage(test: TestProject, *, keep: bool = False) -> Iterator[Path]:
    """The files of the project as they are now, committed as the first commit of a repository of its own."""
    place = Path(tempfile.mkdtemp(prefix="podium-test-")).resolve()
    try:
        others = _other_projects(test)
        around = Path(os.path.commonpath([test.project.parent, *(other.parent for other in others)]))
        folder = place / test.project.relative_to(around)
        _copy(test.project, folder, place / "git")
        for number, other in enumerate(others):
            _copy(other, place / other.relative_to(around), place / f"git-{number}")
            _commit(place / other.relative_to(around))
        for name, content in test.files.items():
            target = inside(folder, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content, "utf-8")
        _commit(folder)
        for name, contents in test.memory.items():
            for path, content in contents.items():
                store_file(folder, start_edit(folder, name), path, content)
        _lend(test.project, folder)
        yield folder
    finally:
        if not keep:
            shutil.rmtree(place, ignore_errors=True)


def _other_projects(test: TestProject) -> list[Path]:
    """The other repositories in which steps start runs; copies of them stand beside the copy of the project."""
    try:
        workflow = load_workflow(test.project / test.workflow, project=test.project, is_started=True).workflow
    except ConfigurationError:
        return []  # The test reports it.
    calls = (step.verb for _, step, _ in all_steps(workflow) if isinstance(step.verb, Call))
    folders = (test.project / call.place.folder for call in calls if call.place is not None)
    return list(dict.fromkeys(folder.resolve() for folder in folders))


def _copy(project: Path, folder: Path, store: Path) -> None:
    repository = find(project, store)
    if repository is None:
        shutil.copytree(project, folder, symlinks=True, ignore=shutil.ignore_patterns(STATE_DIR, *FOLDERS))
    else:
        checkout(repository, _files_below(repository, project), folder)


def _files_below(repository: Repository, project: Path) -> Tree:
    """Of the user's files as they are, those of the project, which may be a folder of a larger repository."""
    whole = tree_with_uncommitted(repository)
    below = project.relative_to(repository.root).as_posix()
    if below == ".":
        return whole
    return Tree(text(trees(repository), "rev-parse", "--verify", "--end-of-options", f"{whole}:{below}"))


def _commit(folder: Path) -> None:
    """All of it: also what is tracked although it is ignored."""
    bare = Git(folder / ".git")
    run(bare, "init", "--quiet", "--initial-branch=main")
    for key, value in PERSON:
        run(bare, "config", key, value)
    git = replace(bare, work_tree=folder)
    run(git, "add", "--all", "--force")
    run(git, "commit", "--quiet", "--allow-empty", "--message=The project under test")


def _lend(project: Path, folder: Path) -> None:
    """Toolchain folders; one in which the project itself is installed would test the user's files, not the copy."""
    names = [
        name
        for name in FOLDERS
        if (project / name).is_dir()
        and not (folder / name).exists()
        and not is_editable(project / name, project)
    ]
    for name in names:
        (folder / name).symlink_to(project / name)
    exclude = folder / ".git/info/exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text("".join(f"/{name}\n" for name in (STATE_DIR, *names)), "utf-8")
