"""What a workflow's `record` says about the folder of its run: a name in the project, and until when it is kept."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any, Final

from podium.core.expressions.values import Meter, plain
from podium.core.model import Call
from podium.core.state import State
from podium.errors import PathViolation
from podium.files import atomic
from podium.files.inside import inside
from podium.files.project_paths import EXPIRY, STATE_DIR
from podium.views.plain import as_text
from podium.workflow.schema.scalars import duration

RECORD: Final = "record.json"
"""What the workflow says about records, for a process that has only the folder and the log."""


def record_of(state: State | None, run_dir: Path) -> Mapping[str, Any]:
    """As the workflow says; without its state, as the last owner of the run wrote it down."""
    if state is not None:
        call = state.root.verb
        return call.workflow.config.record if isinstance(call, Call) else {}
    try:
        record = json.loads((run_dir / RECORD).read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def apply_record(state: State, run_dir: Path, project: Path) -> str | None:
    """Links the folder of a run to its name in the project and writes down when it expires; returns what went wrong."""
    started, record = state.started, record_of(state, run_dir)
    if started is None or not record:
        return None
    if not (run_dir / RECORD).exists():
        text = json.dumps(plain(record, Meter()), ensure_ascii=False)
        atomic.write(run_dir / RECORD, text.encode(), fsync=False)
    keep = record.get("keep")
    if keep and not (run_dir / EXPIRY).exists():
        atomic.write(run_dir / EXPIRY, f"{started.at + duration(keep)}\n".encode(), fsync=False)
    name = record.get("link")
    return None if not name else _link(_filled(str(name), state), run_dir, project)


def _filled(name: str, state: State) -> str:
    """The name with the date, the time and the inputs of the run; a path counts by the name of its file."""
    started = state.started
    assert started is not None
    local = datetime.fromtimestamp(started.at / 1000, UTC) + timedelta(minutes=started.run.utc_offset)
    values = {key: PurePosixPath(as_text(value)).stem for key, value in started.inputs.items()}
    words = {**values, "date": f"{local:%Y-%m-%d}", "time": f"{local:%H%M%S}", "run": started.run.id}

    def fill(match: re.Match[str]) -> str:
        return re.sub(r"[^A-Za-z0-9._-]+", "-", words.get(match[1], match[0])).strip(".-") or "none"

    return re.sub(r"\{(\w+)\}", fill, name)


def _link(name: str, run_dir: Path, project: Path) -> str | None:
    if STATE_DIR in PurePosixPath(name).parts:
        return f"the run cannot be linked as {name}: it is inside {STATE_DIR}"
    try:
        folder = inside(project, str(PurePosixPath(name).parent))
        place = folder / PurePosixPath(name).name
        target = os.path.relpath(run_dir, folder)
        if place.is_symlink() and os.readlink(place) == target:  # noqa: PTH115 (a relative target)
            return None
        folder.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)
    except (OSError, PathViolation) as error:
        return f"the run cannot be linked as {name}: {error}"
    return None
