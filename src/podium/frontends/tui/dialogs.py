"""The dialogs of `podium top`: an answer with its consequence, and the list of keys, which filters while one types."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option


class AnswerDialog(ModalScreen[str | None]):
    """Returns the words, or None if nothing is to be sent."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "cancel", "Cancel")]
    CSS = """
    AnswerDialog { align: center middle; }
    AnswerDialog Vertical { width: 70; max-width: 95%; height: auto; padding: 1 2; background: $panel; }
    """

    def __init__(self, title: str, consequence: str) -> None:
        super().__init__()
        self._title, self._consequence = title, consequence

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(Text(self._title, style="bold"))
            yield Static(Text(self._consequence))
            yield Input(placeholder="words for the record; Enter sends, Escape does not", id="words")

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())

    def action_cancel(self) -> None:
        self.dismiss(None)


class KeysDialog(ModalScreen[str | None]):
    """Returns the action that was picked."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "cancel", "Close")]
    CSS = """
    KeysDialog { align: center middle; }
    KeysDialog Vertical { width: 60; max-width: 95%; height: auto; max-height: 90%; background: $panel; padding: 1 2; }
    """

    def __init__(self, keys: tuple[tuple[str, str, str], ...]) -> None:
        """Each key with its action and what it does."""
        super().__init__()
        self._keys = keys

    def compose(self) -> ComposeResult:
        with Vertical():
            # Not the id of the field for runs: its events reach the app as well.
            yield Input(placeholder="type to filter", id="key_filter")
            yield OptionList(id="keys")

    def on_mount(self) -> None:
        self._fill("")
        self.query_one(Input).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._fill(event.value)

    def on_input_submitted(self, _: Input.Submitted) -> None:
        options = self.query_one(OptionList)
        if options.option_count:
            self.dismiss(options.get_option_at_index(options.highlighted or 0).id)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)

    def _fill(self, text: str) -> None:
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options(
            Option(Text(f"{key:<6} {words}"), id=action)
            for key, action, words in self._keys
            if text.lower() in f"{key} {words}".lower()
        )

    def action_cancel(self) -> None:
        self.dismiss(None)
