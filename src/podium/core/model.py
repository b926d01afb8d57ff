"""The static graph that a workflow in any format compiles to; the engine knows nothing else of the file.

A Workflow has a body Block of Steps. A Step has one verb. Verbs that hold other steps are scopes (Block,
Members, Review, ForEach, Repeat, Call, Gates); the rest are leaves. Loops, lists of agents and sub-workflows are
thus expansions of one mechanism. `settings` and `config` hold what only an attempt needs (prompts, files, the
sandbox); the core never reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from podium.core.expressions.nodes import Node
from podium.core.expressions.templates import Value
from podium.core.policy import (
    NO_LIMITS,
    NO_RETRY,
    Breaker,
    Count,
    Estimate,
    Exhausted,
    Limits,
    NeedsRule,
    Oversight,
    PassRule,
    PolicyRule,
    Retry,
)
from podium.core.step_settings import ChildRun, OtherProject, Prompt, StepSettings, WorkflowConfig, no_fields
from podium.core.types import Millis, Outcome, Severity, VerdictForm
from podium.fast_dataclass import dataclass, quick

Fields: TypeAlias = Mapping[str, Any]
"""JSON-like settings that the core passes on, unread, to the code that performs an attempt."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where an outcome leads. `step` is an index in the same block and is set only for kind "step".

    A target of kind "choose" has `choices`: the first whose condition holds when the step ends is taken.
    """

    kind: Literal["step", "next", "end", "fail", "break", "choose"]
    step: int = -1
    message: Value = None
    feedback: Value = None
    """Words for the step that it leads to."""
    keeps_work: bool = False
    """True if the step that it leads to starts from the work of the one that failed."""
    choices: tuple[Choice, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    when: Node | None
    """None: it always holds."""
    target: Target


@dataclass(frozen=True, slots=True)
class Output:
    """The output contract of a step: the kind of value it returns and the files that must exist afterwards."""

    kind: Literal["text", "lines", "json", "schema", "choice"] = "text"
    schema: Fields | None = None
    schema_name: str | None = None
    choices: tuple[str, ...] = ()
    file: Value = None
    files: tuple[Value, ...] = ()
    folder: Value = None
    """The folder of the project that gets `file`: at once if the step works there, else when the run has ended."""


@dataclass(frozen=True, slots=True)
class Agent:
    """Work for one agent. With `judge` it is a reviewer that answers with a verdict; with `by_hand`, a person works."""

    role: Value = None
    agent: Value = None
    model: Value = None
    prompt: Prompt | None = None
    stdin: Value = None
    """Files or a value that are the whole prompt, unchanged."""
    fallback: tuple[str, ...] = ()
    estimate: Estimate = Estimate()
    judge: bool = False
    by_hand: bool = False
    continuity: int = 0
    no_change: Literal["fail", "pass"] = "pass"
    team: tuple[TeamMember, ...] = ()
    """Whom its worker may ask."""
    done: Wait | None = None
    member: str | None = None


@dataclass(frozen=True, slots=True)
class TeamMember:
    """A member of a team; `step` is what it does when it is asked, or a question if it is a person."""

    step: Step
    asks: tuple[str, ...] = ()
    """The members that it may ask; the worker of the step itself may ask all."""
    when_done: bool = False
    """True if the engine asks it once, with the finished work, before the gates."""
    until: str = ""  # By which a person ends a conversation; empty for a member that is only asked.
    turns: int = 0  # How often the person answers at most in it; 0 is not limited here.

    @property
    def name(self) -> str:
        return self.step.name


@dataclass(frozen=True, slots=True)
class Tests:
    """Which files are tests, and which of them the judged work may change; both as globs."""

    files: tuple[Value, ...] = ()
    """Empty for the usual places."""
    may_change: tuple[Value, ...] = ()
    counts: bool = True
    """Whether the command runs tests at all; the author may say that it does not."""
    min_new: int = 0
    """How many tests the work must add, by the report of the command."""


@dataclass(frozen=True, slots=True)
class Command:
    """A program that runs on a checkout: `argv`, or the text `script` run by `shell`."""

    argv: tuple[Value, ...] = ()
    script: str | None = None
    shell: str | None = None
    stdin: Value = None
    junit: Value = None
    coverage: Fields | None = None
    must_fail_before: bool = False
    exit_codes: tuple[int, ...] = ()
    tests: Tests | None = None
    """What the file says about the tests that it runs."""


@dataclass(frozen=True, slots=True)
class Git:
    """Lands the run's head on a branch, publishes it as a branch, or keeps it as an entry of `git stash`."""

    land: Value = None
    message: Value = None
    how: Literal["squash", "merge", "commits"] = "squash"
    branch: Value = None
    push: Value = None
    pull_request: Literal["open", "merge"] | None = None
    stash: Value = None  # The message of the entry.


@dataclass(frozen=True, slots=True)
class Write:
    """Writes the interfaces of a feature into the tree before its components start."""

    files: Value = None


@dataclass(frozen=True, slots=True)
class Check:
    test: Node


@dataclass(frozen=True, slots=True)
class Set:
    values: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class Human:
    """A question to a person: approve or reject, or, if `answers`, give a value that fits `Step.output`."""

    question: Prompt
    oversight: Oversight = Oversight(level="human")
    answers: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """Waits for something outside the run. `what` is the kind of wait, `detail` holds the keys of that kind."""

    what: Literal["signal", "file", "timer", "until_time", "commit", "step", "poll"]
    detail: Fields = field(default_factory=no_fields)
    timer: Millis | None = None
    minute_of_day: int | None = None


@dataclass(frozen=True, slots=True)
class Continue:
    """Ends the run; the next run of the series starts with these values in place of its inputs."""

    values: tuple[tuple[str, Value], ...] = ()
    max: Count | None = None


# Verbs that contain other steps.

Join: TypeAlias = Literal["queue", "best", "discard"] | int
"""How the trees of parallel members are combined; a number is the batch size."""


@dataclass(frozen=True, slots=True)
class Block:
    """Steps that run in sequence, as a graph by `needs`, or in parallel."""

    kind: Literal["seq", "dag", "par"]
    steps: tuple[Step, ...]
    parallel: Count = 1
    rule: PassRule = "all"
    cancels_rest: bool = False
    """True (`cancel: rest`): as soon as enough members have passed, the others are stopped."""
    join: Join = "queue"
    output: Value = None
    index: Mapping[str, int] = field(default_factory=no_fields, compare=False)
    dependents: tuple[tuple[int, ...], ...] = ()
    """For each step, the steps that directly need it (dag only)."""


@dataclass(frozen=True, slots=True)
class Panel:
    """Members that a value names when the step is entered; the step has one member, the pattern of each."""

    names: Value
    key: Literal["agent", "role"]
    roles: tuple[str, ...] = ()
    """For a review: the names that are roles; any other name is that of an agent."""


@dataclass(frozen=True, slots=True)
class Members:
    """The same task for several workers in parallel; none sees the others' work."""

    members: tuple[Step, ...]
    rule: PassRule = "all"
    join: Join = "discard"
    cancels_rest: bool = False
    panel: Panel | None = None
    in_turn: bool = False
    """True if each sees the answers of those before it (`context.earlier: all`), so one works after another."""


@dataclass(frozen=True, slots=True)
class Review:
    """Agents that judge the steps named in `of`, looked up outwards; without `of`, the step whose gate it is."""

    members: tuple[Step, ...]
    of: tuple[str, ...] = ()
    rule: PassRule = "all"
    min_score: int | None = None
    bar: Severity = "major"
    oversight: Oversight = Oversight()
    phrase: str | None = None
    parallel: Count | None = None
    """How many judge at once; None is all of them."""
    approve: Literal["last_line", "anywhere"] = "last_line"
    """Where the phrase approves; anywhere also without regard to case."""
    verdict: VerdictForm = "review"
    """The form of a verdict. That of a quality gate has a decision that no finding overrides."""
    panel: Panel | None = None


@dataclass(frozen=True, slots=True)
class ForEach:
    """One iteration of `body` per item. With `needs` the items form a graph by their keys."""

    items: Value
    body: Step
    name: str = "item"
    where: Node | None = None
    key: Node | None = None
    needs: Node | None = None
    parallel: Count = 1
    rule: PassRule = "all"
    join: Join = "queue"
    carry: tuple[str, ...] = ()  # Variables that do not end with their iteration.
    cancels_rest: bool = False


@dataclass(frozen=True, slots=True)
class Repeat:
    """Rounds of `body`: until `test` holds (evaluated after a round) or while it holds (evaluated before)."""

    body: Step
    test: Node
    kind: Literal["until", "while"]
    max: Count
    on_exhausted: Exhausted = "fail"


@dataclass(frozen=True, slots=True)
class Call:
    """Another workflow, with its own variables. The run itself is a Call of the main workflow."""

    workflow: Workflow
    values: tuple[tuple[str, Value], ...] = ()
    place: OtherProject | None = None  # Where it is a run of its own.


@dataclass(frozen=True, slots=True)
class Gates:
    """The gates of one attempt, in stages: commands and checks first, then reviews, then people."""

    stages: tuple[tuple[Step, ...], ...]
    members: tuple[Step, ...]
    """All gates in order; `stages` only groups them."""


LeafVerb: TypeAlias = Agent | Command | Git | Write | Check | Set | Human | Wait | Continue | ChildRun
ScopeVerb: TypeAlias = Block | Members | Review | ForEach | Repeat | Call | Gates
Verb: TypeAlias = LeafVerb | ScopeVerb


@quick
@dataclass(frozen=True, slots=True)
class Step:
    """One step, with the keys that any step may have."""

    name: str
    verb: Verb
    on: Mapping[Outcome, Target] = field(default_factory=no_fields)
    needs: tuple[int, ...] = ()
    needs_rule: NeedsRule = "all"
    when: Node | None = None
    gates: Step | None = None  # Its verb is Gates.
    retry: Retry = NO_RETRY
    timeout: Millis | None = None
    limits: Limits = NO_LIMITS
    output: Output = Output()
    touches: tuple[Value, ...] | Node | None = None
    """Globs of the files the step may change: () is none, None (undeclared) is all."""
    on_fail: Literal["retry", "block"] = "retry"  # For gates: whether another attempt may follow.
    memory: str = ""  # What its attempts read and write; not for judges and gates.
    repeatable: bool = True
    """False (`recovery: ask`): if a crash interrupts the step, a person must allow it to run again."""
    has_worker: bool = False
    """True if this step or one below it is an agent that can receive feedback."""
    parameters: tuple[tuple[str, Value], ...] = ()
    """The values of `with`; expressions read them as `with.x`."""
    description: str = ""
    log: str = ""
    """A text for the records whenever the step is entered."""
    line: int = 0
    settings: StepSettings = StepSettings()

    if TYPE_CHECKING:

        def _replace(self, **changes: Any) -> Self: ...


@dataclass(frozen=True, slots=True)
class Input:
    name: str
    type: Literal["string", "int", "number", "bool", "path", "list", "map"] = "string"
    default: Any = None
    required: bool = True
    help: str = ""
    choices: tuple[Any, ...] = ()
    exists: bool = False


@dataclass(frozen=True, slots=True)
class Labels:
    """What the author calls steps and variables, by their names; steps that a translation added have none."""

    steps: Mapping[str, str] = field(default_factory=no_fields)
    vars: Mapping[str, str] = field(default_factory=no_fields)


@dataclass(frozen=True, slots=True, eq=False)
class Workflow:
    """One workflow file with its templates and configuration applied, ready to run."""

    name: str
    body: Block
    finally_: Step | None = None
    """A step named `finally` whose verb is a sequence Block."""
    description: str = ""
    inputs: tuple[Input, ...] = ()
    vars: Fields = field(default_factory=no_fields)
    outputs: tuple[tuple[str, Value], ...] = ()
    limits: Limits = NO_LIMITS
    breaker: Breaker = Breaker()
    advisor: Step | None = None
    """The agent step that the breaker asks for a Decision; None asks a person."""
    policies: Mapping[str, tuple[PolicyRule, ...]] = field(default_factory=no_fields)
    people: Mapping[str, tuple[str, ...]] = field(default_factory=no_fields)
    env: tuple[str, ...] = ()
    max_parallel: int = 4
    unknown_cost: Literal["ask", "count_tokens", "refuse"] = "ask"
    strict: bool = False
    labels: Labels = Labels()
    has_computed: bool = False  # It or a workflow in it has settings that inputs decide.
    fingerprint: str = ""
    config: WorkflowConfig = WorkflowConfig()
