"""The view of a run, built from its events in one pass.

Events contain everything but the texts of questions and the limits, which are in the workflow; callers with the folded
state add them with `with_state`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Self, TypeAlias

from podium.core.addresses import ROOT, without_visit
from podium.core.events import ApprovalAsked
from podium.core.payloads import RaisedLimit, RunFacts, Verdict
from podium.core.types import ACTIONS, Address, MicroUsd, Millis, Outcome, Role, RunStatus, Tree
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass, quick, replacer
from podium.views.run.labels import labelled, native_address
from podium.views.run.why import Cause, cause_line

if TYPE_CHECKING:
    from podium.core.model import Labels

StepStatus: TypeAlias = Literal["queued", "running", "checking", "retrying", "waiting", "ended"]
"""`checking`: it has answered, and its gates are running."""

ViewStatus: TypeAlias = RunStatus | Literal["running", "interrupted", "waiting", "parked", "paused"]

BUSY: Final = ("running", "retrying")
NOTHING: Final[Mapping[str, Any]] = {}


class GuidanceView(NamedTuple):
    """A text from a person for an attempt that was working, or for the next one if that could not take it."""

    attempt: int
    text: str
    by: str = ""
    refused: str = ""
    """Why the attempt did not get it; empty if it did."""


@quick
@dataclass(frozen=True, slots=True)
class StepView:
    """One visit of a step. The costs of a scope include those of its children."""

    path: Address
    parent: Address
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
    """The items of a loop."""
    worked: bool = False
    """True if it has had an attempt, so it is a leaf that works."""
    reused: str = ""
    """The earlier run whose answer it reused."""
    stale: bool = False
    """True if its result is no longer valid: the run jumped back, or the judged tree was merged with other work."""
    workers: tuple[tuple[int, str], ...] = ()
    """The agent with its model that made the attempts from this one on, whenever it was another than before."""
    passed_over: tuple[str, ...] = ()
    """For each agent that was replaced by the next one in `fallback`, the reason."""
    answered: int = 0
    """The attempt that its result is from; the next one may be running."""
    cause: Cause | None = None
    """Why it did not pass, or while it has not ended, why its last judged attempt failed."""
    repaired: tuple[int, ...] = ()
    """The attempts that were only asked to repair the form of an answer."""
    about: str = ""
    """For a question or advice: the rule that it is about."""
    guidance: tuple[GuidanceView, ...] = ()
    replied: tuple[str, ...] = ()
    """The members of the team with whose replies the newest attempt continues."""

    if TYPE_CHECKING:

        def _replace(self, **changes: Any) -> Self: ...

    @property
    def step(self) -> str:
        """The name in the file: the last part of the address without iteration, attempt and visit."""
        last = self.path.rpartition("/")[2]
        for sign in "~[#":
            last = last.partition(sign)[0]
        return last

    @property
    def why(self) -> str:
        """The cause in one line."""
        return cause_line(self.cause, self.path)

    @property
    def tries(self) -> int:
        """Its attempts without repairs of answers."""
        return self.attempts - len(self.repaired)

    @property
    def words(self) -> str:
        """An explanation of its outcome: the engine's message, the attempt's, or its output."""
        text = self.message or self.result.get("message") or self.result.get("text") or ""
        return text if isinstance(text, str) else ""

    @property
    def done_by(self) -> str:
        """The person who did its work in an agent's program, and the agent; empty if the agent worked alone."""
        by, agent = self.result.get("by"), self.result.get("agent")
        return f"by {by} with {agent}" if isinstance(by, str) and isinstance(agent, str) else ""

    @property
    def landed(self) -> tuple[str, str] | None:
        """The commit and the branch, if this step has landed a commit on a branch."""
        output = self.result.get("output")
        if self.outcome != "passed" or not isinstance(output, Mapping):
            return None
        commit, branch = output.get("commit"), output.get("branch")
        return (commit, branch) if isinstance(commit, str) and isinstance(branch, str) else None

    @property
    def depth(self) -> int:
        return self.path.count("/") + self.path.count("[") + (self.role == "gates")


with_end: Final = replacer(
    StepView,
    *("status", "outcome", "reason", "message", "exit", "degraded", "ended", "result"),
    *("score", "tree", "cause"),
)


def with_guidance(
    step: StepView, attempt: int, texts: Iterable[str], givers: Mapping[str, str], refused: str | None
) -> tuple[GuidanceView, ...]:
    """The guidance of a step after another attempt got or refused some of it.

    Without `refused` it came with the prompt, which counts only if an earlier attempt had refused it.
    """
    open_texts = {one.text for one in step.guidance if one.refused}
    new = (text for text in texts if refused is not None or text in open_texts)
    return (
        *step.guidance,
        *(GuidanceView(attempt, text, givers.get(text, ""), refused or "") for text in new),
    )


class Pending(NamedTuple):
    """One thing that a run waits for."""

    path: Address
    kind: str
    """approval, question, exhausted, advice, consent, price, by_hand, quota, retry, or the kind of a `wait`."""
    since: Millis
    due: Millis | None = None
    question: str = ""
    actions: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    approvals: int = 1
    approved_by: tuple[str, ...] = ()
    about: str = ""
    shows: tuple[str, ...] = ()
    base: Tree | None = None
    tree: Tree | None = None
    name: str = ""
    """The name of the signal."""
    choices: tuple[str, ...] = ()
    """The values that a question takes, if they are listed."""
    rule: str = ""
    """The rule of a policy that asks, in words."""
    presence: bool = False  # Whether an answer needs the proof that a person is present.
    until: str = ""  # The answer that ends the conversation of which the question is a turn.


class AgentView(NamedTuple):
    """The usage of one agent with one model (R208)."""

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
    """The amount reserved for attempts in flight; only for money, tokens and calls."""


class SeriesView(NamedTuple):
    """The place of a run in a series, and what the series has used up to this run."""

    first: str
    number: int
    previous: str
    next: str
    usd: MicroUsd
    tokens: int
    calls: int
    unknown_usd: MicroUsd
    """What is booked for calls of the earlier runs whose price is unknown."""


class RunView(NamedTuple):
    run: str
    workflow: str
    status: ViewStatus
    started: Millis | None
    ended: Millis | None
    at: Millis
    """The time of the newest event."""
    seq: int
    """The number of events it was built from."""
    outcome: Outcome | None
    reason: str
    message: str
    exit: int | None
    inputs: Mapping[str, Any]
    fingerprint: str
    branch: str
    base: Tree | None
    tree: Tree | None
    """The head: the current result of the run."""
    in_place: bool
    """True if all its changes were made in the user's own files."""
    steps: tuple[StepView, ...]
    outputs: Mapping[str, Any]
    usd: MicroUsd
    tokens: int
    calls: int
    unknown_calls: int
    pending: tuple[Pending, ...]
    limits: tuple[LimitView, ...] = ()
    agents: tuple[AgentView, ...] = ()
    cause: Cause | None = None
    """Why the run did not pass."""
    raised: tuple[RaisedLimit, ...] = ()
    """Limits that people raised."""
    memories: Mapping[str, Mapping[str, Any]] = NOTHING
    """The memories that its steps use: the version that the run uses, and how its changes were merged."""
    labels: Labels | None = None
    vars: Mapping[str, Any] = NOTHING
    """The variables of the run by the names that its author uses, as far as they have values."""
    folder: str = ""
    """The folder of the run, if its files are written."""
    facts: RunFacts | None = None
    """What was fixed when the run started."""
    series: SeriesView | None = None
    """Set if it continues another run as a new one, or is continued so."""

    @property
    def why(self) -> str:
        """The cause in one line."""
        return cause_line(self.cause, ROOT)


def duration_of(step: StepView, now: Millis) -> Millis:
    return Millis(max(0, (now if step.ended is None else step.ended) - step.entered))


def elapsed(view: RunView, now: Millis) -> Millis:
    """The time from the start of a run to its end, or to now."""
    if view.started is None:
        return Millis(0)
    return Millis(max(0, (now if view.ended is None else view.ended) - view.started))


def comparison_base(view: RunView, pending: Pending) -> Tree | None:
    """The tree to compare the tree of a question with.

    A question about an attempt, such as a gate, is about the changes of that attempt; any other is about those of the run.
    """
    steps = {step.path: step for step in view.steps}
    path = pending.path
    while path in steps:
        path = steps[path].parent
        enclosing = steps.get(path)
        if enclosing is not None and (enclosing.role == "gates" or enclosing.worked):
            return enclosing.base
    return view.base


def failure_before(view: RunView, pending: Pending) -> str:
    """Why the last attempt before a question failed, in one line, if the question is about that."""
    steps = {step.path: step for step in view.steps}
    step = steps.get(pending.path)
    subject = step if step is None or pending.kind == "by_hand" else steps.get(step.parent)
    return subject.why if subject is not None and pending.kind in ("exhausted", "by_hand") else ""


def hand_folder(view: RunView, pending: Pending) -> str:
    """The folder of work by hand, relative to the project; "" if the pending item is something else."""
    step = next((step for step in view.steps if step.path == pending.path), None)
    if step is None or pending.kind != "by_hand":
        return ""
    path = native_address(step.path, NOTHING if view.labels is None else view.labels.steps)
    return f".podium/runs/{view.run}/by_hand/{path.replace('/', '+')}/{step.attempts}"


def active(view: RunView) -> Iterable[StepView]:
    """The steps that work or wait, without their enclosing scopes."""
    return (step for step in view.steps if step.status == "waiting" or (step.worked and step.status in BUSY))


def with_status(view: RunView, stored: str) -> RunView:
    """The view with the status that the engine stored; only the engine knows whether a process drives the run."""
    if view.status in ("running", "waiting") and stored in ("waiting", "parked"):
        return view._replace(status="parked" if stored == "parked" else "waiting")
    return view


def with_messages(view: RunView, messages: Mapping[Address, str]) -> RunView:
    """The view with messages that are not in the log, such as the expressions of failed checks, also as causes."""
    if not messages:
        return view

    def explained(cause: Cause | None) -> Cause | None:
        return cause if cause is None else cause._replace(text=messages.get(cause.path, cause.text))

    steps = tuple(
        step._replace(message=messages.get(step.path, step.message), cause=explained(step.cause))
        for step in view.steps
    )
    cause = explained(view.cause)
    is_explained = cause is not None and cause.path in messages
    message = cause_line(cause, ROOT) if is_explained and not view.message else view.message
    return view._replace(steps=steps, cause=cause, message=message)


def steps_named(view: RunView, name: str) -> tuple[StepView, ...]:
    """The steps that a user names: by a name all visits everywhere, by an address all visits there, by `x~2` one visit.

    An address without a visit means all visits, so the first visit alone is `x~1`. The address may leave out the blocks
    around it, if no step has exactly this one. Raises ConfigurationError if none match.
    """
    name = native_address(name, NOTHING if view.labels is None else view.labels.steps)
    place, tilde, visit = name.rpartition("~")
    address = place if visit == "1" else name
    if tilde:
        steps = tuple(step for step in view.steps if step.path == address)
    else:
        steps = tuple(step for step in view.steps if name in (without_visit(step.path), _name(step)))
    if not steps:
        paths = ((step, step.path if tilde else without_visit(step.path)) for step in view.steps)
        steps = tuple(step for step, path in paths if path.endswith(f"/{address}"))
    if not steps:
        names = ", ".join(dict.fromkeys(step.step for step in labelled(view).steps)) or "none so far"
        raise ConfigurationError(f'run {view.run} has no step "{name}"', hint=f"its steps: {names}")
    return steps


def _name(step: StepView) -> str | None:
    """The step's name; None for gates, which have the name of their step and can only be named by address."""
    return None if step.role == "gates" else step.step


def asked_question(event: ApprovalAsked, step: StepView) -> Pending:
    actions = ACTIONS.get(step.step, ("approve", "reject", "abort"))
    return Pending(
        event.path,
        kind_of_question(step.step),
        event.at,
        event.expires,
        actions=actions,
        by=event.by,
        approvals=event.approvals,
        base=step.base,
        tree=event.tree,
        rule=event.rule,
        presence=event.presence,
    )


def kind_of_question(name: str) -> str:
    """The kind of a question, which for the engine's own questions is their name."""
    return name.removeprefix("!") if name in ACTIONS and name != "!tool" else "approval"
