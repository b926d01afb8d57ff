"""The `git` verb: lands the head on a branch of the user's, or publishes it as a branch of its own.

Rule 1: a landing has one name per visit of its step, so it moves the branch at most once, whoever is killed when.
Rule 2: on a branch that has moved, what passed on the head must pass again, and the change must still be the one that
        was judged.
Rule 3: where the step has gates, what would land is judged first; only exactly that tree lands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, assert_never

from anyio import to_thread

from podium.attempt.command.run import FailedRecheck, rerun
from podium.attempt.file_facts import known_names
from podium.attempt.host import Host
from podium.attempt.landing.messages import clash_on_branch, in_the_way, left_behind, taken_off
from podium.attempt.result import attempt_ended
from podium.attempt.reuse import reuse_or
from podium.attempt.workspace.workspace import PODIUM, start_of
from podium.core.events import AttemptEnded, AttemptStarted
from podium.core.expressions.nodes import Names
from podium.core.expressions.templates import Value, fill
from podium.core.expressions.values import Meter, as_text
from podium.core.model import Git
from podium.core.types import MOVED, ONTO, Path, Tree
from podium.errors import ConfigurationError
from podium.git.branches.land import (
    How,
    InTheWay,
    Landed,
    Landing,
    Moved,
    Nothing,
    Piece,
    Prepared,
    follow,
    land,
    prepare,
)
from podium.git.branches.publish import Unpublished, publish
from podium.git.repository import Repository, Signature, commit_of, read_person, refs, tree_of, write_commit
from podium.git.trees.merge import Clashed, join
from podium.tasks.prior_results import request_key
from podium.tasks.report import AttemptResult
from podium.tasks.task import AttemptTask, EarlierLanding, LandWork

TRIES: Final = 5
"""How often a branch may be moved by others while we prepare, before that is a failure."""


async def work(task: AttemptTask, host: Host) -> AttemptEnded:
    verb = task.step.verb
    assert isinstance(verb, Git)
    values = (verb.land, verb.message, verb.branch, verb.push)
    names = await known_names(host, task.names(), values, task.view)
    key = request_key(task.started, "git", verb.how, *(fill(value, names) for value in values))
    return await reuse_or(host, task, key, lambda: _done(task, host, verb, names))


async def _done(task: AttemptTask, host: Host, verb: Git, names: Names) -> AttemptEnded:
    if verb.land is not None:
        message = None if verb.message is None else _text(verb.message, names)
        return await land_head(task, host, _text(verb.land, names), message, verb.how)
    tree = await to_thread.run_sync(start_of, host, _repository(host), task.started)
    if task.land_work.has_gates and task.land_work.judged != tree:
        onto = await to_thread.run_sync(tree_of, _repository(host), host.base_commit)
        return _proposed(host, task.started, tree, onto)
    return await _publish(task, host, verb, names)


async def land_head(
    task: AttemptTask, host: Host, branch: str, message: str | None, how: How = "squash"
) -> AttemptEnded:
    """Lands the tree that the attempt starts from; also for a person who asks for it when the run is over."""
    landing = await to_thread.run_sync(_landing, task, host, branch, message, how)
    return await _land(task, host, _repository(host), landing)


async def _land(task: AttemptTask, host: Host, repository: Repository, landing: Landing) -> AttemptEnded:
    asked = task.started
    for _ in range(TRIES):
        ready = await to_thread.run_sync(prepare, repository, landing)
        done: Landed | Nothing | Clashed | InTheWay | Moved
        if isinstance(ready, Prepared):
            held = await _held_back(task, host, repository, ready)
            if held is not None:
                return held
            done = await to_thread.run_sync(land, repository, ready)
        else:
            done = ready
        match done:
            case Moved():
                continue
            case Landed(taken_off=True):
                return _not(host, asked, "taken_off", taken_off(landing, done.commit))
            case Landed(again=True):
                # It landed before a crash; the checked-out files may still have to follow.
                behind = await to_thread.run_sync(follow, repository, landing, done.commit)
                return _landed(host, asked, landing, done.commit, behind)
            case Landed():
                return _landed(host, asked, landing, done.commit, done.left_behind)
            case Nothing():
                tip = await to_thread.run_sync(commit_of, refs(repository), f"refs/heads/{landing.branch}")
                # Or an earlier landing could not let them follow, and this one is asked to.
                behind = await to_thread.run_sync(follow, repository, landing)
                return _nothing(host, asked, landing, tip, behind)
            case Clashed():
                return _not(
                    host,
                    asked,
                    "conflict",
                    await to_thread.run_sync(clash_on_branch, task.land_work, repository, done.clashes),
                )
            case InTheWay():
                return _not(host, asked, "in_the_way", in_the_way(landing, done))
            case _:
                assert_never(done)
    return _not(host, asked, MOVED, f'branch "{landing.branch}" was moved {TRIES} times meanwhile')


async def _held_back(
    task: AttemptTask, host: Host, repository: Repository, ready: Prepared
) -> AttemptEnded | None:
    """Why this does not land now: what was judged does not hold for it, or its own gates have to judge it first."""
    asked, work = task.started, task.land_work
    if work.judged is not None and work.judged == ready.tree:
        return None
    doubt = await _doubt(work, host, ready)
    if doubt is not None:
        return _not(host, asked, *doubt)
    if not work.has_gates:
        return None
    if asked.attempt > TRIES:
        return _not(
            host, asked, MOVED, f'branch "{ready.landing.branch}" moved each time before the gates ended'
        )
    onto = await to_thread.run_sync(tree_of, repository, ready.tip)
    return _proposed(host, asked, ready.tree, onto)


async def _doubt(work: LandWork, host: Host, ready: Prepared) -> tuple[str, str] | None:
    """Why what was judged before does not hold for this."""
    landing = ready.landing
    if not ready.moved:
        return None
    if not ready.same_patch:
        return "conflict", (
            f'branch "{landing.branch}" has moved, and on top of it the change is no longer the one that was '
            "judged; it has to be made and judged again"
        )
    red = await rerun(host, work.rechecks, ready.tree)
    if isinstance(red, FailedRecheck):
        return "gates", f'on the present tip of "{landing.branch}", {red.path} does not pass:\n{red.message}'
    return None


def _proposed(host: Host, asked: AttemptStarted, tree: Tree, onto: Tree) -> AttemptEnded:
    """What would land, for the gates; the next attempt lands it."""
    result: AttemptResult = {"text": "to be judged before it lands", "files": [], ONTO: onto}
    return attempt_ended(host, asked, "ok", MOVED, result=result, tree=tree)


def _landing(task: AttemptTask, host: Host, branch: str, message: str | None, how: How) -> Landing:
    repository, asked, work = _repository(host), task.started, task.land_work
    tree = start_of(host, repository, asked)
    base = work.run_base or host.base_commit or None
    start = work.run_start or tree_of(repository, base)
    before = earlier(work, branch, "land")
    return Landing(
        run=host.run,
        id=f"{host.run}/{asked.path}",
        branch=branch,
        base=before[-1].commit if before else base,
        start=tree_landed(repository, before, start),
        tree=tree,
        how=how,
        message=f"{work.run_name} ({host.run})" if message is None else message,
        signature=_signature(repository, asked),
        pieces=tuple(Piece(one.tree, one.title) for one in work.pieces) if how == "commits" else (),
    )


def earlier(work: LandWork, branch: str, kind: str) -> tuple[EarlierLanding, ...]:
    """The `git` steps that have brought work to this branch before and are built on; in the order of their end."""
    return _among((one for one in work.earlier if one.kind == kind and one.branch == branch), work.builds_on)


def tree_landed(repository: Repository, before: Sequence[EarlierLanding], start: Tree) -> Tree:
    """The tree with all that was landed before and nothing of others: only what came since is new."""
    if not before:
        return start
    last = before[-1]
    if _among(before[:-1], last.builds_on) == tuple(before[:-1]):
        return last.tree
    tree = start
    for at, one in enumerate(before):
        fork = tree_landed(repository, _among(before[:at], one.builds_on), start)
        joined = join(repository, fork=fork, onto=tree, tree=one.tree)
        if isinstance(joined, Clashed):
            # Nothing counts as landed then: the change has to apply as a whole, or is refused as another one.
            return start
        tree = joined.tree
    return tree


def _among(landings: Iterable[EarlierLanding], paths: tuple[Path, ...]) -> tuple[EarlierLanding, ...]:
    return tuple(one for one in landings if one.path in paths)


def _repository(host: Host) -> Repository:
    if host.repository is None:
        raise ConfigurationError("there is no git repository here, so nothing can land", hint="git init")
    return host.repository


async def _publish(task: AttemptTask, host: Host, verb: Git, names: Names) -> AttemptEnded:
    repository, asked = _repository(host), task.started
    branch = _text(verb.branch, names)
    remote = None if verb.push is None else _text(verb.push, names)
    message = f"Work of run {host.run}" if verb.message is None else _text(verb.message, names)

    def put() -> tuple[str, Any]:
        before = earlier(task.land_work, branch, "branch")
        parent = before[-1].commit if before else host.base_commit
        commit = write_commit(
            repository,
            start_of(host, repository, asked),
            parents=() if parent is None else (parent,),
            message=message,
            signature=_signature(repository, asked),
        )
        return commit, publish(repository, commit, branch, remote=remote)

    commit, done = await to_thread.run_sync(put)
    if isinstance(done, Unpublished):
        return _not(host, asked, "publish", done.why)
    text = f'published as branch "{branch}"' + (f" on {remote}" if remote else "")
    return _passed(host, asked, text, commit, branch)


def _signature(repository: Repository, asked: AttemptStarted) -> Signature:
    """The time of the attempt, not of the moment: the same work done again after a crash is the same commit."""
    person = read_person(repository) or PODIUM
    return Signature(person, person, asked.at // 1000)


def _landed(
    host: Host, asked: AttemptStarted, landing: Landing, commit: str, behind: str | None
) -> AttemptEnded:
    notes = None if behind is None else left_behind(host.run, asked.path, landing, behind)
    return _passed(
        host, asked, f'landed on "{landing.branch}" as {commit[:12]}', commit, landing.branch, notes
    )


def _nothing(
    host: Host, asked: AttemptStarted, landing: Landing, tip: str | None, behind: str | None
) -> AttemptEnded:
    fact = "has all of it already" if tip else "was not made"
    notes = None if behind is None else left_behind(host.run, asked.path, landing, behind)
    text = f'there is nothing to land: "{landing.branch}" {fact}'
    return _passed(host, asked, text, tip or "", landing.branch, notes, unchanged=True)


def _passed(
    host: Host,
    asked: AttemptStarted,
    text: str,
    commit: str,
    branch: str,
    notes: str | None = None,
    *,
    unchanged: bool = False,
) -> AttemptEnded:
    output: dict[str, Any] = {"commit": commit, "branch": branch}
    result: AttemptResult = {"text": text, "output": output, "files": []}
    if unchanged:
        output["unchanged"] = True
    if notes is not None:
        output["notes"] = result["notes"] = notes
        result["text"] = f"{text}\n{notes}"
    return attempt_ended(host, asked, "ok", result=result, tree=asked.start)


def _not(host: Host, asked: AttemptStarted, reason: str, message: str) -> AttemptEnded:
    result: AttemptResult = {"text": message, "files": [], "message": message}
    return attempt_ended(host, asked, "failed", reason, result=result, tree=asked.start)


def _text(value: Value, names: Names) -> str:
    return as_text(fill(value, names), Meter())
