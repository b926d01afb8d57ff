"""Terminal sequences are removed from a stream, and text is kept (R063)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.process.ansi import LONGEST, PlainStream, plain


@pytest.mark.req("R063")
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"plain", b"plain"),
        (b"\x1b[1;31mred\x1b[0m", b"red"),
        (b"a\x1b[2Kb\x1b[?25lc", b"abc"),
        (b"\x1b]0;title\x07text", b"text"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", b"link"),
        (b"\x1b(Btext\x1b=", b"text"),
        (b"\x1bP1$r0m\x1b\\after", b"after"),
        (b"lone \x1b", b"lone "),
        (b"\x1b\x1b[0mtwo", b"two"),
        (b"open \x1b[31", b"open 31"),
        ("grün\x1b[0m".encode(), "grün".encode()),
    ],
)
def test_sequences_are_removed_and_text_is_kept(data: bytes, expected: bytes) -> None:
    assert plain(data) == expected


@given(
    st.lists(
        st.sampled_from([b"\x1b", b"[", b"]", b"31", b"m", b"\x07", b"\\", b"P", b"a", b" "]), max_size=30
    )
)
def test_the_result_does_not_depend_on_the_chunks(pieces: list[bytes]) -> None:
    stream = PlainStream()

    out = b"".join(map(stream.feed, pieces)) + stream.finish()

    assert out == plain(b"".join(pieces))
    assert b"\x1b" not in out


def test_an_unfinished_sequence_does_not_hold_back_later_output() -> None:
    stream = PlainStream()
    endless = b"\x1b]" + b"x" * LONGEST

    assert stream.feed(endless) == endless[2:]
