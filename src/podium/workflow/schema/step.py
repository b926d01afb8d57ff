"""Steps and gates as they are written: one flat map with the keys of every verb.

Which key fits which verb is not a matter of types; `verb_keys.py` tells it with a better message.
"""

from functools import cached_property
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from podium.core.fast_dataclass import dataclass
from podium.workflow.schema.fields import Raw, Scalar, Wrong
from podium.workflow.schema.parts import (
    ContextMap,
    Coverage,
    Escalate,
    Estimate,
    ForEachMap,
    Git,
    Ints,
    Limits,
    OutputText,
    Repeat,
    RetryText,
    SandboxMap,
    Script,
    TeamMember,
    Texts,
    Wait,
    WorkspaceMap,
)
from podium.workflow.schema.scalars import (
    Continuity,
    Duration,
    Expression,
    Globs,
    JoinText,
    Network,
    OneOrMore,
    Parallel,
    Pass,
    Positive,
    Score,
    TextList,
)

NOTHING: Final[dict[str, Any]] = {}
"""The default of maps by name; nobody writes into what was read."""

VERBS: Final = (
    "role",
    "agent",
    "run",
    "review",
    "human",
    "check",
    "wait",
    "set",
    "git",
    "steps",
    "workflow",
    "build",
)
GATE_VERBS: Final = ("run", "review", "human", "check")


@dataclass(frozen=True, slots=True)
class Route:
    """Where an outcome leads: a step or one of the words; `fail` and `end` may carry a text."""

    target: str
    message: str | None = None


def route(value: Any) -> Route:
    if isinstance(value, str):
        return Route(value)
    if isinstance(value, dict) and len(value) == 1:
        [(word, message)] = value.items()
        if word in {"fail", "end"} and isinstance(message, str):
            return Route(word, message)
    raise Wrong("a step, next, end, fail, break, {fail: text} or {end: text}")


_ROUTE_SCHEMA: Final[dict[str, Any]] = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {"fail": {"type": "string"}, "end": {"type": "string"}},
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": False,
        },
    ]
}

RouteText: TypeAlias = Annotated[Route, Scalar(route, _ROUTE_SCHEMA)]
RunText: TypeAlias = str | Texts | Script
Level: TypeAlias = str


class Judging(Raw):
    """What a step and a gate have in common: the judging verbs, their keys, and the walls around a process."""

    description: str = ""
    when: Expression | None = None

    run: RunText | None = None
    stdin: OneOrMore | None = None
    junit: str | None = None
    coverage: Coverage | None = None
    must_fail_before: bool = False
    exit_codes: Ints = ()

    review: OneOrMore | None = None
    of: TextList | None = None
    prompt: str | None = None
    pass_: Pass | None = None
    min_score: Score | None = None
    bar: Literal["critical", "major", "minor"] | None = None
    phrase: str | None = None

    human: str | None = None
    show: Texts | None = None
    level: Level | None = None
    veto: Duration | None = None
    by: TextList | None = None
    approvals: Positive | None = None
    notify: TextList | None = None
    remind: Duration | None = None
    escalate: Escalate | None = None

    check: Expression | None = None

    retry: RetryText | None = None
    timeout: Duration | None = None
    context: ContextMap | None = None
    dir: str | None = None
    sandbox: SandboxMap | None = None
    network: Network | None = None
    secrets: Texts = ()
    env: Texts = ()
    protect: Texts = ()
    runs_on: TextList | None = None

    verbs: ClassVar[tuple[str, ...]] = GATE_VERBS

    @cached_property
    def verb(self) -> str | None:
        """The one verb, `role` and `agent` both being "agent"; None if the file names none or several."""
        found = {("agent" if verb == "role" else verb) for verb in self.verbs if self.get(verb) is not None}
        return found.pop() if len(found) == 1 else None


class Gate(Judging):
    thing: ClassVar[str] = "gate"

    name: str | None = None
    on_fail: Literal["retry", "block"] = "retry"


GateText: TypeAlias = str | Gate
GateList: TypeAlias = tuple[GateText, ...]
"""Names of gates, and gates."""


class Step(Judging):
    thing: ClassVar[str] = "step"
    verbs: ClassVar[tuple[str, ...]] = VERBS

    role: OneOrMore | None = None
    agent: OneOrMore | None = None
    model: str | None = None
    tools: Texts | None = None
    fallback: TextList | None = None
    continuity: Continuity | None = None
    team: dict[str, TeamMember] | None = None
    no_change: Literal["fail", "pass"] | None = None
    done: Wait | None = None
    estimate: Estimate | None = None

    wait: Wait | None = None
    set_: dict[str, Any] | None = None
    git: Git | None = None
    steps: "dict[str, Step] | None" = None
    workflow: str | None = None
    build: "str | Feature | None" = None
    """A file, one `${{ }}`, or the feature itself."""
    design: "Step | None" = None
    component: "Step | None" = None

    needs: Texts | None = None
    on: dict[str, RouteText] = NOTHING
    for_each: ForEachMap | None = None
    repeat: Repeat | None = None
    parallel: Parallel | None = None
    join: JoinText | None = None
    gates: GateList = ()
    limits: Limits | None = None
    output: OutputText | None = None
    with_: dict[str, Any] | None = None
    touches: Globs | None = None
    workspace: WorkspaceMap | None = None
    recovery: Literal["rerun", "ask"] | None = None

    after: str | None = None
    before: str | None = None
    required: bool = False


class Interface(Raw):
    thing: ClassVar[str] = "interface"

    file: str
    text: str
    check: Texts | None = None


class Phase(Raw):
    thing: ClassVar[str] = "phase"

    title: str | None = None
    description: str = ""
    barrier: Literal["strict", "interfaces", "none"] = "strict"
    interfaces: dict[str, Interface] = NOTHING
    components: dict[str, Step] = NOTHING


class Feature(Raw):
    thing: ClassVar[str] = "feature"

    id: str | None = None
    title: str | None = None
    description: str = ""
    phases: dict[str, Phase]
