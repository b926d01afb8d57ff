"""The task of each kind of effect: what is needed to perform it, without the state of the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from podium.core.events import (
    AttemptEnded,
    AttemptStarted,
    FactsAsked,
    JoinAsked,
    JoinEnded,
    WaitStarted,
)
from podium.core.model import Agent, Step
from podium.core.payloads import Author, RunMemory, ToolDecision
from podium.core.step_settings import Prompt, WorkflowConfig
from podium.core.types import Address, Tree, VerdictForm
from podium.fast_dataclass import dataclass
from podium.tasks.task_names import NameValues, Query, TaskNames


@dataclass(frozen=True, slots=True)
class Fact:
    """The recorded answer to a query about files."""

    query: Query
    value: Any


@dataclass(frozen=True, slots=True)
class FeedbackEntry:
    """One objection to earlier work, as text for the next attempt."""

    source: str
    """The address of the gate, review, person or attempt that objected."""
    title: str
    body: str = ""
    is_known: bool = True
    """False if the state no longer has the text; the feedback file that was written then has it."""

    @property
    def text(self) -> str:
        return f"{self.title}\n\n{self.body}".strip() if self.body else self.title


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The part of the workflow around a step that its prompt describes."""

    workflow: str
    about: str
    visit: int
    before: tuple[Mapping[str, Any], ...] = ()
    """Finished steps: name, outcome, reason, first line of the answer."""
    more: int = 0
    """The number of earlier steps that are left out."""
    following: tuple[str, ...] = ()
    routes: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class EarlierOutput:
    """The answer of an earlier step that is too long for the line in the excerpt."""

    path: Address
    step: str
    text: str


@dataclass(frozen=True, slots=True)
class WorkResult:
    """The answer of a step under review."""

    step: str
    output: Any = None
    text: str = ""
    description: str = ""
    prompt: Prompt | None = None
    """What the step was asked to do."""
    values: NameValues | None = None
    """The names that the prompt reads, as they were for the step."""


@dataclass(frozen=True, slots=True)
class ReviewScope:
    """What a reviewer judges."""

    works: tuple[WorkResult, ...] = ()
    base: Tree | None = None
    """The tree that the work is compared with."""
    plan: WorkResult | None = None
    last_round: Tree | None = None
    """The tree that this review judged in its previous round."""
    open_findings: str = ""
    phrase: str | None = None
    """The line that approves, if the review has one."""
    approve: Literal["last_line", "anywhere"] = "last_line"
    form: VerdictForm = "review"
    inputs: Any = None
    """The inputs of the workflow, which explain what its steps were asked for."""
    disputed: tuple[Mapping[str, Any], ...] = ()
    """Earlier tests that fail on the work, with the author's reasons; the verdict has to accept each."""
    disputed_diff: str = ""


@dataclass(frozen=True, slots=True)
class AdviceContext:
    """The question to an advisor."""

    where: str
    rule: str
    situation: str


@dataclass(frozen=True, slots=True)
class PreviousAnswer:
    text: str
    tree: Tree | None


@dataclass(frozen=True, slots=True)
class Colleague:
    """Somebody whom a worker may ask."""

    name: str
    role: str = ""
    is_person: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """What a member of a team was asked."""

    sender: str
    question: str
    files: tuple[str, ...] = ()
    so_far: str = ""
    is_review: bool = False
    """True if the engine asks it to look at finished work."""


@dataclass(frozen=True, slots=True)
class Replied:
    """An ask of a worker with its reply."""

    attempt: int
    to: str
    question: str
    answer: str
    path: Address = Address("")
    refused: bool = False
    by_engine: bool = False
    by: str = ""
    """The people who answered; empty if an agent did."""
    changed: tuple[str, ...] = ()
    so_far: str = ""


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """The turn of a worker in its conversation with a person."""

    person: str
    """What the person is called in the team."""
    number: int
    """Which turn of the worker this is; 1 is the first."""
    most: int = 0
    """How many there are at most; 0 is not limited."""
    until: str = ""
    is_over: bool = False
    """True if the conversation is over, so that the worker does what the step asks for."""


@dataclass(frozen=True, slots=True)
class NoteText:
    by: str
    text: str


@dataclass(frozen=True, slots=True)
class TeamWork:
    """What a worker is told about its team."""

    name: str
    colleagues: tuple[Colleague, ...] = ()
    replies: tuple[Replied, ...] = ()
    message: Message | None = None
    """What it was asked, if it is a member."""
    only_answers: bool = False
    """True for a member that may not change files: what it changes is dropped."""
    changes: tuple[tuple[Tree, Tree], ...] = ()
    """The trees before and after each member that changed files of its work."""
    turn: ConversationTurn | None = None
    """None without a conversation."""


@dataclass(frozen=True, slots=True)
class AgentWork:
    excerpt: Excerpt
    config: WorkflowConfig = WorkflowConfig()
    """The config of the workflow that the step belongs to: agents, roles, partials, record."""
    outputs: tuple[EarlierOutput, ...] = ()
    """Answers of earlier steps, the most needed first."""
    run_start: Tree | None = None
    """The tree that the run started from."""
    run_branch: str = ""
    feedback: tuple[FeedbackEntry, ...] = ()
    review: ReviewScope | None = None
    advice: AdviceContext | None = None
    previous: PreviousAnswer | None = None
    team: TeamWork | None = None
    notes: tuple[NoteText, ...] = ()
    decisions: tuple[ToolDecision, ...] = ()
    """What people have decided about calls of tools in this visit."""


@dataclass(frozen=True, slots=True)
class CommandWork:
    is_gate: bool = False
    before: Tree | None = None
    """The tree that the judged work started from."""
    protected_from: Tree | None = None
    """The tree that protected files are restored from: the one before the judged work."""
    declared: tuple[str, ...] = ()
    """The globs by which the judged step declares what it changes."""
    claims: tuple[Mapping[str, Any], ...] = ()
    """The tests that the author of the judged work changed on purpose: test or file, and why."""
    has_judge: bool = False
    """Whether a reviewer or a person can still accept disputed tests."""
    accepted: tuple[str, ...] = ()
    """The ids of disputed tests that count as accepted here."""
    waived: tuple[str, ...] = ()
    """Globs of tests that gates of the run allow to change, besides those of the command itself."""


@dataclass(frozen=True, slots=True)
class EarlierLanding:
    """A `git` step of this run that has already landed or published."""

    path: Address
    kind: Literal["land", "branch"]
    branch: str
    commit: str
    tree: Tree
    builds_on: tuple[Address, ...] = ()
    """The earlier landings whose work is in the tree that this one started from."""


@dataclass(frozen=True, slots=True)
class LandedPiece:
    tree: Tree
    title: str


@dataclass(frozen=True, slots=True)
class LandWork:
    run_name: str
    run_base: str
    """The commit that the run started from; empty if there was none."""
    run_start: Tree | None = None
    rechecks: tuple[AttemptTask, ...] = ()
    """Commands that passed on the tree and must pass again if the branch has moved."""
    earlier: tuple[EarlierLanding, ...] = ()
    builds_on: tuple[Address, ...] = ()
    pieces: tuple[LandedPiece, ...] = ()
    has_gates: bool = False
    judged: Tree | None = None
    """The tree that the step's own gates have passed."""
    disputed: tuple[Mapping[str, Any], ...] = ()
    """Disputed tests of the run that no judge has accepted."""
    conflicted: tuple[str, ...] = ()
    """Files in which the author had to resolve conflicts with the branch."""
    authors: tuple[Author, ...] = ()
    """The steps that can continue the work if the branch has moved."""


@dataclass(frozen=True, slots=True)
class WriteWork:
    """Writing files needs only the values of the step."""


@dataclass(frozen=True, slots=True)
class ChildRunWork:
    """A run in another repository."""

    no_human: bool = False


Work: TypeAlias = AgentWork | CommandWork | LandWork | WriteWork | ChildRunWork


@dataclass(frozen=True, slots=True)
class AttemptTask:
    """One attempt of one step."""

    started: AttemptStarted
    step: Step
    values: NameValues
    work: Work
    view: Tree | None = None
    """The tree that queries about files read."""
    facts: tuple[Fact, ...] = ()
    prior: tuple[AttemptEnded, ...] = ()
    """Results of an earlier run at this address; reused if the request is identical."""
    prior_run: str = ""
    by_hand: bool = False
    memory: RunMemory | None = None
    """The memory that the step names, as the run knows it."""
    visit_start: Tree | None = None
    """The head at the start of the visit, if a step that passed led back: it has only work that was allowed."""

    def names(self) -> TaskNames:
        return TaskNames(self.values, {fact.query: fact.value for fact in self.facts})

    @property
    def agent(self) -> Agent:
        assert isinstance(self.step.verb, Agent)
        return self.step.verb

    @property
    def agent_work(self) -> AgentWork:
        assert isinstance(self.work, AgentWork)
        return self.work

    @property
    def land_work(self) -> LandWork:
        assert isinstance(self.work, LandWork)
        return self.work


@dataclass(frozen=True, slots=True)
class CollectTask:
    """Collects the work of a person who reported it as done."""

    task: AttemptTask
    text: str = ""
    answer: Any = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class WatchTask:
    """Waits for a file, a commit, a step of another run, or a command."""

    started: WaitStarted
    step: Step
    values: NameValues
    run_branch: str = ""
    view: Tree | None = None
    base: Tree | None = None
    start: Tree | None = None
    facts: tuple[Fact, ...] = ()

    def names(self) -> TaskNames:
        return TaskNames(self.values, {fact.query: fact.value for fact in self.facts})


@dataclass(frozen=True, slots=True)
class FactTask:
    query: FactsAsked
    memory: RunMemory | None = None
    """The memory to merge, if that is the question."""


@dataclass(frozen=True, slots=True)
class JoinMember:
    path: Address
    tree: Tree
    fork: Tree | None
    """The tree that this member started from."""
    rechecks: tuple[AttemptTask, ...] = ()
    """Its commands, which must pass again on the joined tree."""


@dataclass(frozen=True, slots=True)
class JoinTask:
    request: JoinAsked
    members: tuple[JoinMember, ...]
    prior: JoinEnded | None = None
    rechecks: tuple[AttemptTask, ...] = ()
    """Commands of members whose work is already on the head; they have not seen the work that is merged now."""


Task: TypeAlias = AttemptTask | CollectTask | WatchTask | FactTask | JoinTask
