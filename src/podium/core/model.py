"""The static graph that every spelling of a workflow compiles to; frozen, and all that the engine knows.

A Workflow has a body Block of Steps. A Step has one verb. Verbs that hold other steps are scopes (Block,
Members, Review, ForEach, Repeat, Call, Gates); the rest are leaves. Loops, lists of agents and sub-workflows are
thus expansions of one mechanism. What only an attempt needs (prompts, files, walls) is carried in Settings,
which the core never reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from podium.core.expressions.nodes import Node
from podium.core.expressions.templates import Value
from podium.core.fast_dataclass import dataclass
from podium.core.policy import (
    NO_LIMITS,
    NO_RETRY,
    Breaker,
    Count,
    Estimate,
    Exhausted,
    Limits,
    PassRule,
    PolicyRule,
    Retry,
)
from podium.core.types import Level, Millis, Outcome, Severity

Fields: TypeAlias = Mapping[str, Any]
"""JSON-like settings that are carried through the core to whoever performs an attempt."""

NO_FIELDS: Final[Fields] = MappingProxyType({})


def no_fields() -> Mapping[Any, Any]:
    """The default of every map in the model: one empty map that nobody can change."""
    return NO_FIELDS


@dataclass(frozen=True, slots=True)
class Target:
    """Where an outcome leads. `step` is an index in the same block, given when kind is "step"."""

    kind: Literal["step", "next", "end", "fail", "break"]
    step: int = -1
    message: Value = None


@dataclass(frozen=True, slots=True)
class Output:
    """The contract of a step: what kind of value it gives and what must exist afterwards."""

    kind: Literal["text", "lines", "json", "schema", "choice"] = "text"
    schema: Fields | None = None
    schema_name: str | None = None
    choices: tuple[str, ...] = ()
    file: Value = None
    files: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text for a reader: the source, and where it came from."""

    text: str
    file: str | None = None


# What a leaf does.


@dataclass(frozen=True, slots=True)
class TeamMember:
    name: str
    role: str | None = None
    agent: str | None = None
    asks: tuple[str, ...] = ()
    touches: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Agent:
    """One fresh worker. `judge` makes it a reviewer, whose answer is a verdict; `by_hand`, a person."""

    role: Value = None
    agent: Value = None
    model: Value = None
    prompt: Prompt | None = None
    fallback: tuple[str, ...] = ()
    estimate: Estimate = Estimate()
    judge: bool = False
    by_hand: bool = False
    continuity: int = 0
    no_change: Literal["fail", "pass"] = "pass"
    team: tuple[TeamMember, ...] = ()
    done: Wait | None = None
    member: str | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """A program on a checkout. `script` is the text of a file that `shell` runs; else `argv`."""

    argv: tuple[Value, ...] = ()
    script: str | None = None
    shell: str | None = None
    stdin: Value = None
    junit: Value = None
    coverage: Fields | None = None
    must_fail_before: bool = False
    exit_codes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Git:
    """Lands the head on a branch, or publishes it as one."""

    land: Value = None
    message: Value = None
    how: Literal["squash", "merge", "commits"] = "squash"
    branch: Value = None
    push: Value = None


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
class Oversight:
    """Who confirms: `level` is a level, the name of a policy, or an expression that gives either."""

    level: Value = "auto"
    by: tuple[str, ...] = ()
    approvals: int = 1
    veto: Millis = Millis(0)
    notify: tuple[str, ...] = ()
    remind: Millis | None = None
    escalate_after: Millis | None = None
    escalate_to: tuple[str, ...] = ()
    show: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Human:
    """A person judges, or answers if `answers` (then `Step.output` says with what)."""

    question: Prompt
    oversight: Oversight = Oversight(level="human")
    answers: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """For something outside the run. `what` names the form, `detail` holds its own keys."""

    what: Literal["signal", "file", "timer", "until_time", "commit", "step", "poll"]
    detail: Fields = field(default_factory=no_fields)
    timer: Millis | None = None
    minute_of_day: int | None = None


# What holds other steps.

Join: TypeAlias = Literal["queue", "best", "discard"] | int
"""What becomes of the trees of parallel members; a number is the size of a batch."""


@dataclass(frozen=True, slots=True)
class Block:
    """Steps in one order: a sequence, a graph by `needs`, or all at once."""

    kind: Literal["seq", "dag", "par"]
    steps: tuple[Step, ...]
    parallel: Count = 1
    rule: PassRule = "all"
    join: Join = "queue"
    output: Value = None
    index: Mapping[str, int] = field(default_factory=no_fields, compare=False)
    dependents: tuple[tuple[int, ...], ...] = ()
    """Per step, the steps that need it directly (dag only)."""


@dataclass(frozen=True, slots=True)
class Members:
    """The same task for several workers at once, unseen by each other."""

    members: tuple[Step, ...]
    rule: PassRule = "all"
    join: Join = "discard"


@dataclass(frozen=True, slots=True)
class Review:
    """Agents judge the work of other steps. `of` names them, nearest scope first; empty = the step judged."""

    members: tuple[Step, ...]
    of: tuple[str, ...] = ()
    rule: PassRule = "all"
    min_score: int | None = None
    bar: Severity = "major"
    oversight: Oversight = Oversight()
    phrase: str | None = None


@dataclass(frozen=True, slots=True)
class ForEach:
    """One iteration of `body` per item; `needs` makes a graph of the items by their keys."""

    items: Value
    body: Step
    name: str = "item"
    where: Node | None = None
    key: Node | None = None
    needs: Node | None = None
    parallel: Count = 1
    rule: PassRule = "all"
    join: Join = "queue"


@dataclass(frozen=True, slots=True)
class Repeat:
    """Rounds of `body`: until `test` holds (asked after a round), or while it holds (asked before)."""

    body: Step
    test: Node
    kind: Literal["until", "while"]
    max: Count
    on_exhausted: Exhausted = "fail"


@dataclass(frozen=True, slots=True)
class Call:
    """Another workflow in a frame of its own. The run itself is a Call of the main one."""

    workflow: Workflow
    values: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True, slots=True)
class Gates:
    """The checks of one attempt, in stages: commands and checks together, then reviews, then people."""

    stages: tuple[tuple[Step, ...], ...]
    members: tuple[Step, ...]
    """All of them in order; `stages` only groups them."""


LeafVerb: TypeAlias = Agent | Command | Git | Write | Check | Set | Human | Wait
ScopeVerb: TypeAlias = Block | Members | Review | ForEach | Repeat | Call | Gates
Verb: TypeAlias = LeafVerb | ScopeVerb
WorkVerb: TypeAlias = Agent | Command | Git | Write
"""The verbs that are carried out by an attempt of a process, with a slot and a reservation."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step, with the keys that any step may have."""

    name: str
    verb: Verb
    on: Mapping[Outcome, Target] = field(default_factory=no_fields)
    needs: tuple[int, ...] = ()
    when: Node | None = None
    gates: Step | None = None
    """A step whose verb is Gates, or None."""
    retry: Retry = NO_RETRY
    timeout: Millis | None = None
    limits: Limits = NO_LIMITS
    output: Output = Output()
    touches: tuple[Value, ...] | Node | None = None
    """Globs that may change; () changes nothing, None is undeclared: everything."""
    on_fail: Literal["retry", "block"] = "retry"
    """Only for a gate: whether its failure leaves further attempts."""
    repeatable: bool = True
    """False: after a crash in mid-effect a person is asked before it is done again (`recovery: ask`)."""
    has_worker: bool = False
    """True if an agent works here or below, so that feedback can be handed to it."""
    parameters: tuple[tuple[str, Value], ...] = ()
    """Values of `with`, read as `with.x`."""
    description: str = ""
    line: int = 0
    settings: Fields = field(default_factory=no_fields)
    """context, protect, workspace, dir, sandbox, network, secrets, env, runs_on, tools, system, ..."""


@dataclass(frozen=True, slots=True)
class Input:
    name: str
    type: Literal["string", "int", "number", "bool", "path", "list", "map"] = "string"
    default: Any = None
    required: bool = True
    help: str = ""
    choices: tuple[Any, ...] = ()
    exists: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Workflow:
    """One file with everything it stands on, ready to run."""

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
    """Whom the breaker asks: an agent step that answers a Decision; None asks a person."""
    policies: Mapping[str, tuple[PolicyRule, ...]] = field(default_factory=no_fields)
    people: Mapping[str, tuple[str, ...]] = field(default_factory=no_fields)
    env: tuple[str, ...] = ()
    max_parallel: int = 4
    unknown_cost: Literal["ask", "count_tokens", "refuse"] = "ask"
    strict: bool = False
    fingerprint: str = ""
    config: Fields = field(default_factory=no_fields)
    """agents, roles, secrets, notify, record, context, workspace, sandbox, network, protect: for the attempt."""


LEVEL_WORDS: Final[tuple[Level, ...]] = ("auto", "notify", "human")
