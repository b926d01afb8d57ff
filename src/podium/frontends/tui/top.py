"""The screen of `podium top`: runs at the left, the selected one at the right.

Rule 1: every text is a `Text` object, so that nothing an agent wrote is read as markup.
Rule 2: reading happens in a thread; rows are updated in place, and the selected run stays selected by its id.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import DataTable, Footer, Input, Static

from podium.app.decide.opened import DIFF, note_opened, opened_by
from podium.app.decide.sender import speaker_by
from podium.app.query.changes import ChangeFeed
from podium.app.query.shelf import Shelf
from podium.core.messages import Approve
from podium.errors import PodiumError
from podium.frontends.tui.dialogs import AnswerDialog, KeysDialog
from podium.frontends.tui.snapshot import Pane, Row, ShownQuestion, pane_text, question_of, read_rows
from podium.ports.clock import wall_clock
from podium.views.format import duration
from podium.views.plain import one_line

if TYPE_CHECKING:
    from podium.app.project import Project

STDIN: Final = 0
EXIT_HANGUP: Final = 129
LOOK_S: Final = 0.1
AGES_S: Final = 1.0
COLUMNS: Final = ("", "run", "workflow", "waits for", "age", "cost")
NO: Final = ("reject", "fail", "halt", "abort")
WATCHING_MS: Final = 3_000


class Top(App[None]):
    CSS = """
    #runs { width: 45%; }
    #side { width: 55%; padding: 0 1; }
    #filter { display: none; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "answer('approve')", "Approve"),
        Binding("r", "answer('reject')", "Reject"),
        Binding("x", "answer('abort')", "Abort"),
        Binding("n", "next_waiting", "Next waiting"),
        Binding("d", "pane('diff')", "Diff"),
        Binding("l", "pane('logs')", "Logs"),
        Binding("s", "pane('steps')", "Steps"),
        Binding("e", "pane('events')", "Events", show=False),
        Binding("g", "pane('graph')", "Graph", show=False),
        Binding("escape", "pane('question')", "Back", show=False),
        Binding("slash", "filter", "Filter", show=False),
        Binding("j", "move(1)", "Down", show=False),
        Binding("k", "move(-1)", "Up", show=False),
        Binding("question_mark", "keys", "Keys"),
        Binding("q", "quit", "Quit"),
    ]

    def __init__(self, project: Project) -> None:
        super().__init__()
        self._shelf = Shelf(project)
        self._feed: ChangeFeed | None = None
        self._speaker = speaker_by("tui")
        self._rows: tuple[Row, ...] = ()
        self._run = ""
        self._pane: Pane = "question"
        self._question: ShownQuestion | None = None
        self._text = ""
        self._waiting: frozenset[tuple[str, int]] | None = None

    def compose(self) -> ComposeResult:
        yield Input(placeholder="status, workflow, run or step", id="filter")
        with Horizontal():
            yield DataTable(id="runs", cursor_type="row")
            with VerticalScroll(id="side"):
                yield Static(id="text", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        for name in COLUMNS:
            table.add_column(Text(name), key=name or "mark")
        table.focus()
        self._read()
        self.set_interval(LOOK_S, self._look)
        self.set_interval(AGES_S, self._show_ages)
        if not self.is_headless:
            self.set_interval(AGES_S, self._end_without_terminal)

    def _end_without_terminal(self) -> None:
        """Without a session of its own, a terminal that is closed sends no signal."""
        if not os.isatty(STDIN):
            self.exit(return_code=EXIT_HANGUP)

    def _look(self) -> None:
        if self._feed is None:
            self._feed = ChangeFeed(self._shelf)
        elif self._feed.look():
            self._read()

    @work(thread=True, exclusive=True, group="read")
    def _read(self) -> None:
        rows = read_rows(self._shelf, self._text)
        self.call_from_thread(self._show_rows, rows)

    def _show_rows(self, rows: tuple[Row, ...]) -> None:
        table = self.query_one(DataTable)
        self._rows = rows
        before = [str(key.value) for key in table.rows]
        after = [row.run for row in rows]
        if before != after:
            table.clear()
            for row in rows:
                table.add_row(*_cells(row), key=row.run)
            if self._run in after:
                table.move_cursor(row=after.index(self._run))
        else:
            for row in rows:
                for column, cell in zip(COLUMNS, _cells(row), strict=True):
                    table.update_cell(row.run, column or "mark", cell)
        if self._run not in after:
            self._run = after[0] if after else ""
        self._announce(rows)
        self._show_pane()

    def _announce(self, rows: tuple[Row, ...]) -> None:
        """Ring when something begins to wait, and count what waits in the title of the terminal."""
        waiting = frozenset((row.run, int(row.since)) for row in rows if row.is_waiting)
        if self._waiting is not None and waiting - self._waiting:
            self.bell()
        if waiting != self._waiting and self._driver is not None:
            self._driver.write(f"\x1b]2;({len(waiting)}) podium\x07" if waiting else "\x1b]2;podium\x07")
        self._waiting = waiting

    def _show_ages(self) -> None:
        table = self.query_one(DataTable)
        for row in self._rows:
            if row.is_waiting and row.run in table.rows:
                table.update_cell(row.run, "age", _cells(row)[4])

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        run = str(event.row_key.value)
        if run != self._run:
            self._run, self._pane = run, "question"
            self._show_pane()

    @work(thread=True, exclusive=True, group="pane")
    def _show_pane(self) -> None:
        run, pane = self._run, self._pane
        if not run:
            self.call_from_thread(self._put, "", None, "no runs here yet: podium run FILE starts one")
            return
        try:
            question = question_of(self._shelf, run)
        except PodiumError:
            question = None
        text = pane_text(self._shelf, run, pane)
        self.call_from_thread(self._put, run, question, text)
        if question is not None:
            if pane == "diff":
                note_opened(self._speaker.name, question.evidence.tree)
            self._watch()

    def _watch(self) -> None:
        """A message about what is on this screen need not be sent at once."""
        # Imported here: it reads workflows, which the first screen does not need.
        from podium.app.notify.project_messages import open_messages

        with self._shelf.lock:
            messages = open_messages(self._shelf.project)
            if messages is not None:
                messages.look(f"tui-{os.getpid()}", wall_clock() + WATCHING_MS)
                messages.close()

    def _put(self, run: str, question: ShownQuestion | None, text: str) -> None:
        if run == self._run:
            self._question = question
            self.query_one("#text", Static).update(Text(text))
            self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The footer shows what works here."""
        if action == "answer":
            question = self._question
            return question is not None and self._word(question, str(parameters[0])) is not None
        if action == "next_waiting":
            return any(row.is_waiting for row in self._rows)
        return True

    def action_pane(self, pane: Pane) -> None:
        self._pane = pane
        self.query_one("#side", VerticalScroll).scroll_home(animate=False)
        self._show_pane()

    def action_move(self, by: int) -> None:
        table = self.query_one(DataTable)
        table.move_cursor(row=table.cursor_row + by)

    def action_next_waiting(self) -> None:
        waiting = [number for number, row in enumerate(self._rows) if row.is_waiting]
        table = self.query_one(DataTable)
        later = [number for number in waiting if number > table.cursor_row] or waiting
        if later:
            table.move_cursor(row=later[0])

    def action_filter(self) -> None:
        field = self.query_one("#filter", Input)
        # At once: the next key is already text, and a hidden field takes no focus.
        field.display = True
        self.set_focus(field)

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input.id == "filter":
            self._text = event.value
            self._read()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.input.id == "filter":
            event.input.display = bool(event.value)
            self.query_one(DataTable).focus()

    def action_keys(self) -> None:
        keys = tuple(
            (each.key_display or each.key, each.action, each.description)
            for each in self.BINDINGS
            if isinstance(each, Binding)
        )
        self.push_screen(KeysDialog(keys), self._pick)

    async def _pick(self, action: str | None) -> None:
        if action is not None:
            await self.run_action(action)

    def action_answer(self, kind: str) -> None:
        question = self._question
        word = None if question is None else self._word(question, kind)
        if question is None or word is None:
            return
        has_looked = DIFF in opened_by(self._speaker.name, question.evidence.tree)
        if word == "approve" and has_looked:
            self._send(question, word, "")
            return
        consequence = question.evidence.consequences.get(word, "")
        unseen = (
            "" if has_looked or question.evidence.tree is None else " You have not opened the change (d)."
        )
        self.push_screen(
            AnswerDialog(f"{word} {question.pending.path}", f"{consequence or 'the run continues'}.{unseen}"),
            partial(self._answered, question, word),
        )

    def _answered(self, question: ShownQuestion, word: str, words: str | None) -> None:
        if words is not None:
            self._send(question, word, words)

    def _word(self, question: ShownQuestion, kind: str) -> str | None:
        """The action of the question that a key means; None if the question has none like it."""
        actions = question.pending.actions
        if kind == "reject":
            return next((word for word in NO[:-1] if word in actions), None)
        if kind == "approve":
            return "approve" if "approve" in actions else None
        return kind if kind in actions else None

    @work(thread=True, group="send")
    def _send(self, question: ShownQuestion, word: str, words: str) -> None:
        by, tree = self._speaker.name, question.pending.tree
        opened = opened_by(by, question.evidence.tree)
        answer = Approve(question.pending.path, word, by, words, None, tree, opened=opened)
        try:
            from podium.app.decide.judge import leave

            # What is judged is the run as it is now; the tree is the one that was on the screen.
            run = self._shelf.run(question.run.head.run)
            leave(self._shelf, run, answer, self._speaker)
        except PodiumError as error:
            self.call_from_thread(self.notify, one_line(error.message, 300), severity="error", markup=False)
            return
        self.call_from_thread(self.notify, f"{word} sent; the run is being taken up", markup=False)


def _cells(row: Row) -> tuple[Text, ...]:
    age = duration(max(0, wall_clock() - row.since)) if row.is_waiting else ""
    style = "bold" if row.is_waiting else ""
    texts = (
        row.mark,
        row.run,
        one_line(row.workflow, 30),
        one_line(row.waits or row.status, 60),
        age,
        row.cost,
    )
    return tuple(Text(text, style=style) for text in texts)
