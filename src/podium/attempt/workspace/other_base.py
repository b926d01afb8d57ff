"""An attempt that works at another branch, tag or commit; what it changed there is merged onto the files of the run.

Everything about the attempt is judged at that base: what it changed, `touches`, `protect`. Only its result is moved.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from anyio import to_thread

from podium.attempt.host import Host
from podium.attempt.workspace.workspace import change_between
from podium.core.events import AttemptEnded
from podium.core.expressions.templates import fill
from podium.core.types import Tree
from podium.errors import ConfigurationError
from podium.fast_dataclass import replace
from podium.git.repository import Repository, find_head, tree_of
from podium.git.trees.merge import Clashed, join
from podium.tasks.task import AttemptTask

MAX_PATHS: Final = 20
BASE: Final = "base_commit"


class _Base(NamedTuple):
    repository: Repository
    commit: str
    tree: Tree
    home: Tree
    """What the step would start from without `base`."""


async def work_at_base(
    task: AttemptTask, host: Host, work: Callable[[AttemptTask, Host], Awaitable[AttemptEnded]]
) -> AttemptEnded:
    base = await to_thread.run_sync(_find, task, host)
    start = await to_thread.run_sync(_start, base, task)
    moved = replace(
        task,
        # An earlier result is one on the files of its own run.
        prior=(),
        started=replace(task.started, base=base.tree, start=start),
        view=base.tree if task.view is not None else None,
    )
    ended = await work(moved, replace(host, context=replace(host.context, base_commit=base.commit)))
    return await to_thread.run_sync(_at_home, base, task, host, ended)


def _find(task: AttemptTask, host: Host) -> _Base:
    name = fill(task.step.settings.base, task.names())
    if host.repository is None:
        raise ConfigurationError(f'"{task.step.name}" has a base, and this is not a git repository')
    head = find_head(host.repository, str(name)) if isinstance(name, str) and name else None
    if head is None or head.commit is None:
        raise ConfigurationError(
            f'base of "{task.step.name}": there is no branch, tag or commit {name!r}',
            hint="git branch -a and git tag list what there is",
        )
    home = task.started.base or tree_of(host.repository, host.base_commit)
    return _Base(host.repository, head.commit, head.tree, home)


def _start(base: _Base, task: AttemptTask) -> Tree:
    """The base; with the work of an earlier attempt, if that can be brought back to it."""
    now = task.started.start
    if now in (None, base.home):
        return base.tree
    assert now is not None
    joined = join(base.repository, fork=base.home, onto=base.tree, tree=now)
    return base.tree if isinstance(joined, Clashed) else joined.tree


def _at_home(base: _Base, task: AttemptTask, host: Host, ended: AttemptEnded) -> AttemptEnded:
    """The end of the attempt as one on the files of the run."""
    result = {**(ended.result or {}), BASE: base.commit}
    ended = replace(ended, key="")
    if ended.tree in (None, base.tree):
        return replace(ended, tree=task.started.start if ended.kind != "ok" else base.home, result=result)
    assert ended.tree is not None
    joined = join(base.repository, fork=base.tree, onto=base.home, tree=ended.tree)
    if isinstance(joined, Clashed):
        if ended.kind != "ok":
            return replace(ended, tree=task.started.start, result=result)
        paths = ", ".join([clash.path for clash in joined.clashes][:MAX_PATHS])
        message = f"the change was made at {base.commit[:12]} and clashes with the files of the run: {paths}"
        refused = {**result, "message": host.mask.text(message)}
        return replace(
            ended, kind="failed", reason="conflict", result=refused, tree=task.started.start, change=None
        )
    change = change_between(base.repository, base.home, joined.tree) if ended.change is not None else None
    return replace(ended, tree=joined.tree, change=change, result=result)
