"""What the use cases of one project stand on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from podium.files.project_paths import ProjectPaths
from podium.ports.exporter import ExportersFor
from podium.ports.store import Store

if TYPE_CHECKING:
    from podium.attempt.site import Site


@dataclass(frozen=True, slots=True, kw_only=True)
class Office:
    project: Path
    state_dir: Path
    user_dir: Path | None
    store: Store
    site_for: Callable[..., Site]
    """The site of a run: (run, workflow, project, sandbox=level)."""
    exporters_for: ExportersFor

    @property
    def paths(self) -> ProjectPaths:
        return ProjectPaths(self.project, self.state_dir)

    def run_dir(self, run: str) -> Path:
        return self.paths.run_dir(run)
