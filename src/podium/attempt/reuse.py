"""Takes over what an earlier run has found out: what is asked again in exactly the same words is not done again (X10)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from anyio import to_thread

from podium.attempt.prior_results import NoPriorResult, timeless
from podium.attempt.site import Site
from podium.attempt.workspace.workspace import keep_attempt
from podium.core.decide.attempts import GONE
from podium.core.events import (
    ApprovalAsked,
    ApprovalGiven,
    AttemptEnded,
    AttemptStarted,
    JoinAsked,
    JoinEnded,
)
from podium.core.payloads import Amounts
from podium.git.repository import has_tree


async def reuse_or(
    site: Site, asked: AttemptStarted, key: str, work: Callable[[], Awaitable[AttemptEnded]]
) -> AttemptEnded:
    """The answer that was given to exactly this before, else what the work gives, marked for those who come later."""
    return await find_prior(site, asked, key) or replace(await work(), key=key)


async def find_prior(site: Site, asked: AttemptStarted, key: str) -> AttemptEnded | None:
    """The answer that was given to exactly this before. Raises NotKnown where nothing else may be done.

    Where the run counts on it and it is not there any more, the next attempt has to pay for one.
    """
    found = None if site.past is None else await to_thread.run_sync(_known, site, asked, key)
    if found is None and is_rehearsal(site):
        raise NoPriorResult
    if found is None and asked.taken:
        return AttemptEnded(site.now(), asked.path, asked.attempt, "transient", GONE)
    return found


def is_rehearsal(site: Site) -> bool:
    return site.past is not None and site.past.is_all


def prior_approvals(site: Site, asked: ApprovalAsked) -> tuple[ApprovalGiven, ...]:
    """What people have said to exactly this question about exactly this tree."""
    found = None if site.past is None else site.past.approvals.get(asked.path)
    if found is None:
        return ()
    then, given = found
    is_same = (then.key, then.tree, then.approvals) == (asked.key, asked.tree, asked.approvals)
    return tuple(given) if is_same else ()


def joined(site: Site, asked: JoinAsked) -> JoinEnded | None:
    """How the very same trees went together before."""
    found = None if site.past is None else site.past.joins.get(timeless(asked))
    if found is None or site.repository is None or found.tree is None:
        return None
    return replace(found, at=site.now()) if has_tree(site.repository, found.tree) else None


def _known(site: Site, asked: AttemptStarted, key: str) -> AttemptEnded | None:
    """It costs nothing, its tree is from now on this run's too, and its log stays where it was."""
    assert site.past is not None
    given = site.past.attempts.get((asked.path, key), ())
    # An attempt that the world cut short is not among them, so that the numbers may differ.
    found = next((end for end in given if end.attempt >= asked.attempt), None)
    if found is None:
        return None
    if site.repository is not None and found.tree is not None:
        if not has_tree(site.repository, found.tree):
            return None
        if not is_rehearsal(site):
            keep_attempt(site, site.repository, asked, found.tree)
    return replace(
        found,
        at=site.now(),
        attempt=asked.attempt,
        result=None
        if found.result is None
        else {key: value for key, value in found.result.items() if key not in ("log", "evidence")},
        used=Amounts(),
        cost_known=True,
        window=None,
        reused=found.reused or site.past.run,
    )
