"""The settings that only attempts need: where and how processes run, and what agents are given.

The core passes them on unread. A value may contain inserts, which the attempt fills in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, Final, Literal

from podium.core.expressions.templates import Value
from podium.fast_dataclass import dataclass

NO_FIELDS: Final[Mapping[Any, Any]] = MappingProxyType({})


def no_fields() -> Mapping[Any, Any]:
    """Return the one empty, read-only map that is the default of every map in the model and the settings."""
    return NO_FIELDS


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt or question: its source text and the file it came from."""

    text: str
    file: str | None = None


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    level: str | None = None
    image: Value = None
    memory: Value = None
    cpu: Value = None
    processes: int | None = None
    """How many processes and threads an attempt may have at the same time."""
    disk: int | None = None
    """The bytes that it may write to its folders."""
    files: int | None = None
    """How many files it may write."""
    scratch: int | None = None
    """The bytes of each folder that is in memory."""


DEFAULT_BOUNDS: Final[Mapping[str, int]] = MappingProxyType(
    {"processes": 4096, "disk": 20 << 30, "files": 1_000_000, "scratch": 512 << 20}
)
"""What an attempt may use unless its settings say otherwise; only a person may allow more."""


@dataclass(frozen=True, slots=True)
class WorkspaceSettings:
    mode: Literal["private", "inplace"] | None = None
    setup: tuple[tuple[Value, ...], ...] = ()
    copy: tuple[Value, ...] = ()
    ports: int | None = None
    teardown: tuple[tuple[Value, ...], ...] = ()
    history: int | Literal["full"] | None = None
    """How many commits its repository has; None: 20 for an agent, and no repository for a command."""
    refs: tuple[Value, ...] = ()
    """Globs of the branches and tags that its repository has as well."""
    hide: tuple[Value, ...] = ()
    """Globs, and `$INTERNALS`: files that the worker may not see."""
    network: str | tuple[str, ...] | None = None
    """What `setup` and `teardown` of a gate may reach, which is what the judged step may; None: as the command itself."""


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """The files that are packed into the prompt of an agent."""

    include: tuple[Value, ...] = ()
    always: tuple[Value, ...] = ()
    exclude: tuple[Value, ...] = ()
    diff: bool | None = None
    budget: int | None = None
    strategy: Value = None
    """A preset of parts to pack."""
    command: tuple[Value, ...] = ()
    """A program whose output is packed in place of a preset."""
    target: tuple[Value, ...] = ()
    """What the step is about; () is its `touches`."""
    depth: Literal["minimal", "balanced", "full"] | None = None
    """How much is packed; None follows from what the agent can do."""
    interfaces: tuple[Value, ...] = ()
    """The locked interfaces of a build, which every component is shown."""
    earlier: Literal["none", "all"] | None = None
    """Whether a member or reviewer is given the answers of those before it in the same round; None is "none"."""


@dataclass(frozen=True, slots=True)
class ToolApproval:
    """Which calls of tools a person has to approve."""

    patterns: tuple[str, ...] = ()
    """A tool, or a tool with a pattern of what it is called with, as `run(git push*)`."""
    wait_ms: int = 300_000
    """How long the agent's process is held until the attempt ends without an answer."""


@dataclass(frozen=True, slots=True)
class StepSettings:
    """The settings of the file, the role and the step, merged."""

    dir: Value = None
    """Where processes start, in the workspace; None is its root."""
    base: Value = None
    """The branch, tag or commit at which an attempt works; None is the files of the run."""
    env: tuple[Value, ...] = ()
    """Names of variables that are passed on, and NAME=VALUE for those that are set."""
    secrets: tuple[str, ...] = ()
    network: str | tuple[str, ...] | None = None
    """`open`, or the hosts that processes may reach."""
    protect: tuple[Value, ...] = ()
    """Globs of files that the step may not change."""
    sandbox: SandboxSettings = SandboxSettings()
    workspace: WorkspaceSettings = WorkspaceSettings()
    runs_on: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    approve: ToolApproval = ToolApproval()
    candidates: tuple[str, ...] = ()
    """The agents among which `agent: auto` chooses."""
    system: Prompt | None = None
    context: ContextSettings = ContextSettings()
    baseline: Literal["warn", "refuse", "ignore"] | None = None
    """What to do if this command fails on the tree that the run starts from; None: nothing was written."""


@dataclass(frozen=True, slots=True)
class WorkflowConfig:
    """What the attempts of all steps of a workflow share."""

    agents: Mapping[str, Mapping[str, Any]] = field(default_factory=no_fields)
    """The settings of each configured agent, which may contain inserts."""
    roles: Mapping[str, Mapping[str, Any]] = field(default_factory=no_fields)
    """For roles that are chosen during the run; a role that the file names is part of its steps."""
    partials: Mapping[str, str] = field(default_factory=no_fields)
    """The partials of the user and of the project, by file name."""
    record: Mapping[str, Any] = field(default_factory=no_fields)
    secrets: tuple[str, ...] = ()
    notify: tuple[str, ...] | None = None
    """The channels that messages about the run go to; None for all that the configuration defines."""
    subject: Value = None
    """What the runs of the workflow are about, so that those about the same can be compared; a text with inputs."""
    adaptive: Mapping[str, Any] = field(default_factory=no_fields)
    """How the agents of steps with `agent: auto` are chosen, as written."""
    works_in_project: bool = False
    """Whether steps change the project itself unless they say otherwise."""


FILLED_IN: Final = ("dir", "base", "env", "protect", "sandbox", "workspace", "context")
"""The settings that may contain inserts."""


def present(settings: object) -> dict[str, Any] | None:
    """The settings of a record that were made, by name; None if there are none."""
    names: tuple[str, ...] = settings.__slots__  # type: ignore[attr-defined]  # every record has them
    values = {name: getattr(settings, name) for name in names}
    return {name: value for name, value in values.items() if value not in (None, ())} or None


def written_values(settings: StepSettings, names: Iterable[str]) -> tuple[Value, ...]:
    """The values of these settings, so that a caller can fill them in or compare them; None for a setting that was not made."""
    return tuple(_value(getattr(settings, name)) for name in names)


_DEFAULTS: Final[Mapping[type[Any], Any]] = {
    kind: kind() for kind in (SandboxSettings, WorkspaceSettings, ContextSettings)
}


def _value(setting: Any) -> Value:
    default = _DEFAULTS.get(type(setting))
    if default is not None:
        return None if setting == default else present(setting)
    return None if setting == () else setting


@dataclass(frozen=True, slots=True)
class OtherProject:
    """Another repository and the workflow file in it."""

    folder: str
    """As written, from the top of this project."""
    file: str


@dataclass(frozen=True, slots=True)
class ChildRun:
    """A workflow of another repository, as a run of its own there. Made from a Call when a real run begins."""

    place: OtherProject
    values: tuple[tuple[str, Value], ...] = ()
    usd: int | None = None
    tokens: int | None = None
    calls: int | None = None
    """The limits of that workflow, as far as they are known; the run gets what is left here if that is less."""
