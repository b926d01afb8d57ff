"""Writes what an attempt prints and does to its folder while it runs, and reports it to the host.

Everything is masked first, and written without a buffer: a reader sees it at once, and it survives a crash.
"""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Self

from podium.attempt.host import Host
from podium.core.events import AttemptStarted
from podium.ports.agent import Progress
from podium.process.ansi import PlainStream
from podium.process.output import Filter, StreamName
from podium.redaction.mask import MaskStream

AGENT_FILES: Final[Mapping[StreamName, str]] = {"stdout": "stdout.log", "stderr": "stderr.log"}
COMMAND_FILES: Final[Mapping[StreamName, str]] = {"stdout": "output.log", "stderr": "output.log"}
"""Both streams of a command are one text, in the order in which a person would see them at a terminal."""
SETUP_FILES: Final[Mapping[StreamName, str]] = {"stdout": "setup.log", "stderr": "setup.log"}
PROGRESS: Final = "progress.jsonl"
MAX_PROGRESS_BYTES: Final = 16 * 1024 * 1024
SHORTEST: Final = 8
"""Characters of a line of a prompt that is looked for; shorter ones occur in any text."""
REMOVED: Final = b"[a line that repeats the prompt is not recorded]\n"
RESTARTED: Final = Progress("note", "the attempt was interrupted and starts again")
CONTROL: Final = bytes(code for code in (*range(32), 127) if chr(code) not in "\n\r\t")
"""Removed, because a terminal that prints the file would obey them."""


class ActivityLog:
    """The live files of one attempt; they are created with the first thing to write."""

    def __init__(
        self,
        host: Host,
        started: AttemptStarted,
        files: Mapping[StreamName, str],
        *,
        keeps_output: bool = True,
        keeps_progress: bool = True,
    ) -> None:
        self._host = host
        self._path = started.path
        self._attempt = started.attempt
        self._files = files if keeps_output else {}
        self._filters: dict[StreamName, tuple[Filter, ...]] = {}
        self._handles: dict[str, int] = {}
        self._room = MAX_PROGRESS_BYTES if keeps_progress else 0
        self._text = TextMask(host)
        self._hidden: tuple[bytes, ...] = ()

    def hide(self, lines: tuple[bytes, ...]) -> None:
        """Leave out what repeats one of these lines, from now on."""
        self._hidden = (*self._hidden, *lines)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def announce(self) -> None:
        """Create the list of activities: its reader then knows that the raw output is not for a person."""
        if self._room:
            self._handle(PROGRESS)

    def output(self, stream: StreamName, data: bytes) -> None:
        """Append what a process printed to the file of its stream."""
        name = self._files.get(stream)
        if name is None:
            return
        if stream not in self._filters:
            # The mask comes last: a control sequence inside a secret would hide it.
            last = (_WithoutLines(lambda: self._hidden),) if self._hidden else ()
            self._filters[stream] = (PlainStream(), _Printable(), self._host.mask.stream(), *last)
        for step in self._filters[stream]:
            data = step.feed(data)
        self._append(name, data)

    def report(self, reports: Iterable[Progress]) -> None:
        """Append what the attempt does to its list of activities, and report it to the host."""
        for report in reports:
            if report.kind == "text":
                self._emit_text(self._text.feed(report.text))
            else:
                self._emit_text(self._text.finish())
                self._emit(self._masked(report))

    def close(self) -> None:
        """Write what was held back; another file of the same name continues a closed one."""
        self._emit_text(self._text.finish())
        for stream, filters in self._filters.items():
            data = b""
            for step in filters:
                data = step.feed(data) + step.finish()
            self._append(self._files[stream], data)
        self._filters.clear()
        for handle in self._handles.values():
            os.close(handle)
        self._handles.clear()

    def _emit_text(self, text: str) -> None:
        if text:
            self._emit(self._masked(Progress("text", text)))

    def _emit(self, report: Progress) -> None:
        line = self._record(report)
        if len(line) <= self._room:
            self._room -= len(line)
            self._append(PROGRESS, line)
        self._host.on_progress(self._path, report)

    def _masked(self, report: Progress) -> Progress:
        text = self._host.mask.text(report.text) if report.text else ""
        if any(line in text.encode("utf-8", "backslashreplace") for line in self._hidden):
            text = REMOVED.decode().strip()
        return Progress(report.kind, text, report.until, report.tokens, report.usd)

    def _record(self, report: Progress) -> bytes:
        more = {"until": report.until, "tokens": report.tokens or None, "usd": report.usd}
        record: dict[str, str | int] = {"at": self._host.now(), "kind": report.kind, "text": report.text}
        record |= {key: value for key, value in more.items() if value is not None}
        return json.dumps(record).encode("ascii") + b"\n"

    def _append(self, name: str, data: bytes) -> None:
        if not data:
            return
        handle = self._handle(name)
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]

    def _handle(self, name: str) -> int:
        if name not in self._handles:
            folder = self._host.log_dir(self._path, self._attempt)
            handle = self._handles[name] = _open(folder / name)
            if self._files is AGENT_FILES and os.fstat(handle).st_size:
                # An agent has one process per attempt, so the text is that of an attempt that was killed.
                note = (
                    self._record(RESTARTED) if name == PROGRESS else f"[podium] {RESTARTED.text}\n".encode()
                )
                os.write(handle, note)
        return self._handles[name]


class CommandActivity:
    """The live output of a command: in a file, and reported to the host as text."""

    def __init__(
        self, host: Host, started: AttemptStarted, files: Mapping[StreamName, str] = COMMAND_FILES
    ) -> None:
        self._host = host
        self._path = started.path
        self._log = ActivityLog(host, started, files, keeps_progress=False)
        # A character may be split between two pieces.
        self._decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in files}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._log.close()

    def output(self, stream: StreamName, data: bytes) -> None:
        self._log.output(stream, data)
        text = self._decoders[stream].decode(data)
        if text:
            self._host.on_progress(self._path, Progress("output", text))

    def note(self, text: str) -> None:
        """Add a line of Podium itself, such as why the command runs again."""
        self._log.output("stdout", f"[podium] {text}\n".encode())
        self._host.on_progress(self._path, Progress("note", text))


def note_command(host: Host, started: AttemptStarted, text: str) -> None:
    with CommandActivity(host, started) as activity:
        activity.note(text)


class TextMask:
    """Masks text that arrives in pieces; a piece that may be the start of a secret is held back."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._stream: tuple[MaskStream, codecs.IncrementalDecoder] | None = None
        """None before the first piece: a command never has any."""

    def feed(self, text: str) -> str:
        if self._stream is None:
            self._stream = self._host.mask.stream(), codecs.getincrementaldecoder("utf-8")("replace")
        mask, decoder = self._stream
        return decoder.decode(mask.feed(text.encode("utf-8", "backslashreplace")))

    def finish(self) -> str:
        if self._stream is None:
            return ""
        mask, decoder = self._stream
        self._stream = None
        return decoder.decode(mask.finish(), final=True)


class _WithoutLines:
    """Removes lines that repeat a prompt, so it needs whole lines."""

    def __init__(self, hidden: Callable[[], tuple[bytes, ...]]) -> None:
        self._hidden = hidden
        self._rest = b""

    def feed(self, data: bytes) -> bytes:
        *lines, self._rest = (self._rest + data).split(b"\n")
        return b"".join(without_prompt((line + b"\n" for line in lines), self._hidden()))

    def finish(self) -> bytes:
        rest, self._rest = self._rest, b""
        return b"".join(without_prompt([rest] if rest else [], self._hidden()))


class _Printable:
    """Removes control characters except line ends and tabs."""

    def feed(self, data: bytes) -> bytes:
        return data.translate(None, CONTROL)

    def finish(self) -> bytes:
        return b""


def _open(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Appended to, because a repeated attempt must not delete the words of the one that was killed.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, 0o600)


def prompt_lines(*texts: str) -> tuple[bytes, ...]:
    """The lines of these texts as a program may print them: as they are, and inside JSON."""
    lines = (line.strip() for text in texts for line in text.splitlines())
    forms = (form for line in lines if len(line) >= SHORTEST for form in _forms(line))
    return tuple(dict.fromkeys(form.encode("utf-8", "backslashreplace") for form in forms))


def without_prompt(output: Iterable[bytes], lines: tuple[bytes, ...]) -> Iterator[bytes]:
    """The lines of an output, without those that contain a line of the prompt."""
    return (REMOVED if any(line in printed for line in lines) else printed for printed in output)


def _forms(line: str) -> Iterator[str]:
    yield line
    yield json.dumps(line)[1:-1]
    yield json.dumps(line, ensure_ascii=False)[1:-1]
