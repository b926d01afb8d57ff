"""Lines of an output that repeat the prompt are removed, whatever form they have."""

from __future__ import annotations

import json

import pytest

from podium.attempt.activity import REMOVED, prompt_lines, without_prompt

PROMPT = 'Use "decimal" for Größe.\n\nshort\n  Keep the API as it is.\n'


@pytest.mark.req("R214")
@pytest.mark.parametrize(
    "printed",
    [
        'user: Use "decimal" for Größe.',
        json.dumps({"role": "user", "content": PROMPT}),
        json.dumps({"role": "user", "content": PROMPT}, ensure_ascii=False),
        "> Keep the API as it is.",
    ],
)
def test_a_line_that_repeats_a_line_of_the_prompt_is_removed(printed: str) -> None:
    output = (b"before\n", printed.encode() + b"\n", b"after\n")

    lines = list(without_prompt(output, prompt_lines("", PROMPT)))

    assert lines == [b"before\n", REMOVED, b"after\n"]


def test_words_that_occur_in_any_text_stay() -> None:
    assert list(without_prompt([b"a short answer\n"], prompt_lines(PROMPT))) == [b"a short answer\n"]
