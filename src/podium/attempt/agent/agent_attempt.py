"""The data of one agent attempt, passed between the functions that perform it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, Final

from podium.attempt.activity import AGENT_FILES, ActivityLog
from podium.attempt.agent.resolve import ResolvedAgent
from podium.attempt.host import Host
from podium.attempt.step_tools.tools import StepTools
from podium.attempt.workspace.hidden import HiddenFiles
from podium.context.manifest import Pack
from podium.core.events import AttemptStarted
from podium.core.expressions.nodes import Names
from podium.core.model import Agent, Step
from podium.core.types import Tree, VerdictForm
from podium.fast_dataclass import dataclass
from podium.ports.agent import AgentRequest, AgentResult, ImageInput, OutputParser, Progress, ProgressKind
from podium.process.launch import Finished
from podium.process.output import OnOutput, StreamName
from podium.tasks.report import AttemptResult
from podium.tasks.task import AgentWork, AttemptTask, ConversationTurn

FILE_KINDS: Final[tuple[ProgressKind, ...]] = ("read", "edit", "file")
SILENT_KINDS: Final[tuple[ProgressKind, ...]] = ("note", "retry", "usage", "wait", "think")
"""Reports that say nothing about whether a tool is running."""


@dataclass(slots=True)
class AgentExchange:
    """What was sent to the agent and what came back; filled in as the attempt runs and written to disk at its end."""

    worker: ResolvedAgent | None = None
    system: str = ""
    prompt: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    """Answers of earlier steps that the prompt names as files."""
    images: tuple[ImageInput, ...] = ()
    memory: Tree | None = None
    """The content of the memory that the step names."""
    command_output: tuple[str, str] | None = None
    """The program of its packing strategy, and what it printed."""
    request: AgentRequest | None = None
    removed: Mapping[str, int] = field(default_factory=dict)
    """How many texts that look like secrets were removed from the prompts, by rule."""
    packed: Pack | None = None
    """The files that `context` packed into the prompt."""
    hidden: HiddenFiles | None = None
    """The files that the agent may not see; None if it may see all."""
    argv: tuple[str, ...] = ()
    has_tools: bool = False
    """Whether it can call the tools of a step, such as `ask`."""
    tools: StepTools | None = None
    """What it said by these tools."""
    guidance: tuple[str, ...] = ()
    """What people told it while it worked."""
    last_progress: Progress | None = None
    """The last thing that it was seen doing."""
    finished: Finished | None = None
    sandbox_facts: AttemptResult = field(default_factory=AttemptResult)
    """The sandbox level and network access of the agent's process."""
    result: AgentResult | None = None
    read_as: str | None = None
    """How the value was found in the answer, if the answer is not the value itself."""


@dataclass(frozen=True, slots=True)
class AgentAttempt:
    host: Host
    task: AttemptTask
    names: Names
    activity: ActivityLog
    nonce: str = field(default_factory=lambda: secrets.token_hex(8))
    """A random value that a verdict must repeat."""
    exchange: AgentExchange = field(default_factory=AgentExchange)

    @property
    def started(self) -> AttemptStarted:
        return self.task.started

    @property
    def step(self) -> Step:
        return self.task.step

    @property
    def verb(self) -> Agent:
        return self.task.agent

    @property
    def work(self) -> AgentWork:
        return self.task.agent_work

    @property
    def has_tools(self) -> bool:
        return self.exchange.has_tools

    @property
    def drops_changes(self) -> bool:
        """Whether the answer is all that counts: for a judge, and for a member of a team that may change nothing."""
        team = self.work.team
        return self.verb.judge or (team is not None and team.only_answers)

    @property
    def turn(self) -> ConversationTurn | None:
        """The open turn of a conversation: the answer is what the worker says to the person, not the result."""
        turn = None if self.work.team is None else self.work.team.turn
        return None if turn is None or turn.is_over else turn

    @property
    def disputed(self) -> tuple[Mapping[str, Any], ...]:
        """The disputed tests that a judge has to accept."""
        return () if self.work.review is None else self.work.review.disputed

    @property
    def phrase(self) -> str | None:
        """The line by which a judge approves, if its review declares one."""
        return None if self.work.review is None else self.work.review.phrase

    @property
    def verdict_form(self) -> VerdictForm:
        return "review" if self.work.review is None else self.work.review.form


def make_attempt(host: Host, task: AttemptTask, names: Names) -> AgentAttempt:
    """The data of a new attempt; its files are created with the first thing to write."""
    record = task.agent_work.config.record
    activity = ActivityLog(
        host,
        task.started,
        AGENT_FILES,
        keeps_output=bool(record.get("stdout", True)),
        keeps_progress=bool(record.get("reasoning", True)),
    )
    return AgentAttempt(host, task, names, activity)


def output_listener(attempt: AgentAttempt, parser: OutputParser) -> OnOutput:
    """Logs the output of the agent's program and what it reports with it."""

    def on_output(stream: StreamName, data: bytes) -> None:
        attempt.activity.output(stream, data)
        if stream != "stdout":
            return
        reports = tuple(_with_relative_path(report, attempt.exchange.request) for report in parser.feed(data))
        for report in reports:
            if report.kind not in SILENT_KINDS:
                attempt.exchange.last_progress = report
        attempt.activity.report(reports)

    return on_output


def _with_relative_path(report: Progress, request: AgentRequest | None) -> Progress:
    """Name files relative to the workspace; agents print absolute paths."""
    if report.kind not in FILE_KINDS or request is None:
        return report
    root = f"{request.root or request.cwd}/"
    return replace(report, text=report.text.removeprefix(root))
