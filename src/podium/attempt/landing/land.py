"""The `git` verb: lands the head on a branch of the user, or publishes it as a new branch.

Rule 1: a landing has one id per visit of its step, so it moves the branch at most once, even after a crash.
Rule 2: if the branch has moved, commands that passed on the head must pass again, and the change must still be the one
        that was judged.
Rule 3: if the step has gates, they judge the tree that would land; only exactly that tree lands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, assert_never

from anyio import CancelScope, to_thread

from podium.attempt.file_facts import known_names
from podium.attempt.host import Host
from podium.attempt.landing.doubts import doubt_about, unaccepted_tests
from podium.attempt.landing.messages import in_the_way, left_behind, taken_off
from podium.attempt.landing.rebase import as_record, clash_message, keep_rebase, left_markers, rebase_of
from podium.attempt.result import attempt_ended
from podium.attempt.reuse import reuse_or
from podium.attempt.workspace.workspace import PODIUM, change_between, start_of
from podium.core.events import AttemptEnded, AttemptStarted
from podium.core.expressions.nodes import Names, Node
from podium.core.expressions.templates import Value, fill
from podium.core.expressions.values import Meter, as_text
from podium.core.model import Git
from podium.core.payloads import Rebase
from podium.core.types import MOVED, ONTO, Address, Tree
from podium.errors import ConfigurationError
from podium.git.branches.land import (
    BranchClash,
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
from podium.git.branches.publish import Unpublished, publish, stash
from podium.git.branches.pull_request import default_remote, merge_request, open_request, program_for
from podium.git.repository import (
    Repository,
    Signature,
    commit_of,
    read_head,
    read_person,
    refs,
    tree_of,
    write_commit,
)
from podium.git.trees.merge import Clashed, join
from podium.tasks.prior_results import request_key
from podium.tasks.report import AttemptResult
from podium.tasks.task import AttemptTask, EarlierLanding, LandWork

TRIES: Final = 5
"""How often others may move the branch during preparation before the landing fails."""


async def work(task: AttemptTask, host: Host) -> AttemptEnded:
    verb = task.step.verb
    assert isinstance(verb, Git)
    stash_values = () if verb.stash is None else (verb.stash,)
    values = (verb.land, verb.message, verb.branch, verb.push, *stash_values)
    if isinstance(verb.land, tuple | Node):
        # A run that is cancelled after a crash in the middle does this too, before anything notices the cancel.
        from podium.attempt.landing.land_all import restore

        with CancelScope(shield=True):
            await restore(task, host, verb, _landing)
    names = await known_names(host, task.names(), values, task.view)
    request = () if verb.pull_request is None else (verb.pull_request,)
    key = request_key(task.started, "git", verb.how, *(fill(value, names) for value in values), *request)
    return await reuse_or(host, task, key, lambda: _land_or_publish(task, host, verb, names))


async def _land_or_publish(task: AttemptTask, host: Host, verb: Git, names: Names) -> AttemptEnded:
    if verb.land is not None:
        message = None if verb.message is None else _text(verb.message, names)
        branches = fill(verb.land, names)
        if isinstance(branches, list | tuple):
            from podium.attempt.landing.land_all import land_all

            return await land_all(
                task, host, branches, lambda name: _landing(task, host, name, message, verb.how)
            )
        return await land_head(task, host, as_text(branches, Meter()), message, verb.how)
    if verb.stash is not None:
        return await _stash(task, host, _text(verb.stash, names))
    tree = await to_thread.run_sync(start_of, host, _repository(host), task.started)
    is_judged = not task.land_work.has_gates or task.land_work.judged == tree
    unaccepted = await to_thread.run_sync(unaccepted_tests, task.land_work, _repository(host), tree)
    if is_judged and unaccepted is not None:
        return _failed(host, task.started, "disputed_tests", unaccepted)
    if not is_judged:
        onto = await to_thread.run_sync(tree_of, _repository(host), host.base_commit)
        return await _proposed(host, task.started, tree, onto)
    return await _publish(task, host, verb, names)


async def land_head(
    task: AttemptTask, host: Host, branch: str, message: str | None, how: How = "squash"
) -> AttemptEnded:
    """Lands the tree that the attempt starts from; also used by `podium apply` after the run."""
    landing = await to_thread.run_sync(_landing, task, host, branch, message, how)
    return await _land(task, host, _repository(host), landing)


async def _land(task: AttemptTask, host: Host, repository: Repository, landing: Landing) -> AttemptEnded:
    started = task.started
    for _ in range(TRIES):
        ready = await to_thread.run_sync(prepare, repository, landing)
        done: Landed | Nothing | BranchClash | InTheWay | Moved
        if isinstance(ready, Prepared):
            held_back = await _held_back(task, host, repository, ready)
            if held_back is not None:
                return held_back
            done = await to_thread.run_sync(land, repository, ready)
        else:
            done = ready
        match done:
            case Moved():
                continue
            case Landed(taken_off=True):
                return _failed(host, started, "taken_off", taken_off(landing, done.commit))
            case Landed(already_landed=True):
                # It landed before a crash; the checked-out files may still have to be updated.
                behind = await to_thread.run_sync(follow, repository, landing, done.commit)
                return _landed(host, started, landing, done.commit, behind)
            case Landed():
                return _landed(host, started, landing, done.commit, done.left_behind)
            case Nothing():
                tip = await to_thread.run_sync(commit_of, refs(repository), f"refs/heads/{landing.branch}")
                # An earlier landing may have failed to update the checked-out files, so try again.
                behind = await to_thread.run_sync(follow, repository, landing)
                return _nothing(host, started, landing, tip, behind)
            case BranchClash():
                message = await to_thread.run_sync(
                    clash_message, repository, task.land_work, landing.branch, done
                )
                return await _sent_back(task, host, repository, landing, done, ("conflict", message))
            case InTheWay():
                return _failed(host, started, "in_the_way", in_the_way(landing, done))
            case _:
                assert_never(done)
    return _failed(
        host, started, MOVED, f'branch "{landing.branch}" was moved {TRIES} times during the landing'
    )


async def _held_back(
    task: AttemptTask, host: Host, repository: Repository, ready: Prepared
) -> AttemptEnded | None:
    """Why this does not land now: the judgement does not cover it, or the step's gates have to judge it first."""
    started, work = task.started, task.land_work
    unaccepted = await to_thread.run_sync(unaccepted_tests, work, repository, ready.tree)
    # The gates of this step judge what the run has left open, and may still accept it.
    if unaccepted is not None and (not work.has_gates or work.judged == ready.tree):
        return _failed(host, started, "disputed_tests", unaccepted)
    markers = await to_thread.run_sync(left_markers, repository, work, ready.tree)
    if markers is not None:
        return await _sent_back(task, host, repository, ready.landing, ready, ("conflict", markers))
    if work.judged is not None and work.judged == ready.tree:
        return None
    doubt = await doubt_about(work, host, repository, ready)
    if doubt is not None:
        return await _sent_back(task, host, repository, ready.landing, ready, doubt)
    if not work.has_gates:
        return None
    if started.attempt > TRIES:
        return _failed(
            host, started, MOVED, f'branch "{ready.landing.branch}" moved each time before the gates ended'
        )
    onto = await to_thread.run_sync(tree_of, repository, ready.tip)
    return await _proposed(host, started, ready.tree, onto)


async def _sent_back(
    task: AttemptTask,
    host: Host,
    repository: Repository,
    landing: Landing,
    merge: BranchClash | Prepared,
    why: tuple[str, str],
) -> AttemptEnded:
    """A landing that failed because of the branch, with its work merged onto it for the step that continues it."""

    def merged() -> Rebase | None:
        is_unmoved = isinstance(merge, Prepared) and not merge.moved
        rebase = None if is_unmoved else rebase_of(repository, task.land_work, landing, merge)
        if rebase is not None:
            keep_rebase(repository, host.run, task.started.path, rebase, landing.signature.at_s)
        return rebase

    reason, message = why
    result: AttemptResult = {"text": message, "files": [], "message": message}
    rebase = await to_thread.run_sync(merged)
    if rebase is not None:
        result["rebase"] = as_record(rebase)
    return attempt_ended(host, task.started, "failed", reason, result=result, tree=task.started.start)


async def _proposed(host: Host, started: AttemptStarted, tree: Tree, onto: Tree) -> AttemptEnded:
    """The tree that would land, and how it changes the branch, for the gates to judge; the next attempt lands it."""
    change = await to_thread.run_sync(change_between, _repository(host), onto, tree)
    result: AttemptResult = {"text": "to be judged before it lands", "files": [], ONTO: onto}
    return attempt_ended(host, started, "ok", MOVED, result=result, tree=tree, change=change)


def _landing(task: AttemptTask, host: Host, branch: str, message: str | None, how: How) -> Landing:
    repository, started, work = _repository(host), task.started, task.land_work
    tree = start_of(host, repository, started)
    base = work.run_base or host.base_commit or None
    start = work.run_start or tree_of(repository, base)
    before = earlier(work, branch, "land")
    return Landing(
        run=host.run,
        id=f"{host.run}/{started.path}",
        branch=branch,
        base=before[-1].commit if before else base,
        start=tree_landed(repository, before, start),
        tree=tree,
        how=how,
        message=f"{work.run_name} ({host.run})" if message is None else message,
        signature=_signature(repository, started),
        pieces=tuple(Piece(piece.tree, piece.title) for piece in work.pieces) if how == "commits" else (),
    )


def earlier(work: LandWork, branch: str, kind: str) -> tuple[EarlierLanding, ...]:
    """Earlier landings on this branch that the work builds on, in the order in which they ended."""
    landings = (landing for landing in work.earlier if landing.kind == kind and landing.branch == branch)
    return _among(landings, work.builds_on)


def tree_landed(repository: Repository, before: Sequence[EarlierLanding], start: Tree) -> Tree:
    """The tree with everything that this run landed before, so that only later changes count as new."""
    if not before:
        return start
    last = before[-1]
    if _among(before[:-1], last.builds_on) == tuple(before[:-1]):
        return last.tree
    tree = start
    for at, landing_before in enumerate(before):
        fork = tree_landed(repository, _among(before[:at], landing_before.builds_on), start)
        joined = join(repository, fork=fork, onto=tree, tree=landing_before.tree)
        if isinstance(joined, Clashed):
            # Then treat nothing as landed: the change has to apply as a whole, or it is refused.
            return start
        tree = joined.tree
    return tree


def _among(landings: Iterable[EarlierLanding], paths: tuple[Address, ...]) -> tuple[EarlierLanding, ...]:
    return tuple(landing for landing in landings if landing.path in paths)


def _repository(host: Host) -> Repository:
    if host.repository is None:
        raise ConfigurationError("not a git repository: nothing can land", hint="git init")
    return host.repository


async def _publish(task: AttemptTask, host: Host, verb: Git, names: Names) -> AttemptEnded:
    repository, started = _repository(host), task.started
    branch = _text(verb.branch, names)
    remote = None if verb.push is None else _text(verb.push, names)
    if verb.pull_request is not None and remote is None:
        remote = await to_thread.run_sync(default_remote, repository)
    message = f"Work of run {host.run}" if verb.message is None else _text(verb.message, names)

    def put() -> tuple[str, Any]:
        before = earlier(task.land_work, branch, "branch")
        parent = before[-1].commit if before else task.land_work.run_base or host.base_commit
        tree = start_of(host, repository, started)
        # A branch without any work yet begins at the commit that the run started from.
        is_empty = parent is not None and tree == tree_of(repository, parent)
        commit = (
            parent
            if parent is not None and is_empty
            else write_commit(
                repository,
                tree,
                parents=() if parent is None else (parent,),
                message=message,
                signature=_signature(repository, started),
            )
        )
        return commit, publish(repository, commit, branch, remote=remote)

    commit, done = await to_thread.run_sync(put)
    if isinstance(done, Unpublished):
        return _failed(host, started, "publish", done.why)
    text = f'published as branch "{branch}"' + (f" on {remote}" if remote else "")
    if verb.pull_request is not None and remote is not None:
        title = message if verb.message is not None else task.land_work.run_name
        text = await to_thread.run_sync(_pull_request, repository, verb.pull_request, (branch, remote, title))
    return _passed(host, started, text, commit, branch)


def _pull_request(
    repository: Repository, action: Literal["open", "merge"], about: tuple[str, str, str]
) -> str:
    branch, remote, title = about
    program = program_for(repository, remote)
    if program is None:
        return f'pushed as branch "{branch}" to {remote}; neither gh nor glab is installed, so {action} its pull request there'
    if action == "merge":
        merge_request(repository, program, branch)
        return f'merged the pull request of "{branch}" with {program}'
    address = open_request(repository, program, branch, read_head(repository).branch or "main", title)
    return f'opened a pull request for "{branch}" with {program}: {address}'


async def _stash(task: AttemptTask, host: Host, message: str) -> AttemptEnded:
    """Keeps the head as an entry of the user's `git stash`; their files and branches stay as they are."""
    repository, started = _repository(host), task.started

    def put() -> str | None:
        base = task.land_work.run_base or host.base_commit or None
        tree = start_of(host, repository, started)
        if base is None or tree == tree_of(repository, base):
            return None
        return stash(repository, tree, base, message=message, signature=_signature(repository, started))

    commit = await to_thread.run_sync(put)
    if commit is None:
        return _passed(host, started, "there is nothing to stash", "", "", unchanged=True)
    return _passed(host, started, f"kept as stash {commit[:12]}: git stash pop brings it back", commit, "")


def _signature(repository: Repository, started: AttemptStarted) -> Signature:
    """Uses the start time of the attempt, so that repeating it after a crash makes the same commit."""
    person = read_person(repository) or PODIUM
    return Signature(person, person, started.at // 1000)


def _landed(
    host: Host, started: AttemptStarted, landing: Landing, commit: str, behind: str | None
) -> AttemptEnded:
    notes = None if behind is None else left_behind(host.run, started.path, landing, behind)
    return _passed(
        host, started, f'landed on "{landing.branch}" as {commit[:12]}', commit, landing.branch, notes
    )


def _nothing(
    host: Host, started: AttemptStarted, landing: Landing, tip: str | None, behind: str | None
) -> AttemptEnded:
    fact = "already has all changes" if tip else "was not created"
    notes = None if behind is None else left_behind(host.run, started.path, landing, behind)
    text = f'nothing to land: "{landing.branch}" {fact}'
    return _passed(host, started, text, tip or "", landing.branch, notes, unchanged=True)


def _passed(
    host: Host,
    started: AttemptStarted,
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
    return attempt_ended(host, started, "ok", result=result, tree=started.start)


def _failed(host: Host, started: AttemptStarted, reason: str, message: str) -> AttemptEnded:
    result: AttemptResult = {"text": message, "files": [], "message": message}
    return attempt_ended(host, started, "failed", reason, result=result, tree=started.start)


def _text(value: Value, names: Names) -> str:
    return as_text(fill(value, names), Meter())
