"""How the author of a file in the gates format calls its parts, for the folder `.workflow/` of a run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from podium.app.run.definition import read_kept
from podium.ports.store import RunHead
from podium.views.gates_layout import Layout

_NATIVE: Final = re.compile(r"^podium\s*:", re.MULTILINE)


def layout_of(spec: str) -> Layout | None:
    """None for a file of another format."""
    if _NATIVE.search(spec) is not None:
        return None
    # Imported only for files without the native mark, as the dialect itself is.
    from podium.workflow.dialects.gates.translate import labels_of
    from podium.workflow.source.files import tree_of
    from podium.workflow.source.yaml import load

    node = tree_of(load(spec, name=""), Path()).node
    labels = None if node is None else labels_of(node)
    return None if labels is None else Layout(labels.id, spec, labels.steps, labels.gates)


def layout_in(project: Path, file: str) -> Layout | None:
    """None also for a workflow that is no file."""
    path = project / file
    return layout_of(path.read_text("utf-8", "replace")) if path.is_file() else None


def layout_kept(state_dir: Path, head: RunHead) -> Layout | None:
    """From the file as it was when the run was started."""
    kept = read_kept(state_dir, head).get(f"files/project/{json.loads(head.source)['file']}")
    return None if kept is None else layout_of(kept.decode("utf-8", "replace"))
