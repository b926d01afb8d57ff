"""Steps and gates as written: one flat map with the keys of every verb.

Types do not say which key fits which verb; `verb_keys.py` checks it with a clearer message.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Final, Literal, TypeAlias

from podium.core.types import VerdictForm
from podium.workflow.schema.fields import Raw
from podium.workflow.schema.other_words import STEP as STEP_WORDS
from podium.workflow.schema.parts import (
    ApproveToolsMap,
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
    Tests,
    Texts,
    Wait,
    WorkspaceMap,
)
from podium.workflow.schema.routes import RouteText
from podium.workflow.schema.scalars import (
    Continuity,
    CountText,
    DurationText,
    Expression,
    Globs,
    JoinText,
    MemoryName,
    NeedsText,
    Network,
    OneOrMore,
    Parallel,
    Pass,
    Positive,
    ScoreText,
    TextList,
    is_insert,
)
from podium.workflow.schema.workflow_files import WorkflowFile

EMPTY: Final[dict[str, Any]] = {}
"""The default of maps by name; values that were read are never changed."""

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
    "continue_as",
)
GATE_VERBS: Final = ("run", "review", "human", "check")


RunText: TypeAlias = str | Texts | Script
TestsText: TypeAlias = bool | Tests
Level: TypeAlias = str


class StepOrGate(Raw):
    """The common part of a step and a gate: verbs that judge, their keys, and the sandbox of a process."""

    description: str = ""
    when: Expression | None = None

    run: RunText | None = None
    stdin: OneOrMore | None = None
    junit: str | None = None
    coverage: Coverage | None = None
    must_fail_before: bool = False
    baseline: Literal["warn", "refuse", "ignore"] | None = None
    tests: TestsText | None = None
    exit_codes: Ints = ()

    review: OneOrMore | None = None
    of: TextList | None = None
    prompt: str | None = None
    pass_: Pass | None = None
    min_score: ScoreText | None = None
    bar: Literal["critical", "major", "minor"] | None = None
    phrase: str | None = None
    approve: Literal["last_line", "anywhere"] | None = None
    verdict: VerdictForm | None = None

    human: str | None = None
    show: Texts | None = None
    level: Level | None = None
    veto: DurationText | None = None
    presence: bool | None = None
    by: TextList | None = None
    approvals: Positive | None = None
    notify: TextList | None = None
    remind: DurationText | None = None
    escalate: Escalate | None = None

    check: Expression | None = None

    retry: RetryText | None = None
    timeout: DurationText | None = None
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
        """The verb, where `role` and `agent` both count as "agent"; None if the file has none or several."""
        verbs = {
            "agent" if key == "role" else key
            for key in self.written_keys()
            if key in self.verbs and self.get(key) is not None
        }
        return verbs.pop() if len(verbs) == 1 else None


class Gate(StepOrGate):
    noun: ClassVar[str] = "gate"

    name: str | None = None
    on_fail: Literal["retry", "block"] = "retry"


GateText: TypeAlias = str | Gate
GateList: TypeAlias = tuple[GateText, ...]
"""Gates, or names of gates."""


class TeamMember(Raw):
    """A member of a team: the keys of an agent step that apply to it, and whom it may ask."""

    noun: ClassVar[str] = "member"

    role: str | None = None
    agent: str | None = None
    model: str | None = None
    prompt: str | None = None
    touches: Globs | None = None
    protect: Texts = ()
    tools: Texts | None = None
    output: OutputText | None = None
    timeout: DurationText | None = None
    retry: RetryText | None = None
    limits: Limits | None = None
    context: ContextMap | None = None
    estimate: Estimate | None = None
    asks: Texts = ()
    when_done: bool = False
    until: str | None = None
    turns: Positive | None = None

    @property
    def converses(self) -> bool:
        """Whether it is a person with whom the worker takes turns."""
        return self.until is not None or self.turns is not None

    @property
    def step(self) -> "Step":
        """The step that the member does when it is asked."""
        own = ("asks", "when_done", "until", "turns")
        values = {key: self.get(key) for key in self.written_keys() if key not in own}
        return Step(values, self.path)


class Step(StepOrGate):
    noun: ClassVar[str] = "step"
    verbs: ClassVar[tuple[str, ...]] = VERBS
    other_words: ClassVar[Mapping[str, str]] = STEP_WORDS

    log: str = ""
    role: OneOrMore | None = None
    agent: OneOrMore | None = None
    model: str | None = None
    tools: Texts | None = None
    approve_tools: ApproveToolsMap | None = None
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
    driver: str | None = None
    """Only where it could not be carried out: merging turns it into steps."""
    workflow: WorkflowFile | None = None
    continue_as: Literal["new"] | None = None
    max: CountText | None = None
    build: "str | Feature | None" = None
    """A file, one `${{ }}`, or the feature itself."""
    design: "Step | None" = None
    component: "Step | None" = None

    needs: NeedsText | None = None
    on: dict[str, RouteText] = EMPTY
    for_each: ForEachMap | None = None
    repeat: Repeat | None = None
    parallel: Parallel | None = None
    join: JoinText | None = None
    cancel: Literal["rest"] | None = None
    gates: GateList = ()
    limits: Limits | None = None
    output: OutputText | None = None
    with_: dict[str, Any] | None = None
    touches: Globs | None = None
    workspace: WorkspaceMap | None = None
    memory: MemoryName | None = None
    base: str | None = None
    recovery: Literal["rerun", "ask"] | None = None

    @cached_property
    def panel_key(self) -> Literal["agent", "role", "review"] | None:
        """The key whose value names the members during the run; `limits.members` says how many there may be."""
        if self.limits is None or self.limits.members is None or self.for_each is not None:
            return None
        keys: tuple[Literal["agent", "role", "review"], ...] = ("agent", "role", "review")
        return next((key for key in keys if is_insert(self.get(key))), None)

    @property
    def has_list(self) -> bool:
        """Whether several agents do the step, by a list or by a value."""
        is_panel = self.panel_key in ("agent", "role")
        return is_panel or isinstance(self.role, tuple) or isinstance(self.agent, tuple)

    after: str | None = None
    before: str | None = None
    required: bool = False


class Interface(Raw):
    noun: ClassVar[str] = "interface"

    file: str
    text: str
    check: Texts | None = None


class Phase(Raw):
    noun: ClassVar[str] = "phase"

    title: str | None = None
    description: str = ""
    barrier: Literal["strict", "interfaces", "none"] = "strict"
    interfaces: dict[str, Interface] = EMPTY
    components: dict[str, Step] = EMPTY


class Feature(Raw):
    noun: ClassVar[str] = "feature"

    id: str | None = None
    title: str | None = None
    description: str = ""
    phases: dict[str, Phase]
