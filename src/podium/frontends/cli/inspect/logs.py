"""`podium logs`: the prompts, answers and output of a run's attempts."""

from __future__ import annotations

import json
import sys
from codecs import IncrementalDecoder, getincrementaldecoder
from collections.abc import Iterable, Iterator
from io import IncrementalNewlineDecoder
from typing import TYPE_CHECKING

import click

from podium.app.query.logs import REASONS, LogFile, follow_logs, pieces
from podium.frontends.cli.open_run import in_project, wait
from podium.frontends.cli.output import say, tell_data
from podium.frontends.cli.shell_completion import complete_step
from podium.process.ansi import PlainStream
from podium.views.text.activity_lines import ActivityLines

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.hash_chain import RunId


@click.command("logs", short_help="Print the prompts, answers and output of a run.")
@in_project(run="optional", then="step", then_optional=True)
@click.argument("step", required=False, metavar="[STEP]", shell_complete=complete_step)
@click.option("-f", "--follow", "following", is_flag=True, help="Follow until the run ends.")
@click.option(
    "--failed", is_flag=True, help="Only steps and gates that did not pass, each with its reason first."
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a JSON object, with -f one per line; its schema: podium schema --of logs.",
)
def command(
    project: Project, run: RunId, step: str | None, following: bool, failed: bool, as_json: bool
) -> int:
    """Print the stored files of a run's attempts: prompts, answers and output.

    RUN is an id, a prefix of one, or @2 for the second newest run; default: the newest. STEP is a name (all its
    visits, with nested steps and gates) or an address such as implement~2 or implement#1/tests; `podium logs STEP`
    is about the newest run.
    """
    content = _content(project, run, step, following=following, failed=failed)
    if as_json:
        _tell_lines(content) if following else tell_data({"run": run, "files": _whole_files(content)})
        return 0
    printer = _Printer()
    for file, piece in content:
        printer.put(file, piece)
    printer.close()
    if printer.file is None:
        say(_nothing(project, run, step, failed=failed), err=True)
    return 0


def _nothing(project: Project, run: RunId, step: str | None, *, failed: bool) -> str:
    subject = f"run {run}" if step is None else f'step "{step}" of run {run}'
    if failed:
        return f"nothing failed in {subject}"
    state = "" if project.queries.has_ended(run) else " yet"
    return f"{subject} has no logs{state}; podium show lists its steps"


def _content(
    project: Project, run: RunId, step: str | None, *, following: bool, failed: bool
) -> Iterator[tuple[LogFile, bytes]]:
    queries = project.queries

    def files() -> tuple[LogFile, ...]:
        return queries.logs(run, step, failed=failed, live=following)

    if following:
        yield from follow_logs(files, is_over=lambda: queries.has_ended(run), wait=wait)
        return
    for file in files():
        for piece in pieces(file):
            yield file, piece


def _tell_lines(content: Iterator[tuple[LogFile, bytes]]) -> None:
    """Each piece of text as a line of its own; a sign that is cut between two pieces comes with the second."""
    decoders: dict[str, IncrementalDecoder] = {}
    for file, piece in content:
        decoder = decoders.setdefault(file.title, getincrementaldecoder("utf-8")("replace"))
        click.echo(json.dumps(_file_data(file, decoder.decode(piece)), ensure_ascii=False))


def _whole_files(content: Iterator[tuple[LogFile, bytes]]) -> list[dict[str, object]]:
    files: dict[str, tuple[LogFile, bytearray]] = {}
    for file, piece in content:
        files.setdefault(file.title, (file, bytearray()))[1].extend(piece)
    return [_file_data(file, data.decode("utf-8", "replace")) for file, data in files.values()]


def _file_data(file: LogFile, text: str) -> dict[str, object]:
    return {
        "step": file.step or None,
        "attempt": file.attempt or None,
        "name": file.name if file.path is None else file.path.name,
        "text": text,
    }


class _Printer:
    """Prints files with a title above each; at a terminal, without control sequences."""

    def __init__(self) -> None:
        self.file: LogFile | None = None
        self._terminal = sys.stdout.isatty()
        self._stream = PlainStream()
        self._text = _decoder()
        self._at_line_start = True
        self._activity: dict[str, ActivityLines] = {}

    def put(self, file: LogFile, piece: bytes) -> None:
        if self.file is None or file.title != self.file.title:
            self.finish()
            self.file, self._stream, self._text = file, PlainStream(), _decoder()
            # The reasons come first and say themselves which step they are about.
            if file.name != REASONS:
                click.echo(f"==> {file.title} <==")
        if file.is_activity:
            self._write_lines(self._activity.setdefault(file.title, ActivityLines()).feed(piece))
        else:
            self._write(self._stream.feed(piece) if self._terminal else piece)

    def finish(self) -> None:
        self._write(self._stream.finish())
        if not self._at_line_start:
            self._write(b"\n")

    def close(self) -> None:
        self.finish()
        for lines in self._activity.values():
            self._write_lines(lines.finish())

    def _write_lines(self, lines: Iterable[str]) -> None:
        self._write("".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))

    def _write(self, data: bytes) -> None:
        if data:
            self._at_line_start = data.endswith(b"\n")
            # As text, a terminal gets it with every other sign it would obey written out.
            click.echo(self._text.decode(data) if self._terminal else data, nl=False)


def _decoder() -> IncrementalNewlineDecoder:
    """A piece may end within a sign; what was written over itself, as progress is, becomes lines."""
    return IncrementalNewlineDecoder(getincrementaldecoder("utf-8")("replace"), translate=True)
