"""What a command leaves behind for whoever doubts it: what ran on which tree, what it said, the reports it wrote."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from podium.attempt.command.evidence import read_bytes, report_paths
from podium.attempt.site import Site
from podium.attempt.workspace.workspace import Workspace
from podium.core.events import AttemptStarted
from podium.core.expressions.nodes import Names
from podium.core.model import Command
from podium.process.output import Captured

EVIDENCE: Final = "evidence"
"""The field of a result, and the folder of a run."""


@dataclass(frozen=True, slots=True)
class Shown:
    argv: tuple[str, ...]
    stdout: Captured
    stderr: Captured


def keep(
    site: Site, asked: AttemptStarted, verb: Command, names: Names, workspace: Workspace, shown: Shown
) -> dict[str, Any]:
    """Names of files are relative to the run's folder; a long output has its file there already."""
    folder = site.run_dir / EVIDENCE / asked.path.replace("/", "+") / str(asked.attempt)
    streams = {"stdout.txt": shown.stdout, "stderr.txt": shown.stderr}
    reports = {path: read_bytes(workspace.folder, path) for path in report_paths(verb, names)}
    return {
        "command": [site.mask.text(word) for word in shown.argv],
        "tree": asked.start,
        "laid_out": None if workspace.snapshot is None else workspace.snapshot.tree,
        "output": [
            _named(site, stream.path) if stream.path else _written(site, folder / name, stream.read())
            for name, stream in streams.items()
            if stream.size
        ],
        "reports": [
            _written(site, folder / "reports" / path.replace("/", "+"), site.mask.apply(content))
            for path, content in reports.items()
            if content is not None
        ],
    }


def _written(site: Site, place: Path, content: bytes) -> str:
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    place.write_bytes(content)
    return _named(site, place)


def _named(site: Site, place: Path) -> str:
    return place.relative_to(site.run_dir).as_posix()
