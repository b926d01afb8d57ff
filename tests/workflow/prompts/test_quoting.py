"""Untrusted text inside a prompt: quoting cannot be ended from inside, and a long text keeps its start and end."""

from __future__ import annotations

from podium.workflow.prompts.quoting import first_line, quote_block, truncate_middle


def test_a_quotation_begins_and_ends_with_the_same_number() -> None:
    assert quote_block("a", "OUTPUT", "17") == "-----BEGIN OUTPUT 17-----\na\n-----END OUTPUT 17-----"
    assert quote_block("a\n", "OUTPUT", "17") == quote_block("a", "OUTPUT", "17")


def test_a_truncated_text_keeps_its_start_and_three_times_as_much_of_its_end() -> None:
    text = "start" + "x" * 100 + "the end"

    assert truncate_middle(text, 112) == text
    assert truncate_middle(text, 20) == "start\n[... 92 characters left out ...]\nxxxxxxxxthe end"


def test_the_first_line_is_the_first_with_text() -> None:
    assert first_line("\n  \n first \n second") == "first"
    assert first_line("") == ""
    assert first_line("x" * 200, 10) == "xxxxxxx..."
