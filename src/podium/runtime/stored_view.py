"""The view of a run as its owner last wrote it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from podium.views.files.snapshot import RUN


def read_stored(run_dir: Path) -> dict[str, Any]:
    """The last `run.json` of a run, for the texts in it; empty if it is missing or unreadable."""
    try:
        stored = json.loads((run_dir / RUN).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return stored if isinstance(stored, dict) else {}
