"""A project: its folders, its runs, and how this machine is prepared for them. The one entry for every frontend."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from podium.errors import ConfigurationError
from podium.files.project_paths import ProjectPaths
from podium.ports.child_runs import ChildRuns, NoChildRuns
from podium.ports.exporter import ExportersFor, RunExporter
from podium.ports.runtime import no_such_run

if TYPE_CHECKING:
    from podium.app.author.load import LoadedWorkflow
    from podium.app.commands import Commands
    from podium.app.queries import Queries
    from podium.app.run.drive import Observer
    from podium.attempt.host import Host
    from podium.core.hash_chain import RunId
    from podium.ports.history import LocalHistory
    from podium.ports.outbox import Messaging
    from podium.ports.runtime import Runtime
    from podium.ports.store import RunHead
    from podium.redaction.mask import Mask
    from podium.runtime.prepared_run import PreparedRun

HostFor: TypeAlias = "Callable[..., Host]"
"""The host of a run: (run, workflow, root, sandbox=level)."""
LATEST: Final = ("latest", "@1")


def alone(_other: Project, _run: RunId) -> Observer:
    from podium.app.run.drive import NO_OBSERVER

    return NO_OBSERVER


class Project:
    """What the use cases of one project work with; made by `wiring.open_project`, which chooses the adapters."""

    def __init__(
        self,
        paths: ProjectPaths,
        *,
        user_dir: Path | None,
        host_for: HostFor,
        exporters_for: ExportersFor,
        make_runtime: Callable[[Project], Runtime],
        open_history: Callable[[], LocalHistory],
        messaging: Messaging | None = None,
        child_runs: Callable[[Project, str | None], ChildRuns] = lambda _project, _sandbox: NoChildRuns(),
    ) -> None:
        self.paths = paths
        self.user_dir = user_dir
        self.prepared: dict[RunId, PreparedRun] = {}
        """Runs that were started here and are not driven yet."""
        self.driven: dict[RunId, PreparedRun] = {}
        """Runs that this process drives."""
        self.host_for = host_for
        self._exporters_for = exporters_for
        self.runtime = make_runtime(self)
        self.open_history = open_history
        """The caller closes it."""
        self.messaging = messaging
        """None for tests of workflows and for runs that are stored elsewhere, which tell nobody."""
        self.child_runs = child_runs
        """What starts runs in other projects of this machine, at the level of the sandbox that the user typed."""
        self.accompany: Callable[[Project, RunId], Observer] = alone
        """What accompanies a run in another project that a run of this one started."""

    @property
    def root(self) -> Path:
        return self.paths.root

    @property
    def commands(self) -> Commands:
        """What changes runs."""
        from podium.app.commands import Commands

        return Commands(self)

    @property
    def queries(self) -> Queries:
        """What only looks at runs."""
        from podium.app.queries import Queries

        return Queries(self)

    def run(self, name: str | None = None) -> RunHead:
        """By its id, by a beginning of it that no other run has, as @2 (the second newest), or the newest."""
        heads = self.runtime.heads()
        if not heads:
            raise ConfigurationError("no runs here yet", hint="podium run FILE starts one", code="no_runs")
        if name is None or name in LATEST:
            return heads[0]
        if name.startswith("@") and name[1:].isdecimal():
            return _by_number(heads, name)
        exact = [head for head in heads if head.run == name]
        matches = exact or [head for head in heads if name and head.run.startswith(name)]
        if not matches:
            raise no_such_run(name)
        if len(matches) > 1:
            some = ", ".join(head.run for head in matches[:5])
            raise ConfigurationError(
                f"{len(matches)} runs begin with {name}: {some}",
                hint="write more of the id",
                code="unknown_run",
            )
        return matches[0]

    def load(
        self,
        file: Path,
        *,
        settings: Mapping[str, Any] | None = None,
        is_started: bool = False,
        document: Mapping[str, Any] | None = None,
    ) -> LoadedWorkflow:
        """Read and check a workflow; raises with all its mistakes."""
        from podium.app.author.load import load_workflow

        return load_workflow(
            file,
            user_dir=self.user_dir,
            project=self.root,
            settings=settings,
            is_started=is_started,
            document=document,
        )

    def prepare(self, head: RunHead) -> PreparedRun:
        """Prepare a stored run: as it was started here, else with its definition as it is now."""
        from podium.app.run.start import prepare_stored

        started = self.prepared.pop(head.run, None)
        self.driven[head.run] = prepare_stored(self, head) if started is None else started
        return self.driven[head.run]

    def exporters_of(self, head: RunHead, mask: Mask) -> tuple[RunExporter, ...]:
        from podium.app.run.definition import workflow_text

        text = workflow_text(self.paths, head)
        return self._exporters_for(self.paths.run_dir(head.run), text, mask, self.root)

    def source_of_next(self, head: RunHead, inputs: Collection[str]) -> str:
        """What the run that continues this one as a new run is started with, apart from the values of these inputs."""
        from podium.app.run.series import next_source

        return next_source(head, inputs)

    def close(self) -> None:
        self.runtime.close()


def _by_number(heads: tuple[RunHead, ...], name: str) -> RunHead:
    number = int(name[1:])
    if not 1 <= number <= len(heads):
        raise ConfigurationError(
            f"run {name} not found: choose from @1 (the newest) to @{len(heads)}", code="unknown_run"
        )
    return heads[number - 1]
