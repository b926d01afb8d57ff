"""What a person is shown with a question: what its `show` names, and the artifacts of the step that it is about.

Texts come from agents and commands. They are bounded here, and printed indented, so that they cannot imitate our lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from podium.app.query.diff import read_changes, read_diff, span_of_question
from podium.core.hash_chain import RunId
from podium.errors import PodiumError
from podium.git.command import run
from podium.git.repository import find, trees
from podium.views.format import first_of, plural
from podium.views.plain import as_text
from podium.views.run.why import review_text
from podium.views.text.costs import outcome_text, run_cost

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.views.run.view import Pending, RunView, StepView

MAX_CHARS: Final = 200_000
SHOWN_PATHS: Final = 12


class Exhibit(NamedTuple):
    name: str
    """As `show` names it, or the file of an artifact."""
    text: str
    """At most MAX_CHARS characters."""
    truncated: bool = False


def exhibits(project: Project, view: RunView, pending: Pending) -> tuple[Exhibit, ...]:
    """In the order of `show`; what cannot be read says so."""
    shown = [
        _bounded(name, text)
        for word in pending.shows
        for name, text in _of_word(project, view, pending, word)
    ]
    named = {exhibit.name for exhibit in shown}
    stored = (_bounded(*each) for each in artifacts(project, view, pending.about))
    return (*shown, *(exhibit for exhibit in stored if exhibit.name not in named))


def _bounded(name: str, text: str) -> Exhibit:
    return Exhibit(name, text[:MAX_CHARS], len(text) > MAX_CHARS)


def _of_word(project: Project, view: RunView, pending: Pending, word: str) -> Iterator[tuple[str, str]]:
    match word:
        case "diff" | "risk":
            yield word, _change(project, view, pending, whole=word == "diff")
        case "verdicts" | "findings":
            yield word, "\n".join(_verdicts(view, pending, only_findings=word == "findings")) or "none"
        case "tests":
            yield word, "\n".join(_gates(view)) or "no gate has run"
        case "cost":
            yield word, run_cost(view)
        case "conversation" if pending.until:
            yield from _earlier_turns(project, view, pending)
        case _:
            steps = [step for step in view.steps if word in (step.step, step.path)]
            if steps:
                yield (
                    word,
                    as_text(steps[-1].result.get("output") or steps[-1].result.get("text") or "no output"),
                )
                yield from artifacts(project, view, steps[-1].path)
            else:
                yield word, _file(project, pending, word)


def _change(project: Project, view: RunView, pending: Pending, *, whole: bool) -> str:
    try:
        span = span_of_question(view, pending)
        if whole:
            return read_diff(project.paths, span)[0] or "no file was changed"
        rows = read_changes(project.paths, span)
    except PodiumError as error:
        return error.message
    added, removed = sum(row.added for row in rows), sum(row.removed for row in rows)
    paths = first_of([row.path for row in rows], SHOWN_PATHS)
    return f"{plural(len(rows), 'file')}, +{added} -{removed} lines{': ' if paths else ''}{paths}"


def _earlier_turns(project: Project, view: RunView, pending: Pending) -> Iterator[tuple[str, str]]:
    """What was said before this turn; nothing before the first answer."""
    attempt, _, person = pending.path.rpartition("/")
    sender = attempt.rpartition("#")[0]
    turns = [
        f"{each.sender}: {each.question.strip()}\n\n{each.to}: {each.answer.strip()}"
        for each in project.queries.thread(RunId(view.run)).messages
        if each.to == person.partition("~")[0] and each.sender == sender and each.answered
    ]
    if turns:
        yield "conversation", "\n\n".join(turns)


def _verdicts(view: RunView, pending: Pending, *, only_findings: bool) -> Iterator[str]:
    for step in view.steps:
        verdict = step.verdict
        if verdict is None or pending.tree is None or verdict.tree != pending.tree:
            continue
        if not only_findings:
            yield f"{step.path}: {review_text(verdict.decision, verdict.score, ())} {verdict.summary}".rstrip()
        for finding in verdict.findings:
            yield f"  {review_text('', None, (finding,)).lstrip(': ')}"


def _gates(view: RunView) -> Iterator[str]:
    """The newest result of each gate."""
    newest: dict[str, StepView] = {}
    for step in view.steps:
        if step.role == "step" and "#" in step.path and step.worked:
            newest[step.step] = step
    for step in newest.values():
        yield f"{step.path}: {outcome_text(step)}{f': {step.why}' if step.why else ''}"


def artifacts(project: Project, view: RunView, about: str) -> Iterator[tuple[str, str]]:
    """The stored artifacts of the step with this address."""
    for step in view.steps:
        if step.path == about:
            for each in step.result.get("artifacts", ()):
                blob = project.paths.state_dir / "blobs" / as_text(each.get("hash"))
                content = blob.read_bytes() if blob.is_file() else b"it is gone"
                yield as_text(each.get("file")), content.decode("utf-8", "replace")


def _file(project: Project, pending: Pending, path: str) -> str:
    """A file of the tree that the question is about."""
    repository = find(project.root, project.paths.trees)
    if repository is None or pending.tree is None:
        return "the question is about no tree"
    answer = run(trees(repository), "cat-file", "blob", f"{pending.tree}:{path}", codes=(0, 128))
    return answer.out.decode("utf-8", "replace") if answer.code == 0 else "no such step or file"
