"""A workflow file and a configuration file as they are written."""

from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias, get_args

from podium.workflow.schema.fields import Raw, Short, known_keys
from podium.workflow.schema.parts import (
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
    Expression,
    Globs,
    Network,
    Number,
    Positive,
    TextList,
    Tokens,
)
from podium.workflow.schema.step import NOTHING, Gate, GateList, Step

InputType: TypeAlias = Literal["string", "int", "number", "bool", "path", "list", "map"]


class Input(Raw):
    thing: ClassVar[str] = "input"

    type: InputType = "string"
    default: Any = None
    help: str = ""
    choices: tuple[Any, ...] = ()
    exists: bool = False


class Price(Raw):
    """Dollars per million tokens, and when that was looked up."""

    input: Number | None = None
    output: Number | None = None
    cache_read: Number | None = None
    cache_write: Number | None = None
    date: str | None = None


class Agent(Raw):
    """A configured program. What only its adapter knows is passed through."""

    thing: ClassVar[str] = "agent"
    open: ClassVar[bool] = True

    type: str | None = None
    model: str | None = None
    command: str | Texts | None = None
    resume: str | Texts | None = None
    args: Texts = ()
    script: str | None = None
    """Of a scripted agent: the cast it plays, a path in the project."""
    enabled: bool = True
    stall: Duration | None = None
    price: Price | None = None
    context_window: Tokens | None = None
    tiers: dict[str, Any] | None = None
    base_url: str | None = None
    temperature: Number | None = None
    max_tokens: Tokens | None = None
    max_turns: Positive | None = None
    max_usd: Number | None = None
    auth: str | None = None
    env: Texts = ()
    estimate: Estimate | None = None
    description: str = ""


class Role(Raw):
    thing: ClassVar[str] = "role"

    extends: str | None = None
    replace: Texts = ()
    description: str = ""
    agent: str | None = None
    candidates: Texts | None = None
    model: str | None = None
    system: str | None = None
    prompt: str | None = None
    context: ContextMap | None = None
    tools: Texts | None = None
    touches: Globs | None = None
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
    veto: Duration | None = None


class Record(Raw):
    prompts: bool | None = None
    inputs: bool | None = None
    outputs: bool | None = None
    stdout: bool | None = None
    reasoning: bool | None = None
    keep: Duration | None = None


NotifyText: TypeAlias = Texts | dict[str, Any]
"""Names of channels, or (in a configuration) what they are."""


class Cascade(Raw):
    """The keys that may stand in a workflow and in every configuration file, spelled alike."""

    agents: dict[str, Agent] = NOTHING
    roles: dict[str, Role] = NOTHING
    policies: dict[str, tuple[PolicyRule, ...]] = NOTHING
    retries: dict[str, Annotated[Retry, Short(lambda value: {"attempts": value}, {"type": "integer"})]] = (
        NOTHING
    )
    people: dict[str, TextList] = NOTHING
    notify: NotifyText | None = None
    context: ContextMap | None = None
    limits: TopLimits | None = None
    breaker: Breaker | None = None
    secrets: Texts = ()
    env: Texts = ()
    workspace: WorkspaceMap | None = None
    sandbox: SandboxMap | None = None
    network: Network | None = None
    protect: Texts = ()
    max_parallel: Positive = 4
    record: Record | None = None


class File(Cascade):
    """One workflow, after its template and its configuration were merged into it."""

    thing: ClassVar[str] = "workflow"

    podium: Literal[1]
    name: str | None = None
    description: str = ""
    extends: str | None = None
    disable: Texts = ()
    inputs: dict[
        str, Annotated[Input, Short(lambda value: {"type": value}, {"enum": list(get_args(InputType))})]
    ] = NOTHING
    vars: dict[str, Any] = NOTHING
    outputs: dict[str, Any] = NOTHING
    steps: dict[str, Step]
    finally_: dict[str, Step] | None = None
    gates: dict[str, Gate] = NOTHING
    strict: bool = False


class Config(Cascade):
    thing: ClassVar[str] = "configuration"


CASCADE_KEYS: Final = known_keys(Cascade)
