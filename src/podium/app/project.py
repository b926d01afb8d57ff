"""A project: its folders, its runs, and how this machine is prepared for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from podium.files.project_paths import ProjectPaths
from podium.ports.exporter import ExportersFor, RunExporter

if TYPE_CHECKING:
    from podium.attempt.site import Site
    from podium.core.hash_chain import RunId
    from podium.ports.runtime import Runtime
    from podium.ports.store import RunHead
    from podium.redaction.mask import Mask

SiteFor: TypeAlias = "Callable[..., Site]"
"""The site of a run: (run, workflow, project, sandbox=level)."""


class Office:
    """What the use cases of one project work with; made by `wiring`, which chooses the adapters."""

    def __init__(
        self,
        paths: ProjectPaths,
        *,
        user_dir: Path | None,
        site_for: SiteFor,
        exporters_for: ExportersFor,
        make_runtime: Callable[[Office], Runtime],
    ) -> None:
        self.paths = paths
        self.user_dir = user_dir
        self.sites: dict[RunId, Site] = {}
        """Sites of runs that were started here and are not driven yet: each is used once."""
        self.site_for = site_for
        self._exporters_for = exporters_for
        self.runtime = make_runtime(self)

    @property
    def project(self) -> Path:
        return self.paths.root

    @property
    def state_dir(self) -> Path:
        return self.paths.state_dir

    def run_dir(self, run: str) -> Path:
        return self.paths.run_dir(run)

    def site_of(self, head: RunHead) -> Site:
        """The site of a stored run: as it was started here, else made from its definition as it is now."""
        from podium.app.run.start import open_run

        started = self.sites.pop(head.run, None)
        return open_run(self, head) if started is None else started

    def exporters_of(self, head: RunHead, mask: Mask) -> tuple[RunExporter, ...]:
        from podium.app.run.definition import workflow_text

        text = workflow_text(self.project, self.state_dir, head)
        return self._exporters_for(self.run_dir(head.run), text, mask)
