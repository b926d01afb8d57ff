"""Why the judgement of the work does not cover what would land: the branch moved, or earlier tests are disputed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from anyio import to_thread

from podium.attempt.command.run import FailedRecheck, rerun
from podium.attempt.host import Host
from podium.core.globs import glob_matches
from podium.core.model import Verb
from podium.core.types import Tree
from podium.git.branches.land import Prepared
from podium.git.repository import Repository, tree_of, trees
from podium.git.trees.diff import changed_paths
from podium.git.trees.listing import files, read_listing
from podium.tasks.task import AttemptTask, CommandWork, LandWork
from podium.views.format import first_of
from podium.workflow.test_gates.files import is_test_file, matches_any
from podium.workflow.test_gates.listing import has_earlier_files, runs_tests, steering_of_step

SHOWN_TESTS: Final = 10


def unaccepted_tests(work: LandWork, repository: Repository, tree: Tree) -> str | None:
    """Names the disputed tests that no judge has accepted, unless their files are again as they were."""
    rows = [row for row in work.disputed if not _is_restored(row, repository, tree)]
    if not rows:
        return None
    named = first_of(
        [f"{row['test'] or ', '.join(row['files'])} ({row['why']})" for row in rows], SHOWN_TESTS
    )
    return (
        f"earlier tests do not pass on this work, and no reviewer and no person has accepted that: {named}; "
        "let a review or a person judge the work after the command that noticed them"
    )


def _is_restored(row: Mapping[str, Any], repository: Repository, tree: Tree) -> bool:
    return not set(row["files"]) & set(changed_paths(repository, Tree(row["base"]), tree))


async def doubt_about(
    work: LandWork, host: Host, repository: Repository, ready: Prepared
) -> tuple[str, str] | None:
    """Why the earlier judgement does not cover the prepared tree, as reason and message.

    At the landing the earlier tests are those of the branch, not those from before a step.
    """
    landing = ready.landing
    tip = await to_thread.run_sync(tree_of, repository, ready.tip)
    if not ready.moved:
        rechecks = await to_thread.run_sync(_with_later_tests, work.rechecks, repository, tip)
        return await _red(host, rechecks, tip, ready)
    if not ready.same_patch:
        return "conflict", (
            f'branch "{landing.branch}" has moved, and on top of it the change is no longer the one that was '
            "judged; it has to be made and judged again"
        )
    return await _red(host, work.rechecks, tip, ready)


async def _red(
    host: Host, rechecks: Iterable[AttemptTask], tip: Tree, ready: Prepared
) -> tuple[str, str] | None:
    red = await rerun(host, [_judged_by(recheck, tip) for recheck in rechecks], ready.tree)
    if not isinstance(red, FailedRecheck):
        return None
    branch = ready.landing.branch
    return "gates", f'on the current tip of "{branch}", {red.path} does not pass:\n{red.message}'


def _judged_by(recheck: AttemptTask, tip: Tree) -> AttemptTask:
    """The command with the tests of the branch as the earlier ones."""
    assert isinstance(recheck.work, CommandWork)
    return replace(recheck, work=replace(recheck.work, before=tip, protected_from=tip))


def _with_later_tests(
    rechecks: Iterable[AttemptTask], repository: Repository, tip: Tree
) -> tuple[AttemptTask, ...]:
    """Commands whose earlier tests were changed by this run before their own step began."""
    return tuple(
        recheck
        for recheck in rechecks
        if isinstance(recheck.work, CommandWork)
        and recheck.work.protected_from not in (None, tip)
        and has_earlier_files(recheck.step.verb)
        and _changes_tests(repository, tip, recheck.work, recheck.step.verb)
    )


def _changes_tests(repository: Repository, tip: Tree, work: CommandWork, verb: Verb) -> bool:
    assert work.protected_from is not None
    was_there = {path for path, _ in files(read_listing(trees(repository), tip))}
    steering = steering_of_step(verb)
    return any(
        matches_any(steering, path) or (runs_tests(verb) and is_test_file(path) and path in was_there)
        for path in changed_paths(repository, tip, work.protected_from)
        if not any(glob_matches(glob, path) for glob in work.waived)
    )
