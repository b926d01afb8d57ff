"""The stored files of a run's attempts: prompts, answers and output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from podium.core.types import CONTINUING_OUTCOMES, Address
from podium.files.project_paths import ProjectPaths
from podium.views.plain import as_text, encode_utf8
from podium.views.run.labels import label_address, labelled, labelled_step, labels_in
from podium.views.run.view import RunView, StepView, steps_named
from podium.views.run.why import review_text
from podium.views.text.costs import attempt_text

PIECE: Final = 1 << 16
ACTIVITY: Final = "progress.jsonl"
LIVE: Final = (ACTIVITY, "stderr.log", "setup.log", "output.log")
"""What a person who follows an attempt reads: what it does and prints, without its prompts and raw records."""
REASONS: Final = "reasons"
PART_LINES: Final = 30
"""How many lines of a long message are the relevant part."""


class LogFile(NamedTuple):
    """A stored file of an attempt, or the text in the event log for a command with little output."""

    step: str
    attempt: int
    path: Path | None
    text: str = ""
    name: str = "output"
    is_activity: bool = False
    """Whether it lists what an agent did, and is printed as lines for a person who follows it."""

    label: str = ""
    """The step in the words of the author of the file, if they are others."""
    tried: str = ""
    """What the attempt is called: \"attempt 1, answer repair 1\"."""

    @property
    def title(self) -> str:
        step = self.label or self.step
        where = f"{step} {self.tried or f'attempt {self.attempt}'}" if self.attempt else step
        if self.is_activity:
            return f"{where}: activity"
        return f"{where}: {self.name if self.path is None else self.path.name}"


def log_files(
    paths: ProjectPaths, view: RunView, step: str | None = None, *, failed: bool = False, live: bool = False
) -> tuple[LogFile, ...]:
    """In the order in which the steps were entered. A name means all visits and places of that step, and what is in them.

    With `live` only what attempts do and print; an attempt without a list of its activities has its raw output instead.
    With `failed`, the reasons come first, then the part of each output that shows it, then everything that was stored.
    """
    folder = paths.run_dir(view.run)
    steps = tuple(each for each in _chosen(view, step) if not failed or _has_failed(each))
    logs = tuple(file for each in steps for file in _of_step(folder, each))
    labels = labels_in(view)
    if live:
        logs = tuple(_followed(logs))
    elif failed:
        logs = (*_explanations(view, steps, labels), *logs)
    repaired = {each.path: each.repaired for each in steps if each.repaired}
    return tuple(
        log._replace(
            label=label_address(Address(log.step), labels),
            tried=attempt_text(log.attempt, repaired.get(Address(log.step), ())),
        )
        for log in logs
    )


def _explanations(view: RunView, steps: tuple[StepView, ...], labels: Mapping[str, str]) -> Iterator[LogFile]:
    """Why the run and its steps failed: all reasons together, then the part of each output that shows it."""
    origins = tuple(each for each in steps if _is_origin(each))
    shown = (labelled_step(each, labels) for each in origins)
    lines = dict.fromkeys(f"{each.path}: {each.why}" for each in shown)
    reasons = "".join(f"{line}\n" for line in dict.fromkeys((*filter(None, (labelled(view).why,)), *lines)))
    if reasons:
        yield LogFile("", 0, None, reasons, REASONS)
    for each in origins:
        part = relevant_part(each)
        if part:
            yield LogFile(each.path, each.answered, None, f"{part}\n", "the relevant part")


def _followed(logs: tuple[LogFile, ...]) -> Iterator[LogFile]:
    names = {(log.step, log.attempt, "" if log.path is None else log.path.name) for log in logs}
    for log in logs:
        name = "" if log.path is None else log.path.name
        is_raw = name == "stdout.log" and (log.step, log.attempt, ACTIVITY) not in names
        if not name or name in LIVE or is_raw:
            yield log._replace(is_activity=name == ACTIVITY)


def _has_failed(step: StepView) -> bool:
    """Also a step that is not over, if its last attempt was rejected."""
    if step.outcome is None:
        return step.cause is not None
    return step.outcome not in CONTINUING_OUTCOMES


def _is_origin(step: StepView) -> bool:
    """Whether the step itself failed, and not a step or gate in it."""
    return step.cause is not None and step.cause.path == step.path


def relevant_part(step: StepView) -> str:
    """The lines that show why a step failed: all findings of a review, else the message around the reported line."""
    if step.verdict is not None:
        return "\n".join(review_text("", None, (finding,)).lstrip(": ") for finding in step.verdict.findings)
    lines = step.words.splitlines()
    if len(lines) < 2:
        return ""
    number = _telling_number(lines, step.result)
    if number is None:
        return "\n".join(lines[-PART_LINES:])
    start = max(0, number - PART_LINES // 3)
    return "\n".join(lines[start : start + PART_LINES])


def _telling_number(lines: Sequence[str], result: Mapping[str, Any]) -> int | None:
    """The number of the line with the assertion, the printed error or the name of the test."""
    tests = result.get("failed_tests")
    tests = tests if isinstance(tests, Mapping) else {}
    first = as_text(tests.get("first")).rpartition("::")[2].rpartition(" > ")[2]
    for clue in (as_text(tests.get("assertion")).partition("; ")[0], first, as_text(result.get("cause"))):
        words = " ".join(clue.split())
        for number, line in enumerate(lines):
            if words and words in " ".join(line.split()):
                return number
    return None


def _chosen(view: RunView, name: str | None) -> tuple[StepView, ...]:
    if name is None:
        return view.steps
    named = steps_named(view, name)
    # With its gates, members, iterations and inner steps, whose addresses begin with that of the step.
    inner = tuple(f"{step.path}{sign}" for step in named for sign in "#/[")
    return tuple(step for step in view.steps if step in named or step.path.startswith(inner))


def _of_step(folder: Path, step: StepView) -> Iterator[LogFile]:
    place = folder / "agent_logs" / step.path.replace("/", "+")
    attempts = range(1, step.attempts + 1)
    files = [LogFile(step.path, n, path) for n in attempts for path in _plain_files(place / str(n))]
    yield from files
    if files and step.cause is not None and step.outcome is None:
        yield LogFile(step.path, step.answered, None, f"{step.why}\n", "why it was rejected")
    # A step that ended in an error has no output of its own.
    if (files and step.outcome != "error") or not step.worked:
        return
    spilled, text, message = (step.result.get(key) for key in ("log", "text", "message"))
    if isinstance(spilled, str) and (folder / spilled).is_file():
        yield LogFile(step.path, step.answered, folder / spilled)
        return
    # The message of a failed command contains both of its output streams.
    shown = message or text
    if isinstance(shown, str) and shown:
        yield LogFile(step.path, step.answered, None, shown)


def _plain_files(folder: Path) -> list[Path]:
    """Without links: an agent must not make us read another file."""
    try:
        paths = sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def pieces(file: LogFile, *, start: int = 0) -> Iterator[bytes]:
    """The content from a position on, in bounded pieces."""
    if file.path is None:
        rest = encode_utf8(file.text)[start:]
        if rest:
            yield rest
        return
    try:
        source: BinaryIO = file.path.open("rb")
    except FileNotFoundError:
        return
    with source:
        source.seek(start)
        while piece := source.read(PIECE):
            yield piece


def follow_logs(
    find: Callable[[], tuple[LogFile, ...]], *, is_over: Callable[[], bool], wait: Callable[[], None]
) -> Iterator[tuple[LogFile, bytes]]:
    """The stored content and everything that is added until the run ends."""
    read: dict[tuple[str, int, Path | None, str], int] = {}
    while True:
        over = is_over()
        for file in find():
            key = (file.step, file.attempt, file.path, file.name)
            for piece in pieces(file, start=read.get(key, 0)):
                read[key] = read.get(key, 0) + len(piece)
                yield file, piece
        if over:
            return
        wait()
