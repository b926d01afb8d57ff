"""The result of an attempt: the fields that the event AttemptEnded carries and that expressions read as `steps.x`.

The names are stored in logs and used in workflows, so they must not change. A field without a value is absent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from podium.core.types import Tree


class KeptArtifact(TypedDict):
    file: str
    """The name under which it is published."""
    hash: str
    project: NotRequired[str]
    """The path in the project that it is written to when the run has ended."""
    save: NotRequired[str]
    """Where it is written in the project."""


class TokenCounts(TypedDict):
    input: int
    output: int
    cached: int


class VerdictRecord(TypedDict):
    decision: str
    score: float | None
    by: list[str]
    tree: Tree | None
    scores: NotRequired[Mapping[str, float]]
    """By the name of each judged work, where a judge gave one to each."""


class Evidence(TypedDict):
    """The command that ran, its output and its reports; file names are relative to the folder of the run."""

    command: list[str]
    tree: Tree | None
    laid_out: Tree | None
    """The tree that the command saw: protected files may have been restored."""
    output: list[str]
    reports: list[str]


class FailedTests(TypedDict):
    """What a test runner reports about failed tests."""

    failed: int
    total: int | None
    """None if the runner does not say how many it ran; 0 if none ran, because something is wrong before the tests."""
    first: str
    """The name of the first failed test, or of the file that could not be loaded."""
    assertion: str


class AttemptResult(TypedDict, total=False):
    text: str
    message: str
    """Why the attempt did not pass."""
    output: Any
    """The answer, as its contract parses it."""
    files: Sequence[str]
    """The files that the attempt changed."""
    diff: str
    notes: str
    log: str
    """The folder with the attempt's records, relative to the folder of the run."""
    instructions: str
    """The hash of the role and of the template of the prompt, before anything is filled in."""
    read_as: str
    """How the value was found in the answer: `fenced` is the only fenced block of a Markdown text."""
    stderr_log: str
    """The file with what the attempt's command printed on stderr, relative to the folder of the run."""
    artifacts: Sequence[KeptArtifact]
    sandbox: str
    network: str
    unbounded: Sequence[str]
    """What the machine could not limit in this sandbox."""

    # Of commands.
    exit_code: int | None
    evidence: Evidence
    tests: Mapping[str, int]
    failed_tests: FailedTests
    cause: str
    """The printed line that names the error, if a command failed that ran no tests."""
    coverage: float
    uncompared: str
    """Why the tests could not be compared with those of the base tree."""
    disputed: Sequence[Mapping[str, Any]]
    """Earlier tests that fail on the work, whose author gave reasons; a judge has to accept each."""
    disputed_diff: str
    not_rerun: Sequence[str]
    """Changed files with tests inside the code, which cannot be run again as they were."""

    # Of agents.
    agent: str
    by: str
    """The person who did the work in the agent's own program."""
    role: str | None
    model: str | None
    usage: TokenCounts
    cost_source: str
    simulated: str
    """The type of the agent, if a script or a recording answered, so that nothing was really spent."""
    context: Mapping[str, Any]
    """How full the window of the model was."""
    packed: Mapping[str, Any]
    """The hash of the files that were packed into the prompt, and their tokens."""
    removed: Mapping[str, int]
    """How many matches of each secret rule were removed from the prompt."""
    summary: str
    verdict: VerdictRecord
    tests_changed: Sequence[Mapping[str, str]]
    """The tests that a worker changed on purpose, with its reasons."""
    accepted_tests: Sequence[str]
    """The ids of the disputed tests that a reviewer accepts."""

    # Of landings.
    onto: str
    """The branch; the tree merged with it must be judged before it lands."""
    rebase: Mapping[str, Any]
    """The work merged onto a branch that has moved, where it did not land."""
