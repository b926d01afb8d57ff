"""A workflow file and a configuration file as they are written."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, get_args

from podium.workflow.schema.channels import Channel
from podium.workflow.schema.fields import Raw, Short
from podium.workflow.schema.other_words import FILE as FILE_WORDS
from podium.workflow.schema.parts import (
    Adaptive,
    Breaker,
    ContextMap,
    Estimate,
    Limits,
    OutputText,
    Retry,
    RetryText,
    SandboxMap,
    Texts,
    TopLimits,
    WorkspaceMap,
)
from podium.workflow.schema.scalars import (
    Continuity,
    Duration,
    DurationText,
    Expression,
    Globs,
    Network,
    Number,
    Positive,
    TextList,
    Tokens,
)
from podium.workflow.schema.step import EMPTY, Gate, GateList, Step
from podium.workflow.schema.triggers import Trigger

InputType: TypeAlias = Literal["string", "int", "number", "bool", "path", "list", "map"]


class Input(Raw):
    noun: ClassVar[str] = "input"

    type: InputType = "string"
    default: Any = None
    help: str = ""
    choices: tuple[Any, ...] = ()
    exists: bool = False


class Price(Raw):
    """Dollars per million tokens, and the date of the price."""

    input: Number | None = None
    output: Number | None = None
    cache_read: Number | None = None
    cache_write: Number | None = None
    date: str | None = None


class Agent(Raw):
    """A configured agent: the keys that Podium itself reads. The type of the agent declares all others."""

    noun: ClassVar[str] = "agent"
    open: ClassVar[bool] = True

    type: str | None = None
    enabled: bool = True
    description: str = ""
    model: str | None = None
    context_window: Tokens | None = None
    price: Price | None = None
    estimate: Estimate | None = None
    stall: Duration | None = None
    step_tools: bool | None = None
    env: Texts = ()
    max_usd: Number | None = None
    resume: str | Texts | None = None


class Role(Raw):
    noun: ClassVar[str] = "role"

    extends: str | None = None
    replace: Texts = ()
    description: str = ""
    agent: str | None = None
    candidates: Texts | None = None
    model: str | None = None
    system: str | None = None
    placeholders: dict[str, str] | None = None
    prompt: str | None = None
    context: ContextMap | None = None
    tools: Texts | None = None
    touches: Globs | None = None
    no_change: Literal["fail", "pass"] | None = None
    gates: GateList = ()
    output: OutputText | None = None
    retry: RetryText | None = None
    timeout: Duration | None = None
    limits: Limits | None = None
    fallback: TextList | None = None
    continuity: Continuity | None = None
    sandbox: SandboxMap | None = None
    network: Network | None = None
    runs_on: TextList | None = None
    strengths: Texts = ()
    with_: dict[str, Any] | None = None


class PolicyRule(Raw):
    level: Literal["auto", "notify", "human"]
    when: Expression | None = None
    by: TextList = ()
    approvals: Positive = 1
    veto: DurationText | None = None
    presence: bool = False


class SummaryParts(Raw):
    tokens: bool = True
    scores: bool = True
    previews: bool = True


class Record(Raw):
    summary: bool | SummaryParts | None = None
    prompts: bool | None = None
    inputs: bool | None = None
    outputs: bool | None = None
    stdout: bool | None = None
    reasoning: bool | None = None
    keep: Duration | None = None
    inboxes: str | None = None
    link: str | None = None


class StepDefaults(Raw):
    timeout: Duration | None = None
    retry: RetryText | None = None


class Defaults(StepDefaults):
    """The settings of steps that have none of their own, for all steps and by the name of a step."""

    noun: ClassVar[str] = "defaults"

    steps: dict[str, StepDefaults] = EMPTY


class GitPolicy(Raw):
    """How runs use git, whatever their steps say."""

    noun: ClassVar[str] = "git"

    branch: str | None = None
    commit: bool = False
    preview: bool = False
    approval: str | None = None
    """The level, or the policy, by which people approve what lands."""
    on_failure: Literal["stash"] | None = None


class Reviews(Raw):
    noun: ClassVar[str] = "reviews"

    parallel: bool = True
    dual: bool = False


class SharedKeys(Raw):
    """The keys that a workflow shares with configuration files."""

    agents: dict[str, Agent] = EMPTY
    roles: dict[str, Role] = EMPTY
    policies: dict[str, tuple[PolicyRule, ...]] = EMPTY
    retries: dict[str, Annotated[Retry, Short(lambda value: {"attempts": value}, {"type": "integer"})]] = (
        EMPTY
    )
    people: dict[str, TextList] = EMPTY
    context: ContextMap | None = None
    defaults: Defaults | None = None
    git: GitPolicy | None = None
    reviews: Reviews | None = None
    limits: TopLimits | None = None
    breaker: Breaker | None = None
    adaptive: Adaptive | None = None
    secrets: Texts = ()
    env: Texts = ()
    workspace: WorkspaceMap | None = None
    sandbox: SandboxMap | None = None
    network: Network | None = None
    protect: Texts = ()
    max_parallel: Positive = 4
    baseline: Literal["warn", "refuse", "ignore"] | None = None
    record: Record | None = None


class Labels(Raw):
    noun: ClassVar[str] = "labels"

    steps: dict[str, str] = EMPTY
    vars: dict[str, str] = EMPTY


class File(SharedKeys):
    """A workflow, after its template and configuration are merged into it."""

    noun: ClassVar[str] = "workflow"
    other_words: ClassVar[Mapping[str, str]] = FILE_WORDS

    podium: Literal[1]
    name: str | None = None
    description: str = ""
    extends: str | None = None
    disable: Texts = ()
    inputs: dict[
        str, Annotated[Input, Short(lambda value: {"type": value}, {"enum": list(get_args(InputType))})]
    ] = EMPTY
    vars: dict[str, Any] = EMPTY
    outputs: dict[str, Any] = EMPTY
    steps: dict[str, Step]
    driver: str | None = None
    finally_: dict[str, Step] | None = None
    gates: dict[str, Gate] = EMPTY
    strict: bool = False
    subject: str | None = None
    notify: Texts | None = None
    labels: Labels | None = None
    triggers: dict[str, Trigger] = EMPTY
    switches: Texts = ()


class Config(SharedKeys):
    noun: ClassVar[str] = "configuration"

    notify: Texts | dict[str, Channel] = EMPTY
    """The channels that messages go to, or the names of those that another configuration defines and this one uses."""
