"""The host of one run's attempts: folders, sandbox, agents and settings of this machine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.attempt.guidance_desk import GuidanceDesk
from podium.attempt.step_tools.approval_desk import ApprovalDesk
from podium.attempt.taking import Taking
from podium.attempt.workspace.folder_pool import FolderPool
from podium.attempt.workspace.private_dirs import PrivateDirPool
from podium.core.hash_chain import RunId
from podium.core.model import Step
from podium.core.types import Millis
from podium.files.project_paths import ProjectPaths
from podium.git.repository import Repository
from podium.ports.agent import Agents, OnProgress, PriceOf, Usage
from podium.ports.child_runs import ChildRuns, NoChildRuns
from podium.ports.clock import Clock, wall_clock
from podium.ports.presence import NobodyPresent, PresenceCheck
from podium.ports.sandbox import Sandbox, Sandboxes
from podium.redaction.mask import Mask
from podium.tasks.run_context import RunContext

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from podium.context.cache import FactCache, OpenFacts


def no_progress(path: str, progress: Any) -> None:
    """For callers without a display."""


def no_price(_vendor: str, _model: str, _usage: Usage) -> None:
    """For hosts without a table of prices."""


def nothing_passed(_workflow: str, _step: str) -> bool:
    """For hosts that know no other runs."""
    return False


async def no_files() -> None:
    """For hosts whose agents get no files of the run."""


def facts_in_memory() -> AbstractContextManager[FactCache]:
    """For hosts that store no facts about files. Imported when it is called: few runs pack code."""
    from podium.context.cache import MemoryFacts

    return MemoryFacts()


def not_kept(_kind: str, _login: bytes) -> None:
    """For hosts whose agents have no logins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    context: RunContext
    project: Path
    """The root of the project: the top of its repository, or the folder itself."""
    state_dir: Path
    """`.podium` in the project: the log, the records of runs, published artifacts."""
    work_dir: Path
    """For workspaces of this run; outside the project, so that a search through parent folders does not find it."""
    repository: Repository | None
    """None outside of git: then steps work in the project itself, one at a time."""
    agents: Agents
    sandboxes: Sandboxes
    marker: str
    """Set in the environment of every process of this run, so that a sweep finds them."""
    mask: Mask
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The values of the declared secrets; a process gets those that its step names."""
    host_env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The environment of the user, from which `env: [NAME]` takes."""
    toolchain: tuple[str, ...] = ()
    """Folders with programs in the project that the user lends to the steps, such as `.venv`, as they were at the start."""
    keep_login: Callable[[str, bytes], None] = not_kept
    presence: PresenceCheck = NobodyPresent()
    """Stores a login that an agent of this type may have renewed."""
    now: Clock = wall_clock
    skip_to: Callable[[Millis], None] | None = None
    """Puts the clock forward while a run only waits for a time; None for the clock of the machine."""
    on_progress: OnProgress = no_progress
    price_of: PriceOf = no_price
    passed_steps: Callable[[str, str], bool] = nothing_passed
    """Whether a step has passed in the newest run of a workflow, both by name; for `wait: {step}`."""
    write_files: Callable[[], Awaitable[Any]] = no_files
    """Brings the files of the run up to date, for an attempt that gets a copy of them."""
    open_facts: OpenFacts = facts_in_memory
    """Opens what is known about the code of the project; it outlives the run."""
    folders: FolderPool = field(default_factory=FolderPool)
    """Folders that this process made for workspaces of the run and can reuse."""
    private_dirs: PrivateDirPool = field(default_factory=PrivateDirPool)
    unrecorded_sessions: dict[str, bytes] = field(default_factory=dict, repr=False)
    """Conversations that may not be written to disk, by role."""
    child_runs: ChildRuns = NoChildRuns()
    """Starts and drives runs in other repositories."""
    taking: Taking | None = None
    """The person who does the work of one attempt in this process."""
    guidance: GuidanceDesk = field(default_factory=GuidanceDesk, repr=False)
    """Passes guidance to agents that are working."""
    approvals: ApprovalDesk = field(default_factory=ApprovalDesk, repr=False)
    """Holds calls of tools until people have decided about them."""
    run_dir: Path = field(init=False)
    """The records of this run."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "run_dir", ProjectPaths(self.project, self.state_dir).run_dir(self.run))

    @property
    def run(self) -> RunId:
        return self.context.id

    @property
    def base_commit(self) -> str | None:
        return self.context.base_commit

    @property
    def is_rehearsal(self) -> bool:
        return self.context.is_rehearsal

    @property
    def record(self) -> Path | None:
        """The folder for recordings of the exchanges with agents."""
        return None if self.context.record is None else self.project / self.context.record

    def sandbox_of(self, step: Step) -> Sandbox:
        return self.sandboxes.for_step(step, in_project=self.is_inplace(step))

    def is_inplace(self, step: Step) -> bool:
        """Whether a step works in the project itself."""
        return self.repository is None or step.settings.workspace.mode == "inplace"

    @property
    def versions_dir(self) -> Path:
        """The files that each visit wrote for the project, with the number of the visit in their names."""
        return self.run_dir / "versions"

    @property
    def artifacts_dir(self) -> Path:
        """The published artifacts of this run, a folder per step."""
        return self.run_dir / "artifacts"

    def log_dir(self, path: str, attempt: int) -> Path:
        """The folder for the prompts and answers of an attempt."""
        return Path(f"{self.run_dir}/agent_logs/{path.replace('/', '+')}/{attempt}")
