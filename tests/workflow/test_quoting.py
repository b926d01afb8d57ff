"""Untrusted text inside a prompt: it ends where its quotation ends, and a long one keeps its start and its end."""

from __future__ import annotations

from podium.workflow.prompts.quoting import first_line, quote_block, truncate_middle


def test_a_quotation_ends_with_the_number_it_began_with() -> None:
    assert quote_block("a", "OUTPUT", "17") == "-----BEGIN OUTPUT 17-----\na\n-----END OUTPUT 17-----"
    assert quote_block("a\n", "OUTPUT", "17") == quote_block("a", "OUTPUT", "17")


def test_a_long_text_keeps_a_quarter_of_the_room_for_its_start_and_the_rest_for_its_end() -> None:
    text = "start" + "x" * 100 + "the end"

    assert truncate_middle(text, 112) == text
    assert truncate_middle(text, 20) == "start\n[... 92 characters left out ...]\nxxxxxxxxthe end"


def test_the_first_line_with_words_stands_for_a_text() -> None:
    assert first_line("\n  \n first \n second") == "first"
    assert first_line("") == ""
    assert first_line("x" * 200, 10) == "xxxxxxx..."
