"""Material for a reviewer: diff, complete files, plan, declared output, open findings; all as data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from podium.attempt.host import Host
from podium.attempt.prompt.tree_files import files_of
from podium.core.expressions.nodes import ExprError, NeedFact
from podium.core.expressions.values import Meter, plain
from podium.core.step_settings import WorkflowConfig
from podium.core.types import Tree
from podium.git.repository import tree_of
from podium.git.trees.diff import changed_paths, diff
from podium.tasks.partials import render_partial
from podium.tasks.task import ReviewScope, WorkResult
from podium.tasks.task_names import TaskNames
from podium.workflow.prompts.prompt import PromptError
from podium.workflow.prompts.quoting import quote_block, truncate_middle
from podium.workflow.prompts.render import parse_prompt, render

DIFF_BYTES: Final = 200_000
DELTA_BYTES: Final = 60_000
FILES_BYTES: Final = 60_000
OUTPUT: Final = 20_000
FOLDER: Final = "prompts"
SHOWN_PATHS: Final = 200


def material_of(
    host: Host, review: ReviewScope, config: WorkflowConfig, *, tree: Tree | None, nonce: str
) -> str:
    """Quotes texts written by agents; the partial provides the wording around them."""
    findings = truncate_middle(review.open_findings, DIFF_BYTES)
    facts = {
        "nonce": nonce,
        **_change(host, review, tree, nonce),
        "since": _since(host, review, tree, nonce),
        "asked": [one for work in review.works if (one := _assignment(host, work, config, nonce))],
        "inputs": _inputs(review, nonce),
        "results": [_result_of(work, nonce) for work in review.works],
        "plan": "" if review.plan is None else _result_of(review.plan, nonce, label="plan")["output"],
        "findings": quote_block(findings, "findings", nonce) if findings else "",
        **_disputed(review, nonce),
    }
    return render_partial(config, "judged", facts)


def _change(host: Host, review: ReviewScope, tree: Tree | None, nonce: str) -> Mapping[str, Any]:
    nothing = {"has_diff": False, "paths": "", "diff": "", "cut": 0, "whole": "", "too_long": ""}
    if host.repository is None or tree is None or not review.works:
        return nothing
    base = review.base or tree_of(host.repository, None)
    paths = changed_paths(host.repository, base, tree)
    if not paths:
        return {**nothing, "has_diff": True}
    more = f"\n(and {len(paths) - SHOWN_PATHS} more)" if len(paths) > SHOWN_PATHS else ""
    change = diff(host.repository, base, tree, limit=DIFF_BYTES)
    return {
        "has_diff": True,
        "paths": quote_block("\n".join(paths[:SHOWN_PATHS]) + more, "files", nonce),
        "diff": quote_block(change.text, "diff", nonce),
        "cut": DIFF_BYTES if change.cut else 0,
        **whole_files(host, paths[:SHOWN_PATHS], nonce, before=base, after=tree),
    }


def _disputed(review: ReviewScope, nonce: str) -> Mapping[str, str]:
    if not review.disputed:
        return {"disputed": "", "disputed_diff": ""}
    rows = (
        f"{row['id']}: {row['test'] or ', '.join(row['files'])} {row['problem']}; the author says: {row['why']}"
        for row in review.disputed
    )
    return {
        "disputed": quote_block(truncate_middle("\n".join(rows), OUTPUT), "tests", nonce),
        "disputed_diff": quote_block(truncate_middle(review.disputed_diff, DELTA_BYTES), "diff", nonce),
    }


def _assignment(host: Host, work: WorkResult, config: WorkflowConfig, nonce: str) -> Mapping[str, str] | None:
    """What a step was asked to do, as its agent was told."""
    text = "\n\n".join(filter(None, (work.description, _rendered(host, work, config).strip())))
    if not text:
        return None
    return {"step": work.step, "text": quote_block(truncate_middle(text, OUTPUT), "task", nonce)}


def _rendered(host: Host, work: WorkResult, config: WorkflowConfig) -> str:
    """The prompt with its values; as it is written if they cannot be known here."""
    if work.prompt is None or work.values is None:
        return ""
    name = work.prompt.file or ""
    folder = host.project / (Path(name).parent if name else FOLDER)
    try:
        prompt = parse_prompt(work.prompt.text, folder=folder, name=name, partials=config.partials)
        return render(prompt, _PromptNames(TaskNames(work.values)), fact=_no_fact)
    except (PromptError, ExprError, NeedFact):
        return work.prompt.text


class _PromptNames(Mapping[str, Any]):
    """The names of the judged step's prompt; the feedback of its attempts is not repeated."""

    def __init__(self, names: TaskNames) -> None:
        self._names = names

    def __getitem__(self, name: str) -> Any:
        return "" if name == "feedback" else self._names.lookup(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _no_fact(query: tuple[str, str]) -> Any:
    raise NeedFact(query)


def _inputs(review: ReviewScope, nonce: str) -> str:
    if not review.inputs:
        return ""
    return quote_block(truncate_middle(_written(review.inputs), OUTPUT), "inputs", nonce)


def _result_of(work: WorkResult, nonce: str, *, label: str = "output") -> Mapping[str, str]:
    output, text = work.output, work.text
    has_words = text and text != output
    return {
        "step": work.step,
        "output": ""
        if output is None
        else quote_block(truncate_middle(_written(output), OUTPUT), label, nonce),
        "words": quote_block(truncate_middle(text, OUTPUT // 4), "words", nonce) if has_words else "",
    }


def _written(value: Any) -> str:
    return (
        value if isinstance(value, str) else json.dumps(plain(value, Meter()), ensure_ascii=False, indent=2)
    )


def _since(host: Host, review: ReviewScope, tree: Tree | None, nonce: str) -> str:
    """The diff since the last round of this review."""
    before = review.last_round
    if host.repository is None or tree is None or before is None or before == tree:
        return ""
    change = diff(host.repository, before, tree, limit=DELTA_BYTES)
    return quote_block(truncate_middle(change.text, DELTA_BYTES), "delta", nonce)


def whole_files(
    host: Host, paths: Iterable[str], nonce: str, *, before: Tree, after: Tree
) -> Mapping[str, Any]:
    """Files that exist in both trees; the diff already has every line of a new file."""
    old, new = files_of(host, before), files_of(host, after)
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
