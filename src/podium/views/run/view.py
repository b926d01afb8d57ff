"""A run as people look at it, gathered from its events in one pass.

Events alone give everything but two things that stand in the workflow: the text of a question and the limits of the
run. Who has the folded state hands it over as well (`with_state`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from podium.core.addresses import without_visit
from podium.core.events import Role
from podium.core.payloads import Verdict
from podium.core.types import MicroUsd, Millis, Outcome, Path, RunStatus, Tree
from podium.errors import ConfigurationError

StepStatus: TypeAlias = Literal["queued", "running", "checking", "retrying", "waiting", "ended"]
"""`checking`: it has answered, and its gates are at work."""

ViewStatus: TypeAlias = RunStatus | Literal["running", "interrupted", "waiting", "parked", "paused"]

BUSY: Final = ("running", "retrying")
NOTHING: Final[Mapping[str, Any]] = {}


class StepView(NamedTuple):
    """One visit of a step. Costs of a step with others inside contain theirs."""

    path: Path
    parent: Path
    role: Role
    visit: int
    entered: Millis
    status: StepStatus = "queued"
    outcome: Outcome | None = None
    reason: str = ""
    message: str = ""
    exit: int | None = None
    degraded: bool = False
    attempts: int = 0
    ended: Millis | None = None
    result: Mapping[str, Any] = NOTHING
    verdict: Verdict | None = None
    score: float | None = None
    base: Tree | None = None
    tree: Tree | None = None
    usd: MicroUsd = MicroUsd(0)
    tokens: int = 0
    calls: int = 0
    unknown_calls: int = 0
    items: tuple[Any, ...] = ()
    """What a loop goes over."""
    worked: bool = False
    """An attempt was made in it: it is a leaf that works."""
    reused: str = ""
    """The earlier run that its last answer was taken over from."""
    stale: bool = False
    """It no longer counts: control went back before it, or what it judged has been merged with other work since."""
    passed_over: tuple[str, ...] = ()
    """Why agents that should have worked did not, and the next of `fallback` was asked."""
    answered: int = 0
    """The attempt that its result is from; the next one may be under way."""
    fault: str = ""
    """Why the last attempt that was judged did not stand, in the words of whoever said so."""

    @property
    def step(self) -> str:
        """The name in the file: the address without its place, iteration, attempt and visit."""
        last = self.path.rpartition("/")[2]
        for sign in "~[#":
            last = last.partition(sign)[0]
        return last

    @property
    def words(self) -> str:
        """Why it ended as it did, in its own words: the engine's, the attempt's, or what was printed."""
        found = self.message or self.result.get("message") or self.result.get("text") or ""
        return found if isinstance(found, str) else ""

    @property
    def landed(self) -> tuple[str, str] | None:
        """The commit and the branch it was put on, if this step has moved a branch."""
        output = self.result.get("output")
        if self.outcome != "passed" or not isinstance(output, Mapping):
            return None
        commit, branch = output.get("commit"), output.get("branch")
        return (commit, branch) if isinstance(commit, str) and isinstance(branch, str) else None

    @property
    def depth(self) -> int:
        return self.path.count("/") + self.path.count("[") + (self.role == "gates")


class Pending(NamedTuple):
    """What a run waits for at one place."""

    path: Path
    kind: str
    """approval, question, exhausted, advice, consent, price, by_hand, quota, retry, or the word of a `wait`."""
    since: Millis
    due: Millis | None = None
    question: str = ""
    actions: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    approvals: int = 1
    given: tuple[str, ...] = ()
    about: str = ""
    shows: tuple[str, ...] = ()
    base: Tree | None = None
    tree: Tree | None = None
    name: str = ""
    """Of the signal."""


class AgentView(NamedTuple):
    """What one agent has used with one model (R208)."""

    agent: str
    model: str
    calls: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    usd: MicroUsd = MicroUsd(0)
    unknown_calls: int = 0


class LimitView(NamedTuple):
    unit: str
    limit: float
    used: float
    reserved: float = 0
    """For attempts in flight; of money, tokens and calls."""


class RunView(NamedTuple):
    run: str
    workflow: str
    status: ViewStatus
    started: Millis | None
    ended: Millis | None
    at: Millis
    """When the newest event happened."""
    seq: int
    """How many events it was made from."""
    outcome: Outcome | None
    reason: str
    message: str
    exit: int | None
    inputs: Mapping[str, Any]
    fingerprint: str
    branch: str
    base: Tree | None
    tree: Tree | None
    """The head: what the run has reached."""
    steps: tuple[StepView, ...]
    outputs: Mapping[str, Any]
    usd: MicroUsd
    tokens: int
    calls: int
    unknown_calls: int
    pending: tuple[Pending, ...]
    limits: tuple[LimitView, ...] = ()
    agents: tuple[AgentView, ...] = ()


def duration_of(step: StepView, now: Millis) -> Millis:
    return Millis(max(0, (now if step.ended is None else step.ended) - step.entered))


def elapsed(view: RunView, now: Millis) -> Millis:
    """From the start of a run to its end, or to now."""
    if view.started is None:
        return Millis(0)
    return Millis(max(0, (now if view.ended is None else view.ended) - view.started))


def held_against(view: RunView, pending: Pending) -> Tree | None:
    """What the tree that is asked about is compared with.

    A question about an attempt, such as a gate, is about what that attempt has changed; any other about the run's work.
    """
    steps = {step.path: step for step in view.steps}
    path = pending.path
    while path in steps:
        path = steps[path].parent
        around = steps.get(path)
        if around is not None and (around.role == "gates" or around.worked):
            return around.base
    return view.base


def fault_before(view: RunView, pending: Pending) -> str:
    """Why the attempts before a question did not stand, if that is why it is asked."""
    steps = {step.path: step for step in view.steps}
    step = steps.get(pending.path)
    asked = step if step is None or pending.kind == "by_hand" else steps.get(step.parent)
    return asked.fault if asked is not None and pending.kind in ("exhausted", "by_hand") else ""


def hand_folder(view: RunView, pending: Pending) -> str:
    """Where the work that a person does by hand is laid out, from the root of the project; empty if it is none."""
    step = next((step for step in view.steps if step.path == pending.path), None)
    if step is None or pending.kind != "by_hand":
        return ""
    return f".podium/runs/{view.run}/by_hand/{step.path.replace('/', '+')}/{step.attempts}"


def active(view: RunView) -> Iterable[StepView]:
    """The steps something happens in, without those that only hold them."""
    return (step for step in view.steps if step.status == "waiting" or (step.worked and step.status in BUSY))


def with_status(view: RunView, stored: str) -> RunView:
    """What the engine has noted: only it knows whether a process lives, and that a person works by hand."""
    if view.status in ("running", "waiting") and stored in ("waiting", "parked"):
        return view._replace(status="parked" if stored == "parked" else "waiting")
    return view


def steps_named(view: RunView, name: str) -> tuple[StepView, ...]:
    """Whom somebody means: by a name a step in all its visits and places, by an address all visits there, by `x~2` one.

    The address of a first visit is that of all of them, so the first alone is `x~1`. Raises where there is none.
    """
    place, tilde, visit = name.rpartition("~")
    if tilde:
        one = place if visit == "1" else name
        found = tuple(step for step in view.steps if step.path == one)
    else:
        found = tuple(step for step in view.steps if name in (without_visit(step.path), _name(step)))
    if not found:
        known = ", ".join(dict.fromkeys(step.step for step in view.steps)) or "none so far"
        raise ConfigurationError(f'run {view.run} has no step "{name}"', hint=f"its steps: {known}")
    return found


def _name(step: StepView) -> str | None:
    """The gates of a step bear its name, and are meant by their own address only."""
    return None if step.role == "gates" else step.step
