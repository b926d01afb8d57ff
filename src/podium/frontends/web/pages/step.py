"""One step in all its attempts side by side, and the change between any two trees of a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from podium.app.query.activity import current_activity
from podium.app.query.diff import Span, change_of
from podium.app.query.evidence import changes_of
from podium.app.query.logs import log_files, pieces
from podium.app.query.shelf import FoldedRun, Shelf
from podium.core.types import Tree
from podium.errors import ConfigurationError
from podium.frontends.web.hub import Hub
from podium.frontends.web.pages.decide import OPEN_FILES, read_file
from podium.frontends.web.render import page
from podium.git.trees.diff import Change
from podium.views.run.attempts import AttemptView, attempts_of
from podium.views.run.verdicts import verdicts_of
from podium.views.run.view import RunView, StepView

TEXTS: Final = {"prompt.md": "What it was told", "answer.md": "What it said"}
MOST_TEXT: Final = 20_000
MOST_ATTEMPTS: Final = 12
TREE: Final = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


class Column(NamedTuple):
    attempt: AttemptView
    verdicts: tuple[dict[str, object], ...]
    """What gates and reviewers said about exactly the tree that the attempt left."""
    texts: tuple[tuple[str, str, bool], ...]
    """What it was told and what it said, and whether that was cut."""
    changes: int
    added: int
    removed: int

    @property
    def is_rejected(self) -> bool:
        """Whether the agent ended its work and a gate or a reviewer was against it."""
        return any(
            (row.get("decision") or row["outcome"]) not in ("passed", "approve") for row in self.verdicts
        )


def step(request: Request) -> Response:
    hub: Hub = request.app.state.hub
    shelf, run = hub.find(request.path_params["run"])
    path = request.path_params["path"]
    named = next((each for each in run.view.steps if each.path == path), None)
    if named is None:
        raise ConfigurationError(f'run {run.head.run} has no step "{path}"', code="unknown_step")
    attempts = [
        each
        for each in attempts_of(run.events, left=run.view.status in ("interrupted", "parked"))
        if each.path == path
    ]
    inner = [each for each in run.view.steps if each.parent == named.path and each.role != "gates"]
    return page(
        request,
        "step.html",
        view=run.view,
        step=named,
        columns=[_column(shelf, run, named, each) for each in attempts[-MOST_ATTEMPTS:]],
        left_out=max(0, len(attempts) - MOST_ATTEMPTS),
        inner=inner[:500],
        members=_members(inner),
        asks=(asks := _asks(run.view, (named, *inner))),
        beside=next((asks[each.path] for each in inner if each.path in asks), "")
        if _members(inner) and len(asks) > 2
        else "",
        activity=[each for each in current_activity(shelf.project.paths, run.view) if each.path == path],
        logs=[
            (number, file)
            for number, file in enumerate(log_files(shelf.project.paths, run.view))
            if file.step == path
        ][:60],
    )


def _asks(view: RunView, steps: Iterable[StepView]) -> dict[str, str]:
    """For each step the question in it or about its work: a step that a person holds up shows that, not that it works."""
    questions = [each.path for each in view.pending if each.actions]
    asks: dict[str, str] = {}
    for step in steps:
        inside = (f"{step.path}#", f"{step.path}/")
        for path in questions:
            if path == step.path or path.startswith(inside):
                asks.setdefault(step.path, path)
    return asks


def _members(inner: list[StepView]) -> bool:
    """Whether the steps in it did the same task, so that they are compared."""
    return len(inner) > 1 and all(each.worked for each in inner)


def _column(shelf: Shelf, run: FoldedRun, named: StepView, attempt: AttemptView) -> Column:
    changes: tuple[Change, ...] = ()
    if attempt.base is not None and attempt.tree is not None and attempt.base != attempt.tree:
        changes = changes_of(shelf.project, Span(attempt.base, attempt.tree))
    judged = [
        row for row in verdicts_of(run.events) if attempt.tree is not None and row["tree"] == attempt.tree
    ]
    return Column(
        attempt,
        tuple(judged) if attempt.tree != attempt.base else (),
        tuple(_texts(shelf, run, named, attempt.number)),
        len(changes),
        sum(each.added for each in changes),
        sum(each.removed for each in changes),
    )


def _texts(shelf: Shelf, run: FoldedRun, named: StepView, number: int) -> Iterator[tuple[str, str, bool]]:
    for file in log_files(shelf.project.paths, run.view._replace(steps=(named,))):
        if file.attempt == number and file.path is not None and file.path.name in TEXTS:
            data = next(pieces(file), b"")
            text = data.decode("utf-8", "replace")
            yield TEXTS[file.path.name], text[:MOST_TEXT], len(text) > MOST_TEXT


def diff(request: Request) -> Response:
    """Between the trees in the address, or of the whole run. Trees are names of objects; nothing else is passed to git."""
    hub: Hub = request.app.state.hub
    shelf, run = hub.find(request.path_params["run"])
    base, tree, only = (request.query_params.get(name, "") for name in ("base", "tree", "file"))
    if base or tree:
        trees = {each for at in attempts_of(run.events) for each in (at.base, at.tree)}
        trees |= {each for one in run.view.steps for each in (one.base, one.tree)} | {
            run.view.base,
            run.view.tree,
        }
        if not all(TREE.fullmatch(each) and each in trees for each in (base, tree)):
            raise ConfigurationError(f"run {run.head.run} has no such tree", code="unknown_step")
        span = Span(Tree(base), Tree(tree))
    else:
        span = change_of(run.view)
    changes = changes_of(shelf.project, span)
    chosen = [each for each in changes if not only or each.path == only][:OPEN_FILES]
    return page(
        request,
        "diff.html",
        view=run.view,
        span=span,
        changes=changes,
        files=[read_file(shelf, span, each) for each in chosen],
        only=only,
        left_out=len(changes) - len(chosen),
    )
