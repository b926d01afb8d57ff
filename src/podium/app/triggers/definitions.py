"""Reads the triggers of a project from the commit of its default branch.

Rule: a trigger counts only if every file of its workflow is in the work tree exactly as it is committed there. So neither
an agent's edit nor an unfinished one of a person starts anything.
"""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from podium.errors import ConfigurationError, PodiumError
from podium.fast_dataclass import dataclass
from podium.git.branches.committed_files import branch_tip, default_branch, files_with_line, read_committed
from podium.git.repository import Repository

if TYPE_CHECKING:
    from podium.app.author.load import LoadedWorkflow
    from podium.app.project import Project
    from podium.workflow.schema.triggers import Trigger

SUFFIXES: Final = (".yaml", ".yml")
LINE: Final = "^triggers:"


@dataclass(frozen=True, slots=True)
class DefinedTrigger:
    file: str
    """The path of the workflow in the project."""
    name: str
    trigger: Trigger
    definition: LoadedWorkflow

    @property
    def label(self) -> str:
        return f"{self.file}: {self.name}"

    @property
    def key(self) -> tuple[str, str]:
        return (self.file, self.name)


@dataclass(frozen=True, slots=True)
class CommittedTriggers:
    branch: str
    commit: str
    triggers: tuple[DefinedTrigger, ...]
    refused: tuple[tuple[str, str], ...] = ()
    """Files whose triggers do not count now, and why."""


@dataclass(slots=True)
class TriggerReader:
    """Reads the triggers again when the branch or one of their files has changed."""

    project: Project
    repository: Repository
    branch: str | None = None
    """The branch that counts; None: the default branch."""
    _read: CommittedTriggers | None = None
    _stamps: dict[Path, tuple[int, int]] = field(default_factory=dict)

    def read(self) -> CommittedTriggers:
        branch = self.branch or default_branch(self.repository)
        commit = None if branch is None else branch_tip(self.repository, branch)
        if branch is None or commit is None:
            raise ConfigurationError(
                f"branch {branch or 'main'} does not exist, so there are no triggers",
                hint="commit the workflow, or name a branch: podium serve --branch NAME",
            )
        is_same = self._read is not None and (self._read.branch, self._read.commit) == (branch, commit)
        if (
            self._read is None
            or not is_same
            or any(_stamp(path) != old for path, old in self._stamps.items())
        ):
            self._stamps = {}
            self._read = self._read_all(branch, commit)
        return self._read

    def _read_all(self, branch: str, commit: str) -> CommittedTriggers:
        triggers: list[DefinedTrigger] = []
        refused: list[tuple[str, str]] = []
        for file in files_with_line(self.repository, commit, LINE, SUFFIXES):
            try:
                definition = self._load(file, branch, commit)
            except PodiumError as error:
                refused.append((file, error.message))
                continue
            own = definition.context.file.triggers
            triggers += [DefinedTrigger(file, name, trigger, definition) for name, trigger in own.items()]
        return CommittedTriggers(branch, commit, tuple(triggers), tuple(refused))

    def _load(self, file: str, branch: str, commit: str) -> LoadedWorkflow:
        path = self.project.root / file
        self._stamps[path] = _stamp(path)
        if not path.is_file():
            raise ConfigurationError(f"it is on {branch}, but not in the work tree")
        definition = self.project.load(path)
        for part in definition.paths:
            self._stamps[part] = _stamp(part)
            if part.is_relative_to(self.project.root):
                self._check_committed(part, branch, commit)
        return definition

    def _check_committed(self, path: Path, branch: str, commit: str) -> None:
        name = path.relative_to(self.project.root).as_posix()
        committed = read_committed(self.repository, commit, name)
        if committed is None:
            raise ConfigurationError(f"{name} is not committed on {branch}")
        # git may write other line ends into a work tree than into a commit.
        if path.read_bytes().replace(b"\r\n", b"\n") != committed.replace(b"\r\n", b"\n"):
            raise ConfigurationError(f"{name} differs from {branch}")


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)
