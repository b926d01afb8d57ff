"""The encodings in which a secret can appear in output: raw, escaped, quoted or encoded.

Every encoding is a fixed byte string, so that the mask can search for all of them in one linear pass. Covered: raw,
JSON (once and twice escaped, both cases of \\uXXXX, escaped slashes), URL (five sets of safe characters, both cases
of the hex digits, plus for space, every byte), HTML, hex in both cases, base64 in both alphabets at all three alignments.
The mask also recognizes them in lines of any width. Single bytes as dumps, C, shells and HTML write them, and base32, are
covered in one line. Not covered: encryption, compression, reversal, an encoding of an encoding.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from typing import Final

SHORTEST: Final = 6
"""Minimum length of a secret; a shorter one would also match harmless text, so it is refused."""

# Characters that encoders do not escape: RFC 3986, Python's quote, JavaScript's encodeURIComponent and encodeURI, curl.
URL_SAFE: Final = ("", "/", "!'()*~", ";,/?:@&=+$!~*'()#", "-._~/:")
UNICODE_ESCAPE: Final = re.compile(r"\\u[0-9a-f]{4}")
PERCENT_ESCAPE: Final = re.compile(r"%[0-9A-F]{2}")


def encodings(secret: str) -> frozenset[bytes]:
    """Every encoding of a secret and of each of its lines, because tools print the lines of a key separately."""
    return _each(secret, _texts) | wrapped_encodings(secret)


def wrapped_encodings(secret: str) -> frozenset[bytes]:
    """Those that tools print in lines of a fixed width."""
    return _each(secret, _wrapped)


def _each(secret: str, encode: Callable[[str], Iterator[bytes]]) -> frozenset[bytes]:
    lines = [line.strip() for line in secret.splitlines()]
    parts = {secret, *(line for line in lines if len(line) >= SHORTEST)}
    return frozenset(encoding for part in parts for encoding in encode(part) if len(encoding) >= SHORTEST)


def _texts(secret: str) -> Iterator[bytes]:
    raw = secret.encode("utf-8", "surrogateescape")
    yield raw
    import html  # Its table of entities takes time, and most runs have no secret.

    escaped = (html.escape(secret), html.escape(secret, quote=False))
    for text in (*_json(secret), *_url(raw), *escaped, *_byte_by_byte(raw)):
        yield text.encode("utf-8", "surrogateescape")


def _wrapped(secret: str) -> Iterator[bytes]:
    raw = secret.encode("utf-8", "surrogateescape")
    yield raw.hex().encode()
    yield raw.hex().upper().encode()
    for text in _base64(raw):
        yield text.encode()
        yield text.translate(str.maketrans("+/", "-_")).encode()


def _byte_by_byte(raw: bytes) -> Iterator[str]:
    """As dumps, C, shells and HTML write single bytes; and base32, as far as it does not depend on what follows."""
    for text in (raw.hex(" "), raw.hex(":"), raw.hex("-")):
        yield text
        yield text.upper()
    for form in ("\\x{:02x}", "\\x{:02X}", "\\{:03o}", "\\u{:04x}", "&#{};", "&#x{:x};", "&#x{:X};"):
        yield "".join(map(form.format, raw))
    for between in (" ", ", ", ","):
        yield between.join(map(str, raw))
        yield between.join(map("0x{:02x}".format, raw))
    yield base64.b32encode(raw[: len(raw) // 5 * 5]).decode()


def _json(secret: str) -> Iterator[str]:
    for text in _json_once(secret):
        yield text
        yield from _json_once(text)


def _json_once(text: str) -> Iterator[str]:
    for ascii_only in (True, False):
        escaped = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        yield escaped
        yield escaped.replace("/", "\\/")
        yield UNICODE_ESCAPE.sub(lambda match: "\\u" + match[0][2:].upper(), escaped)


def _url(raw: bytes) -> Iterator[str]:
    from urllib.parse import quote, quote_plus  # Imported here: most runs have no secret.

    every = "".join(f"%{byte:02X}" for byte in raw)
    for escaped in (*(quote(raw, safe=safe) for safe in URL_SAFE), quote_plus(raw), every):
        yield escaped
        yield PERCENT_ESCAPE.sub(lambda match: match[0].lower(), escaped)


def _base64(raw: bytes) -> Iterator[str]:
    """Base64 of the whole secret, and the characters that depend only on it at any position in a longer text."""
    yield base64.b64encode(raw).decode()
    for shift in range(3):
        text = base64.b64encode(bytes(shift) + raw + bytes(2)).decode()
        first, last = -(-8 * shift // 6), 8 * (shift + len(raw)) // 6
        yield text[first:last]
