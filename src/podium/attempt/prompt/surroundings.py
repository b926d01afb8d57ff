"""What stands around a change: the files it is in, whole, and the plan it follows. A diff alone shows neither (R089)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from podium.attempt.prompt.excerpt import finished_before
from podium.attempt.prompt.tree_files import files_of
from podium.attempt.site import Site
from podium.core.state import Instance, Leaf, State
from podium.core.types import Tree
from podium.workflow.prompts.fenced import enclosed

FILES_BYTES: Final = 60_000
PLAN: Final = "Plan"


def whole_files(
    site: Site, paths: Iterable[str], nonce: str, *, before: Tree, after: Tree
) -> Mapping[str, Any]:
    """The files that were there before and are still there; of a new one the diff has every line."""
    old, new = files_of(site, before), files_of(site, after)
    room = FILES_BYTES
    shown: list[str] = []
    too_long: list[str] = []
    for path, content in new.read(path for path in paths if path in old.blobs and path in new.blobs):
        if b"\0" in content[:8000]:
            continue
        if len(content) > room:
            too_long.append(path)
            continue
        room -= len(content)
        shown.append(enclosed(f"{path}:\n{content.decode('utf-8', 'replace')}", "file", nonce))
    return {
        "whole": "\n".join(shown),
        "too_long": enclosed("\n".join(too_long), "files", nonce) if too_long else "",
    }


def plan_before(state: State, leaf: Leaf, works: Sequence[Instance]) -> Instance | None:
    """The newest plan that is certainly finished, unless it is what is judged."""
    judged = {work.place.path for work in works}
    for step in reversed(finished_before(state, leaf)):
        is_plan = step.place.step.output.schema_name == PLAN and step.place.path not in judged
        if is_plan and step.ending is not None and step.ending.outcome == "passed":
            return step
    return None
