"""Turns the end of a command's process into the result of an attempt."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from podium.attempt.command import evidence
from podium.attempt.host import Host
from podium.core.types import AnswerKind, Reason
from podium.fast_dataclass import dataclass
from podium.process.launch import Finished
from podium.process.output import CapturedOutput
from podium.tasks.report import AttemptResult

MESSAGE_BYTES: Final = 6_000
"""Bytes from the end of the output, where tools report errors; shown to the next attempt."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended, as the result of an attempt."""

    kind: AnswerKind
    reason: Reason
    result: AttemptResult
    finished: Finished
    argv: tuple[str, ...]

    @property
    def first_line(self) -> str:
        """How the command ended, in one line."""
        return self.result.get("message", "").partition("\n")[0]

    @property
    def shown(self) -> evidence.KeptOutput:
        return evidence.KeptOutput(self.argv, self.finished.stdout, self.finished.stderr)


def command_result(
    host: Host, argv: tuple[str, ...], finished: Finished, timeout_s: float, *, hint: str = ""
) -> CommandResult:
    """`hint` names a limit that the command may have met."""
    result: AttemptResult = {
        "text": _record(host, finished.stdout),
        "exit_code": finished.exit_code,
        "files": [],
        **_log(host, finished),
    }
    program = Path(argv[0]).name
    if finished.not_started is not None:
        message = f'"{argv[0]}" could not be started: {finished.not_started}'
        return CommandResult("error", "not_started", {**result, "message": message}, finished, argv)
    if finished.exceeded:
        message = _message(host, f"{program} {finished.exceeded} and was ended", finished)
        return CommandResult("failed", "resources", {**result, "message": message}, finished, argv)
    if finished.timed_out:
        # Report the limit, because the duration includes the grace period.
        limit = f"{timeout_s:.3f}".rstrip("0").rstrip(".")
        message = f"{program} did not end within {limit} s and was stopped"
        return CommandResult(
            "timeout", "", {**result, "message": _message(host, message, finished)}, finished, argv
        )
    if finished.exit_code:
        how = (
            f"was ended by signal {finished.signal}"
            if finished.signal
            else f"ended with {finished.exit_code}"
        )
        how = f"{program} {how}; {hint}" if hint else f"{program} {how}"
        return CommandResult(
            "failed", "", {**result, "message": _message(host, how, finished)}, finished, argv
        )
    return CommandResult("ok", "", result, finished, argv)


def _record(host: Host, captured: CapturedOutput) -> str:
    """The truncation mark names the file relative to the run folder."""
    return captured.record().replace(f"{host.run_dir}/", "")


def _log(host: Host, finished: Finished) -> AttemptResult:
    paths = [stream.path for stream in (finished.stdout, finished.stderr) if stream.path is not None]
    return {"log": str(paths[0].relative_to(host.run_dir))} if paths else {}


def _message(host: Host, message: str, finished: Finished) -> str:
    ends = (_end(stream) for stream in (finished.stdout, finished.stderr))
    return "\n".join((message, *filter(None, ends))).replace(f"{host.run_dir}/", "")


def _end(captured: CapturedOutput) -> str:
    if captured.size <= MESSAGE_BYTES:
        return captured.text().strip()
    cut = captured.tail(MESSAGE_BYTES)
    return f"[...]\n{cut[cut.find(chr(10)) + 1 :].strip()}"
