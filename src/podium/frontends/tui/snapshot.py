"""What the screen shows, read in a thread: rows of runs, and the texts about the selected one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from podium.app.query.diff import read_diff
from podium.app.query.evidence import changes_of, evidence, span_of
from podium.app.query.log_search import tail
from podium.app.query.runs import ENDED
from podium.core.types import Millis
from podium.errors import PodiumError
from podium.ports.clock import wall_clock
from podium.views.evidence.evidence import Evidence, Proof, facts
from podium.views.evidence.members import member_lines
from podium.views.format import duration
from podium.views.plain import harmless, one_line, short_id
from podium.views.run.view import Pending, RunView
from podium.views.text.costs import run_cost
from podium.views.text.graph import as_text
from podium.views.text.next_steps import background, waits_for
from podium.views.text.terminal import run_lines

if TYPE_CHECKING:
    from podium.app.query.shelf import FoldedRun, Shelf
    from podium.core.events import Event
    from podium.ports.store import RunHead

Pane: TypeAlias = Literal["question", "steps", "diff", "logs", "events", "graph"]

MOST_RUNS: Final = 200
MOST_LINES: Final = 2_000
WAITING_MARK: Final = "??"
MARKS: Final = {"passed": "ok", "running": ">>", "paused": "..", "interrupted": ".."}


class Row(NamedTuple):
    run: str
    status: str
    workflow: str
    waits: str
    """What it waits for; empty if it waits for nobody."""
    since: Millis
    cost: str

    @property
    def mark(self) -> str:
        return WAITING_MARK if self.waits else MARKS.get(self.status, "!!")

    @property
    def is_waiting(self) -> bool:
        return bool(self.waits)


class ShownQuestion(NamedTuple):
    """A question as it is on the screen; an answer is about exactly this."""

    run: FoldedRun
    pending: Pending
    evidence: Evidence


def read_rows(shelf: Shelf, text: str = "") -> tuple[Row, ...]:
    """Waiting runs first, those that wait longest at the top; then those that work, then the newest that have ended."""
    rows = [_row(shelf, head) for head in shelf.heads()[:MOST_RUNS]]
    matching = [row for row in rows if text.lower() in " ".join(map(str, row)).lower()]
    waiting = sorted((row for row in matching if row.is_waiting), key=lambda row: row.since)
    others = [row for row in matching if not row.is_waiting]
    working = [row for row in others if row.status not in ENDED]
    return (*waiting, *working, *(row for row in others if row.status in ENDED))


def _row(shelf: Shelf, head: RunHead) -> Row:
    if head.status in ENDED:
        view = shelf.summary(head)
        return Row(
            head.run, head.status, head.workflow, "", Millis(view.ended or head.created), run_cost(view)
        )
    view = shelf.of(head).view
    questions = answerable(view)
    waits = f"{questions[0].path}: {waits_for(questions[0])}" if questions else ""
    since = questions[0].since if questions else Millis(head.created)
    return Row(head.run, view.status, head.workflow, waits, since, run_cost(view))


def answerable(view: RunView) -> list[Pending]:
    return sorted((each for each in view.pending if each.actions), key=lambda each: each.since)


def question_of(shelf: Shelf, run: str) -> ShownQuestion | None:
    """The question of a run that waits longest, with its evidence."""
    folded = shelf.run(run)
    questions = answerable(folded.view)
    if not questions:
        return None
    return ShownQuestion(folded, questions[0], evidence(shelf, folded, questions[0]))


def pane_text(shelf: Shelf, run: str, pane: Pane) -> str:
    try:
        lines = list(_lines(shelf, run, pane))
    except PodiumError as error:
        lines = [error.message]
    more = len(lines) - MOST_LINES
    shown = lines[:MOST_LINES] + ([f"... {more} more lines; the command line shows all"] if more > 0 else [])
    return "\n".join(harmless(line.expandtabs(4)) for line in shown)


def _lines(shelf: Shelf, run: str, pane: Pane) -> Iterator[str]:
    folded = shelf.run(run)
    match pane:
        case "question":
            question = question_of(shelf, run)
            yield from (
                run_lines(folded.view, wall_clock()) if question is None else _question(shelf, question)
            )
        case "steps":
            yield from run_lines(folded.view, wall_clock())
        case "diff":
            yield from _diff(shelf, run)
        case "logs":
            yield from _logs(shelf, folded)
        case "events":
            yield from (
                f"{seq} {type(event).__name__} {getattr(event, 'path', '')}"
                for seq, event in _numbered(folded)
            )
        case "graph":
            workflow = shelf.workflow(folded.head)
            yield from as_text(workflow).splitlines() if workflow else ("its workflow has changed since",)


def _numbered(folded: FoldedRun) -> Sequence[tuple[int, Event]]:
    return list(enumerate(folded.events, 1))[-MOST_LINES:]


def _question(shelf: Shelf, question: ShownQuestion) -> Iterator[str]:
    pending, proof, view = question.pending, question.evidence, question.run.view
    yield f"{pending.path} of {view.workflow} {view.run}"
    yield f"{waits_for(pending)}, waiting {duration(max(0, wall_clock() - pending.since))}"
    if pending.presence:
        yield "approving needs a passkey, in the browser"
    yield ""
    yield from pending.question.splitlines()
    yield from background(view, pending)
    yield ""
    with shelf.lock:
        changes = changes_of(shelf.project, span_of(proof))
    added, removed = sum(each.added for each in changes), sum(each.removed for each in changes)
    yield from (f"- {fact}" for fact in facts(proof, len(changes), (added, removed)))
    for title, proofs in (
        (f"on tree {short_id(proof.tree)}", (*proof.gates, *proof.verdicts)),
        ("on other trees, not counted", (*proof.gates_before, *proof.verdicts_before)),
    ):
        if proofs:
            yield from ("", title)
            yield from (line for each in proofs for line in _proof(each))
    if proof.members:
        yield from ("", "beside each other", *member_lines(proof))
    for decision in proof.decisions:
        yield f'{decision.who}: {decision.action} "{one_line(decision.text)}" on tree {short_id(decision.tree)}'
    yield ""
    yield from (f"{action}: {proof.consequences.get(action, '')}" for action in pending.actions)
    yield ""
    yield from (f"{each.status:<9} +{each.added} -{each.removed}  {each.path}" for each in changes)


def _proof(proof: Proof) -> Iterator[str]:
    score = "" if proof.score is None else f" {proof.score:g}"
    yield f"{'ok' if proof.passed else '!!'} {proof.path} {proof.outcome}{score}  {one_line(proof.text)}".rstrip()
    for finding in proof.findings:
        yield f"     {finding.get('severity', '')} {one_line(str(finding.get('issue', '')))}"


def _diff(shelf: Shelf, run: str) -> Iterator[str]:
    question = question_of(shelf, run)
    if question is not None:
        span = span_of(question.evidence)
    else:
        from podium.app.query.diff import change_of

        span = change_of(shelf.run(run).view)
    if span is None:
        yield "the question is about no change"
        return
    with shelf.lock:
        text, cut = read_diff(shelf.project.paths, span)
    yield from text.split("\n") if text else ("no file was changed",)
    if cut:
        yield "the change is longer than this"


def _logs(shelf: Shelf, folded: FoldedRun) -> Iterator[str]:
    from podium.app.query.logs import log_files

    with shelf.lock:
        files = log_files(shelf.project.paths, folded.view)
    for file in files[-8:]:
        yield f"--- {file.title}"
        yield from tail(file, lines=100).lines
    if not files:
        yield "nothing was stored yet"
