"""Material for a reviewer: diff, whole files, plan, declared output, open findings; all as data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from podium.attempt.prompt import partials
from podium.attempt.prompt.excerpt import finished_before
from podium.attempt.prompt.feedback import findings_text
from podium.attempt.prompt.review_rounds import found_by, rounds_before
from podium.attempt.prompt.tree_files import files_of
from podium.attempt.site import Site
from podium.core.addresses import ROOT
from podium.core.expressions.values import ExprError, Meter, plain
from podium.core.model import Gates, Review
from podium.core.queries.graph import fresh_children
from podium.core.queries.step_results import fields_of, work_of
from podium.core.state import Instance, Leaf, Scope, State
from podium.core.types import Tree
from podium.git.repository import tree_of
from podium.git.trees.diff import changed_paths, diff
from podium.workflow.prompts.quoting import quote_block, truncate_middle

DIFF_BYTES: Final = 200_000
DELTA_BYTES: Final = 60_000
OUTPUT: Final = 20_000
SHOWN_PATHS: Final = 200


def judged_by(state: State, leaf: Leaf) -> tuple[tuple[Instance, ...], Tree | None]:
    """The steps whose work this reviewer judges, and the tree it is compared with: those its review names, else the
    step whose gate it is."""
    instance: Instance = leaf
    while instance.place.path != ROOT:
        verb = instance.place.step.verb
        if isinstance(verb, Review) and verb.of:
            works = tuple(work_of(state, instance, name) for name in verb.of)
            return works, works[0].base
        if isinstance(verb, Gates):
            return (state.instances[instance.place.parent],), instance.place.base
        instance = state.instances[instance.place.parent]
    return (), None


def material_of(site: Site, state: State, leaf: Leaf, tree: Tree | None, nonce: str) -> str:
    """What others wrote is enclosed here; the partial finds words for what stands around it."""
    works, base = judged_by(state, leaf)
    still_open = open_findings(state, leaf)
    plan = plan_before(state, leaf, works)
    facts = {
        "nonce": nonce,
        **_change(site, works, base, tree, nonce),
        "since": _since(site, state, leaf, tree, nonce),
        "results": [_result_of(state, work, nonce) for work in works],
        "plan": "" if plan is None else _result_of(state, plan, nonce, label="plan")["output"],
        "findings": quote_block(truncate_middle(still_open, DIFF_BYTES), "findings", nonce)
        if still_open
        else "",
    }
    return partials.render_partial(state, leaf.place, "judged", facts)


def _change(
    site: Site, works: tuple[Instance, ...], before: Tree | None, tree: Tree | None, nonce: str
) -> Mapping[str, Any]:
    nothing = {"has_diff": False, "paths": "", "diff": "", "cut": 0, "whole": "", "too_long": ""}
    if site.repository is None or tree is None or not works:
        return nothing
    base = before or tree_of(site.repository, None)
    paths = changed_paths(site.repository, base, tree)
    if not paths:
        return {**nothing, "has_diff": True}
    more = f"\n(and {len(paths) - SHOWN_PATHS} more)" if len(paths) > SHOWN_PATHS else ""
    change = diff(site.repository, base, tree, limit=DIFF_BYTES)
    return {
        "has_diff": True,
        "paths": quote_block("\n".join(paths[:SHOWN_PATHS]) + more, "files", nonce),
        "diff": quote_block(change.text, "diff", nonce),
        "cut": DIFF_BYTES if change.cut else 0,
        **whole_files(site, paths[:SHOWN_PATHS], nonce, before=base, after=tree),
    }


def _result_of(state: State, work: Instance, nonce: str, *, label: str = "output") -> Mapping[str, str]:
    output, text = _field(state, work, "output"), _field(state, work, "text")
    has_words = text and text != output
    return {
        "step": work.place.step.name,
        "output": ""
        if output is None
        else quote_block(truncate_middle(_written(output), OUTPUT), label, nonce),
        "words": quote_block(truncate_middle(str(text), OUTPUT // 4), "words", nonce) if has_words else "",
    }


def _field(state: State, work: Instance, key: str) -> Any:
    try:
        return fields_of(state, work)[key]
    except ExprError:
        return None


def _written(value: Any) -> str:
    return (
        value if isinstance(value, str) else json.dumps(plain(value, Meter()), ensure_ascii=False, indent=2)
    )


def _since(site: Site, state: State, leaf: Leaf, tree: Tree | None, nonce: str) -> str:
    """What is new since this review's last round: what it has looked at before need not be gone through again."""
    last = _last_round(state, leaf)
    before = None if last is None else last.place.start
    if site.repository is None or tree is None or before is None or before == tree:
        return ""
    change = diff(site.repository, before, tree, limit=DELTA_BYTES)
    return quote_block(truncate_middle(change.text, DELTA_BYTES), "delta", nonce)


def open_findings(state: State, leaf: Leaf) -> str:
    """What this review has said and is not fixed, so that the next round need not start from nothing."""
    review = _last_round(state, leaf)
    if review is None:
        return ""
    texts = (
        findings_text(state, child, {"findings": found_by(state, child)})
        for child in fresh_children(state, review)
    )
    return "\n".join(filter(None, texts))


def _last_round(state: State, leaf: Leaf) -> Scope | None:
    return next(rounds_before(state, leaf.place.parent), None)


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
        shown.append(quote_block(f"{path}:\n{content.decode('utf-8', 'replace')}", "file", nonce))
    return {
        "whole": "\n".join(shown),
        "too_long": quote_block("\n".join(too_long), "files", nonce) if too_long else "",
    }


def plan_before(state: State, leaf: Leaf, works: Sequence[Instance]) -> Instance | None:
    """The newest plan that is certainly finished, unless it is what is judged."""
    judged = {work.place.path for work in works}
    for step in reversed(finished_before(state, leaf)):
        is_plan = step.place.step.output.schema_name == PLAN and step.place.path not in judged
        if is_plan and step.ending is not None and step.ending.outcome == "passed":
            return step
    return None
