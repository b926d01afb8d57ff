"""Gathers what the report of a run shows, from its log, its trees and its stored files."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from podium import __version__
from podium.app.query.diff import Span, change_of, read_diff
from podium.app.query.logs import LogFile, log_files
from podium.app.query.runs import definition_of, is_left, show
from podium.app.run.definition import read_stored_texts
from podium.core.types import Address
from podium.errors import ConfigurationError, PodiumError
from podium.runtime.records import events_of
from podium.views.plain import encode_utf8
from podium.views.report.report import PARTS, Excerpt, Report, cut_middle
from podium.views.run.attempts import AttemptView, attempts_of
from podium.views.run.verdicts import verdicts_of

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.ports.store import RunHead
    from podium.views.run.view import RunView

MOST_LINES: Final = 200
"""Of a longer text the first and last so many lines are shown."""
MOST_BYTES: Final = 1 << 20
"""Of a larger file only so much of its start and its end is read."""
MOST_TEXTS: Final = 200
MOST_SPANS: Final = 20
PROMPTS: Final = ("prompt.md", "answer.md")
SOURCES: Final = (".yaml", ".yml", ".md", ".j2")


def gather_report(project: Project, head: RunHead, *, without: Collection[str] = ()) -> Report:
    """`without`: the parts to leave out, of `PARTS`."""
    unknown = [part for part in without if part not in PARTS]
    if unknown:
        raise ConfigurationError(
            f'a report has no part "{unknown[0]}"', hint=f"its parts: {', '.join(PARTS)}"
        )
    view = show(project, head)
    events = events_of(project.runtime.events(head.run))
    attempts = attempts_of(events, left=is_left(project.runtime, head))
    has = {part: part not in without for part in PARTS}
    return Report(
        view=view,
        events=len(events),
        log_head=head.last_hash,
        attempts=attempts,
        decisions=verdicts_of(events),
        version=__version__,
        workflow=definition_of(project, head),
        diff=_whole_diff(project, view) if has["diff"] else None,
        steps_between=tuple(_between(project, attempts)) if has["diff"] else (),
        outputs=tuple(_texts(project, view, prompts=False)) if has["output"] else (),
        prompts=tuple(_texts(project, view, prompts=True)) if has["prompts"] else (),
        definition=tuple(_definition(project, head)) if has["definition"] else (),
        left_out=tuple(part for part in PARTS if part in without),
    )


def _whole_diff(project: Project, view: RunView) -> Excerpt | None:
    """None outside of git, and if the trees are gone."""
    try:
        text, is_cut = read_diff(project.paths, change_of(view))
    except PodiumError:
        return None
    return Excerpt("the whole change", text, int(is_cut))


def _between(project: Project, attempts: tuple[AttemptView, ...]) -> Iterator[Excerpt]:
    """What each further attempt of a step changed in what the one before it had left."""
    by_step: dict[Address, list[AttemptView]] = {}
    for each in attempts:
        if each.tree is not None:
            by_step.setdefault(each.path, []).append(each)
    pairs = [pair for each in by_step.values() for pair in pairwise(each) if pair[0].tree != pair[1].tree]
    for before, after in pairs[:MOST_SPANS]:
        assert before.tree is not None
        assert after.tree is not None
        try:
            text, is_cut = read_diff(project.paths, Span(before.tree, after.tree))
        except PodiumError:
            continue
        yield Excerpt(f"{after.path}: attempt {before.number} to {after.number}", text, int(is_cut))


def _texts(project: Project, view: RunView, *, prompts: bool) -> Iterator[Excerpt]:
    """The stored prompts and answers of agents, or what commands printed."""
    files = [file for file in log_files(project.paths, view) if _is_wanted(file, prompts=prompts)]
    for file in files[:MOST_TEXTS]:
        text, cut = cut_middle(_read(file), MOST_LINES)
        if text.strip():
            yield Excerpt(file.title, text, cut)


def _is_wanted(file: LogFile, *, prompts: bool) -> bool:
    if file.path is None:
        return not prompts
    return (
        file.path.name in PROMPTS if prompts else file.path.name in ("output.log", "setup.log", "stderr.log")
    )


def _read(file: LogFile) -> str:
    if file.path is None:
        return file.text
    try:
        size = file.path.stat().st_size
        with file.path.open("rb") as source:
            if size <= 2 * MOST_BYTES:
                return source.read().decode("utf-8", "replace")
            start = source.read(MOST_BYTES)
            source.seek(-MOST_BYTES, 2)
            left_out = f"\n[... {size - 2 * MOST_BYTES} bytes left out ...]\n".encode()
            return (start + left_out + source.read()).decode("utf-8", "replace")
    except OSError:
        return ""


def _definition(project: Project, head: RunHead) -> Iterator[Excerpt]:
    """The files that the workflow was made from, as they were stored with the run."""
    for name, data in sorted(read_stored_texts(project.paths.state_dir, head).items()):
        if Path(name).suffix in SOURCES:
            text, cut = cut_middle(data.decode("utf-8", "replace"), 2 * MOST_LINES)
            yield Excerpt(name, text, cut)


def page_bytes(report: Report, *, as_markdown: bool) -> bytes:
    # Imported here: each form needs only its own.
    if as_markdown:
        from podium.views.report.markdown import markdown

        return encode_utf8(markdown(report))
    from podium.views.report.html import page

    return encode_utf8(page(report))
