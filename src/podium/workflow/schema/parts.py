"""Typed maps for keys of a step, a role or a file."""

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from podium.workflow.schema import fields
from podium.workflow.schema.fields import Raw, Schema, Short
from podium.workflow.schema.scalars import (
    TEXT,
    TEXTS,
    CountText,
    Duration,
    DurationText,
    Expression,
    HistoryDepth,
    Number,
    NumberText,
    OneOrMore,
    Portion,
    Positive,
    PositiveText,
    Share,
    ShareText,
    Size,
    TextList,
    TimeOfDay,
    Tokens,
    TokensText,
    Whole,
    literal,
)

DocPath: TypeAlias = fields.DocPath
known_keys = fields.known_keys

Texts: TypeAlias = tuple[str, ...]
Ints: TypeAlias = tuple[int, ...]
ExhaustedWord: TypeAlias = Literal["human", "fail", "accept_best"]


class MostLimits(Raw):
    """The most that computed limits may be."""

    usd: Number | None = None
    tokens: Tokens | None = None
    calls: Positive | None = None
    window: Share | None = None
    time: Duration | None = None
    transitions: Positive | None = None
    members: Positive | None = None
    messages: Positive | None = None


class Limits(Raw):
    usd: NumberText | None = None
    tokens: TokensText | None = None
    calls: PositiveText | None = None
    window: ShareText | None = None
    time: DurationText | None = None
    transitions: PositiveText | None = None
    members: PositiveText | None = None
    messages: PositiveText | None = None
    at_most: MostLimits | None = None

    def most(self, unit: str) -> Any:
        """The limit as far as the file says it; None for no limit, and for a computed one that nothing bounds."""
        written = self.get(unit)
        if literal(written) is None and written is not None and self.at_most is not None:
            return self.at_most.get(unit)
        return literal(written)


class FinallyReserve(Raw):
    usd: Number | None = None
    tokens: Tokens | None = None
    calls: Positive | None = None


class TopLimits(Limits):
    finally_: FinallyReserve | None = None
    per: Literal["series", "run"] | None = None
    unknown_cost: Literal["ask", "count_tokens", "refuse"] | None = None


class Failures(Raw):
    count: Positive
    within: Duration


class Weights(Raw):
    success: Portion | None = None
    cost: Portion | None = None


class Explore(Raw):
    first: Portion | None = None
    later: Portion | None = None


class Adaptive(Raw):
    """How the agents of steps with `agent: auto` are chosen."""

    policy: Literal["rule", "thompson", "first"] | None = None
    last: Duration | None = None
    min_samples: Positive | None = None
    weights: Weights | None = None
    edge: Portion | None = None
    max_deviation: Portion | None = None
    explore: Explore | None = None
    half_life: Positive | None = None
    interval: Duration | None = None
    locked: dict[str, str] | None = None
    from_: Literal["project", "all"] | None = None

    @property
    def written(self) -> dict[str, Any]:
        """The settings that are written, with durations in milliseconds."""
        names = ("policy", "last", "min_samples", "edge", "max_deviation", "half_life", "interval", "locked")
        values = {**{name: getattr(self, name) for name in names}, "from": self.from_}
        if self.weights is not None:
            values["weights"] = {"success": self.weights.success, "cost": self.weights.cost}
        if self.explore is not None:
            values["explore"] = {"first": self.explore.first, "later": self.explore.later}
        return {name: value for name, value in values.items() if value is not None}


class Breaker(Raw):
    visits: Positive | None = None
    cycle: Positive | None = None
    repeat: Positive | None = None
    similar: Share | None = None
    plateau: Positive | None = None
    reversals: Positive | None = None
    disagree: Positive | None = None
    retries: Positive | None = None
    sent_back: Positive | None = None
    failures: Failures | None = None
    near: Share | None = None
    complete: bool = False
    ask: str = "human"
    transitions: Positive | None = None
    time: Duration | None = None
    usd: Number | None = None
    tokens: Tokens | None = None
    calls: Positive | None = None


class Backoff(Raw):
    first: Duration | None = None
    times: Number | None = None
    max: Duration | None = None
    jitter: Share | None = None


class Stop(Raw):
    similar: Share | None = None
    plateau: Positive | None = None


_DURATION_TEXT: Schema = {"type": "string", "pattern": "^([0-9]+[dhms])+$"}


def _constant_backoff(value: Any) -> Any:
    return {"first": value, "times": 1, "max": value, "jitter": "0%"} if isinstance(value, str) else value


class Estimate(Raw):
    usd: Number | None = None
    tokens: Tokens | None = None


class Upgrade(Raw):
    after: Positive
    agent: str | None = None
    model: str | None = None
    estimate: Estimate | None = None


class Retry(Raw):
    attempts: CountText | None = None
    per: Literal["visit", "run"] | None = None
    transient: Whole | None = None
    repair: Whole | None = None
    backoff: Annotated[Backoff, Short(_constant_backoff, _DURATION_TEXT)] | None = None
    visits: Positive | None = None
    stop: Stop | None = None
    degrade: Texts | None = None
    upgrade: tuple[Upgrade, ...] | None = None
    on_exhausted: ExhaustedWord | None = None


def _attempts(value: Any) -> Any:
    if isinstance(value, str) and "${{" not in value:
        return value
    return {"attempts": value}


RetryText: TypeAlias = Annotated[str | Retry, Short(_attempts, {"type": ["integer", "string"]})]
"""A map, or the name of a preset."""


Strategy: TypeAlias = Literal[
    "component_only",
    "planner_docset",
    "implementer_targeted",
    "reviewer_diff",
    "security_audit",
    "investigator_wide",
]


class StrategyCommand(Raw):
    noun: ClassVar[str] = "strategy"

    command: Texts


class Context(Raw):
    include: Texts | None = None
    always: Texts | None = None
    exclude: Texts | None = None
    diff: bool | None = None
    budget: Tokens | None = None
    max_budget: Tokens | None = None
    strategy: Strategy | StrategyCommand | None = None
    target: Texts | None = None
    depth: Literal["minimal", "balanced", "full"] | None = None
    earlier: Literal["none", "all"] | None = None


class Workspace(Raw):
    mode: Literal["private", "inplace"] | None = None
    setup: tuple[Texts, ...] | None = None
    copy: Texts | None = None
    ports: Whole | None = None
    teardown: tuple[Texts, ...] | None = None
    history: HistoryDepth | None = None
    refs: TextList | None = None
    hide: Texts | None = None


class Sandbox(Raw):
    level: Literal["auto", "none", "limits", "bubblewrap", "container"] | None = None
    image: str | None = None
    memory: str | None = None
    cpu: Number | None = None
    processes: Positive | None = None
    disk: Size | None = None
    files: Positive | None = None
    scratch: Size | None = None


ContextMap: TypeAlias = Annotated[Context, Short(lambda value: {"include": value}, TEXTS)]
WorkspaceMap: TypeAlias = Annotated[
    Workspace, Short(lambda value: {"mode": value}, {"enum": ["private", "inplace"]})
]
SandboxMap: TypeAlias = Annotated[Sandbox, Short(lambda value: {"level": value}, TEXT)]


class Output(Raw):
    schema: str | dict[str, Any] | tuple[Any, ...] | None = None
    choice: Texts | None = None
    file: str | None = None
    files: Texts | None = None
    folder: str | None = None


OutputText: TypeAlias = str | Output
"""A type name, one `${{ }}` on a block, or the map."""


class Wait(Raw):
    signal: str | None = None
    file: str | None = None
    timer: DurationText | None = None
    until_time: TimeOfDay | None = None
    commit: str | None = None
    step: str | None = None
    poll: str | Texts | None = None
    branch: str | None = None
    every: DurationText | None = None
    pending: Ints | None = None


class ApproveTools(Raw):
    noun: ClassVar[str] = "approve_tools"

    tools: Texts
    wait: Duration | None = None


ApproveToolsMap: TypeAlias = Annotated[ApproveTools, Short(lambda value: {"tools": value}, TEXTS)]


class Coverage(Raw):
    report: str
    min: Number | None = None


class Tests(Raw):
    files: Texts = ()
    may_change: Texts = ()
    min_new: Whole | None = None


class Escalate(Raw):
    after: DurationText
    to: TextList


class Script(Raw):
    script: str
    shell: str = "bash"


class Git(Raw):
    land: OneOrMore | None = None
    message: str | None = None
    how: Literal["squash", "merge", "commits"] | None = None
    branch: str | None = None
    push: str | None = None
    pull_request: Literal["open", "merge"] | None = None
    stash: str | None = None


class ForEach(Raw):
    in_: tuple[Any, ...] | Expression
    as_: str = "item"
    where: Expression | None = None
    key: Expression | None = None
    needs: Expression | None = None
    carry: TextList | None = None


ForEachMap: TypeAlias = Annotated[ForEach, Short(lambda value: {"in": value}, {"type": ["string", "array"]})]


class Repeat(Raw):
    until: Expression | None = None
    while_: Expression | None = None
    max: CountText | None = None
    on_exhausted: ExhaustedWord | None = None
