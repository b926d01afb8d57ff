"""No encoding of a secret passes the mask in any chunks, and nothing else is changed (R184, C39)."""

from __future__ import annotations

import base64
import json
import re
import urllib.parse

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from podium.errors import ConfigurationError
from podium.process.ansi import plain
from podium.redaction.encodings import encodings
from podium.redaction.mask import Mask
from tests.timing import work_of

SECRET = 'pa/ss wörd+"42"?'

SEVEN = {
    "raw": SECRET,
    "json": json.dumps(SECRET),
    "url_upper": urllib.parse.quote(SECRET, safe=""),
    "url_lower": re.sub("%..", lambda found: found[0].lower(), urllib.parse.quote(SECRET, safe="")),
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "base64_urlsafe": base64.urlsafe_b64encode(SECRET.encode()).decode(),
    "hex": SECRET.encode().hex(),
}

secrets = st.text(min_size=6, max_size=24).filter(
    lambda text: len(text.strip("*")) >= 6 and "***" not in text.strip("*")
)
# Letters that also occur in secrets, so that near misses and overlaps are common.
noisy = st.binary(max_size=40) | st.text("ab*%=\\/", max_size=40).map(str.encode)


def masked(mask: Mask, data: bytes, cuts: list[int]) -> bytes:
    stream = mask.stream()
    places = sorted(cut % (len(data) + 1) for cut in cuts)
    pieces = [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]
    return b"".join(map(stream.feed, pieces)) + stream.finish()


@pytest.mark.req("R184", "C39")
@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("encoding", SEVEN)
def test_each_encoding_is_masked_in_chunks_of_any_size(encoding: str, size: int) -> None:
    shape = SEVEN[encoding].encode()
    data = b"before " + shape + b" between " + shape + b" after"

    stream = Mask({"key": SECRET}).stream()
    out = b"".join(stream.feed(data[at : at + size]) for at in range(0, len(data), size)) + stream.finish()

    quote = b'"' if encoding == "json" else b""
    hidden = quote + b"***" + quote
    assert out == b"before " + hidden + b" between " + hidden + b" after"


@pytest.mark.req("R184")
@given(
    values=st.lists(secrets, min_size=1, max_size=3),
    gaps=st.lists(noisy, min_size=4, max_size=4),
    data=st.data(),
)
@example(values=["aaaaaa", "aaaaab"], gaps=[b"aaaaa", b"aaa", b"a", b"b"], data=None)
def test_no_encoding_passes_the_mask_whatever_the_chunks(
    values: list[str], gaps: list[bytes], data: st.DataObject | None
) -> None:
    shapes = sorted(shape for value in values for shape in encodings(value.strip("*")))
    picks = data.draw(st.lists(st.sampled_from(shapes), min_size=3, max_size=3)) if data else shapes[:3]
    cuts = data.draw(st.lists(st.integers(0, 500), max_size=12)) if data else [1, 2, 3]
    text = b"".join(piece for pair in zip(gaps, [*picks, b""], strict=True) for piece in pair)
    mask = Mask({str(number): value for number, value in enumerate(values)})

    out = masked(mask, text, cuts)

    assert not [shape for shape in shapes if shape in out]
    assert out == mask.apply(text)
    assert out == masked(mask, text, list(range(len(text))))


@given(text=st.binary(max_size=200), cuts=st.lists(st.integers(0, 200), max_size=9))
def test_harmless_bytes_pass_unchanged(text: bytes, cuts: list[int]) -> None:
    mask = Mask({"key": "Zq7#unlikely#value"})

    assert masked(mask, text, cuts) == text
    assert masked(Mask(), text, cuts) == text


@pytest.mark.parametrize("before", range(6))
@pytest.mark.parametrize("wrap", [None, 64, 76])
def test_base64_of_a_longer_text_hides_the_secret_at_every_alignment(before: int, wrap: int | None) -> None:
    """Only the two border characters, which also depend on the neighbours, may remain."""
    secret = "s3cr3t-" * 12
    text = base64.b64encode(b"x" * (0 if wrap else before) + secret.encode() + b"\n").decode()
    if wrap:
        text = "\n".join(text[at : at + wrap] for at in range(0, len(text), wrap))

    out = Mask({"key": secret}).text(text)

    assert "***" in out
    assert len(out) <= len("***") + 2 * 8


LINE_ENDS = {
    "unix": "\n",
    "windows": "\r\n",
    "in JSON": "\\n",
    "windows in JSON": "\\r\\n",
    "twice in JSON": "\\\\n",
}


@pytest.mark.req("R184")
@pytest.mark.parametrize("end", LINE_ENDS)
@pytest.mark.parametrize("indent", ["", "    ", "\t\t"])
@pytest.mark.parametrize("encoding", ["base64", "base64_urlsafe", "hex"])
def test_an_encoding_is_masked_wherever_its_lines_break(encoding: str, indent: str, end: str) -> None:
    """`base64` wraps at 76 columns, PEM at 64, `xxd -p` at 60; what is before the secret decides where it breaks."""
    secret = "sk-ant-0123456789-abcdefghij"

    def encode(raw: bytes) -> str:
        urlsafe = base64.urlsafe_b64encode(raw).decode()
        return (
            raw.hex()
            if encoding == "hex"
            else urlsafe
            if "url" in encoding
            else base64.b64encode(raw).decode()
        )

    mask = Mask({"key": secret})
    for before in range(80):
        whole = encode(b"." * before + secret.encode() + b"." * 50)
        for width in (60, 64, 70, 76, 5):
            lines = [whole[at : at + width] for at in range(0, len(whole), width)]
            text = (LINE_ENDS[end] + indent).join(lines).encode()
            out = mask.apply(text)
            left = re.sub(rb"\\\\|[^A-Za-z0-9_+/-]|\\", b"", re.sub(rb"\\+[rn]|\*\*\*", b"", out))
            assert b"***" in out and len(left) <= len(whole) - (len(secret) * 4 // 3 - 4), (
                before,
                width,
                out,
            )
            if before % 17 == 0:
                assert masked(mask, text, list(range(len(text)))) == out


def test_a_key_that_is_printed_in_two_lines_is_masked() -> None:
    assert Mask({"key": "sk-ant-0123456789"}).text("> sk-ant-01\n    23456789 <") == "> *** <"


def test_a_line_arrives_at_once_unless_its_end_may_begin_a_secret() -> None:
    stream = Mask({"key": "sk-ant-0123456789"}).stream()

    assert stream.feed(b'{"type": "text"}\n') == b'{"type": "text"}\n'
    assert stream.feed(b"all tests\n") == b"all tests\n"


def test_each_line_of_a_key_is_masked_alone() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\r\nhkiG9w0BAQEFAASC\n-----END KEY-----\n"

    assert Mask({"key": key}).text("  hkiG9w0BAQEFAASC!") == "  ***!"


def test_overlapping_secrets_are_masked_completely() -> None:
    mask = Mask({"one": "abcdefgh", "two": "ghijklmn"})

    assert mask.text("<abcdefghijklmn>") == "<***>"
    assert masked(mask, b"<abcdefghijklmn>", list(range(16))) == b"<***>"


def test_of_two_secrets_with_the_same_start_the_longer_is_masked() -> None:
    mask = Mask({"short": "abcdef", "long": "abcdefXYZ"})

    assert mask.text("abcdefXYZ abcdefX") == "*** ***X"


def test_only_a_possible_start_of_a_secret_is_held_back() -> None:
    stream = Mask({"key": "longsecretvalue"}).stream()

    assert stream.feed(b"Password: lon") == b"Password: "
    assert stream.feed(b"ely") == b"lonely"
    assert stream.finish() == b""


@pytest.mark.parametrize("value", ["12345", "**12345**", "abc***def"])
def test_a_secret_that_cannot_be_masked_is_refused_by_name(value: str) -> None:
    with pytest.raises(ConfigurationError, match='secret "PIN"') as caught:
        Mask({"PIN": value})

    assert value not in caught.value.message
    assert caught.value.exit_code == 2


def test_stars_at_the_ends_of_a_secret_are_ignored() -> None:
    mask = Mask({"one": "*abcdefgh", "two": "qrstuvw"})

    assert "*abcdefgh" not in mask.text("qrstuvwabcdefgh")


def test_an_empty_secret_hides_nothing_and_the_repr_shows_no_values() -> None:
    assert Mask({"unset": ""}).text("as it was") == "as it was"
    assert "hush-hush" not in repr(Mask({"key": "hush-hush"}))


@pytest.mark.parametrize(
    ("secret", "line"),
    [
        ("sk-proj-0123456789abcdef", b"an ordinary line of output, number 12345\n"),
        ("a" * 40, b"a" * 39 + b"b"),
        ("ab" * 20, b"ab" * 100),
    ],
    ids=["ordinary", "near_misses", "all_secret"],
)
def test_the_work_grows_linearly_with_the_length(secret: str, line: bytes) -> None:
    """Even if every byte almost starts a secret: 32 times the text is 32 times the work, not 1,024 times."""
    mask = Mask({"key": secret})
    small = line * (1_000 // len(line))

    few = work_of(lambda: mask.apply(small), rounds=9)
    many = work_of(lambda: mask.apply(small * 32))

    assert many < 200 * few + 0.01


@pytest.mark.req("R063")
def test_a_secret_with_colours_inside_is_masked() -> None:
    assert Mask({"key": "hush-hush"}).apply(plain(b"\x1b[31mhush\x1b[0m-hush")) == b"***"


WRITTEN = "sk-Test_0815/abcDEF+ghi=jkl"
BYTE_BY_BYTE = {
    "hex with spaces": WRITTEN.encode().hex(" "),
    "hex with colons": WRITTEN.encode().hex(":").upper(),
    "escapes of C": "".join(f"\\x{byte:02x}" for byte in WRITTEN.encode()),
    "octal escapes": "".join(f"\\{byte:03o}" for byte in WRITTEN.encode()),
    "an array of C": ", ".join(f"0x{byte:02x}" for byte in WRITTEN.encode()),
    "a list of numbers": str(list(WRITTEN.encode())),
    "numbers of HTML": "".join(f"&#{byte};" for byte in WRITTEN.encode()),
    "base32": base64.b32encode(WRITTEN.encode()).decode(),
}


@pytest.mark.parametrize("form", BYTE_BY_BYTE)
def test_bytes_that_are_written_one_by_one_are_masked(form: str) -> None:
    assert "***" in Mask({"KEY": WRITTEN}).text(f"before {BYTE_BY_BYTE[form]} after")


@pytest.mark.parametrize(
    "text",
    [
        base64.b64encode(base64.b64encode(WRITTEN.encode())).decode(),
        WRITTEN[::-1],
        "\n".join(WRITTEN),
        f'{WRITTEN[:9]}" + "{WRITTEN[9:]}',
    ],
)
def test_an_encoding_of_an_encoding_and_pieces_are_not_masked_as_the_page_says(text: str) -> None:
    assert Mask({"KEY": WRITTEN}).text(text) == text
