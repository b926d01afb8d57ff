"""Passes a response of the API on to the caller, without the key: a server may repeat it in an error or a header.

The body is unpacked and unframed before it is masked, because a key that is split by a chunk or compressed would not be
recognized. A small body of known length is sent with its length, any other in chunks, as it arrives.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Final, Protocol

import anyio
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream

from podium.egress.request_head import END, MOST_HEAD, PIECE
from podium.fast_dataclass import dataclass
from podium.redaction.mask import Mask, MaskStream

SMALL: Final = 256 * 1024
"""A body of a known length up to this one is read as a whole."""
MOST_CHUNK_LINE: Final = 4096
NO_BODY: Final = frozenset({204, 304})
DROPPED: Final = frozenset(
    (
        *("connection", "keep-alive", "alt-svc", "upgrade", "trailer", "transfer-encoding", "content-length"),
        # Cookies of the caller are not sent to the API either.
        *("set-cookie", "set-cookie2"),
    )
)
_STATUS: Final = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: [\t -~\x80-\xff]*)?")
_LENGTH: Final = re.compile(r"[0-9]{1,15}")
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;.*)?")


class InvalidResponse(Exception):
    """The API did not send a response that can be passed on."""


class _CutOff(Exception):
    """The body ended before its end."""


@dataclass(frozen=True, slots=True)
class ResponseHead:
    line: bytes
    status: int
    fields: tuple[tuple[bytes, bytes], ...]

    def by_name(self) -> Mapping[str, str]:
        """The fields by name in lower case; of several with one name, the last."""
        return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in self.fields}


async def read_response_head(source: BufferedByteReceiveStream) -> ResponseHead:
    """The head of the final response; raises InvalidResponse."""
    while True:
        try:
            raw = await source.receive_until(END, MOST_HEAD)
        except (
            anyio.IncompleteRead,
            anyio.EndOfStream,
            anyio.DelimiterNotFound,
            anyio.BrokenResourceError,
        ) as error:
            raise InvalidResponse from error
        head = _parsed(raw)
        if head.status >= 200:
            return head


def _parsed(raw: bytes) -> ResponseHead:
    line, *lines = raw.split(b"\r\n")
    match = _STATUS.fullmatch(line)
    if match is None:
        raise InvalidResponse
    pairs = (each.partition(b":") for each in lines)
    # A line that begins with a space continues the one before in old servers; it could hide a part of a key.
    fields = tuple(
        (name.strip(), value.strip()) for name, colon, value in pairs if colon and not name[:1].isspace()
    )
    return ResponseHead(line, int(match[1]), fields)


async def pass_response(
    source: BufferedByteReceiveStream, stream: ByteStream, head: ResponseHead, mask: Mask, *, method: str
) -> None:
    """Send the masked response; raises InvalidResponse before anything is sent, EndOfStream if it is cut off."""
    fields = head.by_name()
    framing = _framing(fields, has_body=method != "HEAD" and head.status not in NO_BODY)
    unpack = _unpacker(fields.get("content-encoding", ""))
    try:
        if isinstance(framing, int) and framing <= SMALL and isinstance(unpack, _AsItIs):
            await _pass_whole(source, stream, head, mask, framing)
        else:
            await _pass_chunks(_body(source, framing), stream, head, mask, unpack)
    except (_CutOff, anyio.IncompleteRead, anyio.DelimiterNotFound) as error:
        # The caller sees it as well: the length or the last chunk is missing.
        raise anyio.EndOfStream from error


def _framing(fields: Mapping[str, str], *, has_body: bool) -> int | str:
    """The length of the body, `chunked`, or `close` if it ends with the connection."""
    if not has_body:
        return 0
    if "transfer-encoding" in fields:
        if fields["transfer-encoding"].lower() != "chunked":
            raise InvalidResponse
        return "chunked"
    length = fields.get("content-length")
    if length is None:
        return "close"
    if not _LENGTH.fullmatch(length):
        raise InvalidResponse
    return int(length)


async def _pass_whole(
    source: BufferedByteReceiveStream, stream: ByteStream, head: ResponseHead, mask: Mask, length: int
) -> None:
    body, is_complete = bytearray(), True
    try:
        async for piece in _counted(source, length):
            body += piece
    except _CutOff:
        is_complete = False
    masked = mask.apply(bytes(body))
    # Of a body that was cut off the caller must see that something is missing.
    announced = len(masked) if is_complete else max(length, len(masked) + 1)
    await stream.send(_head(head, mask, (b"Content-Length", str(announced).encode())) + masked)


async def _pass_chunks(
    pieces: AsyncIterator[bytes], stream: ByteStream, head: ResponseHead, mask: Mask, unpack: _Unpacker
) -> None:
    await stream.send(_head(head, mask, (b"Transfer-Encoding", b"chunked")))
    masked = mask.stream()
    async for piece in pieces:
        for part in unpack.feed(piece):
            await _send_chunk(stream, masked.feed(part))
    await _finish(stream, masked)


async def _finish(stream: ByteStream, masked: MaskStream) -> None:
    await _send_chunk(stream, masked.finish())
    await stream.send(b"0\r\n\r\n")


async def _send_chunk(stream: ByteStream, data: bytes) -> None:
    if data:
        await stream.send(b"%x\r\n%s\r\n" % (len(data), data))


def _head(head: ResponseHead, mask: Mask, framing: tuple[bytes, bytes]) -> bytes:
    fields = [(name, value) for name, value in head.fields if name.lower().decode("latin-1") not in DROPPED]
    if framing[0] == b"Transfer-Encoding":
        fields = [field for field in fields if field[0].lower() != b"content-encoding"]
    lines = [head.line, b"Connection: close", *(b": ".join(field) for field in (*fields, framing))]
    return b"\r\n".join([*(mask.apply(line) for line in lines), b"", b""])


async def _body(source: BufferedByteReceiveStream, framing: int | str) -> AsyncIterator[bytes]:
    if isinstance(framing, int):
        pieces = _counted(source, framing)
    else:
        pieces = _chunks(source) if framing == "chunked" else _until_closed(source)
    async for piece in pieces:
        yield piece


async def _counted(source: BufferedByteReceiveStream, length: int) -> AsyncIterator[bytes]:
    try:
        while length > 0:
            piece = await source.receive(min(length, PIECE))
            length -= len(piece)
            yield piece
    except (anyio.EndOfStream, anyio.BrokenResourceError) as error:
        raise _CutOff from error


async def _chunks(source: BufferedByteReceiveStream) -> AsyncIterator[bytes]:
    while True:
        size = _CHUNK.fullmatch(await source.receive_until(b"\r\n", MOST_CHUNK_LINE))
        if size is None:
            raise _CutOff
        if not int(size[1], 16):
            return
        async for piece in _counted(source, int(size[1], 16)):
            yield piece
        if await source.receive_exactly(2) != b"\r\n":
            raise _CutOff


async def _until_closed(source: BufferedByteReceiveStream) -> AsyncIterator[bytes]:
    try:
        while True:
            yield await source.receive(PIECE)
    except anyio.EndOfStream:
        return


class _Unpacker(Protocol):
    def feed(self, data: bytes) -> Iterator[bytes]: ...


class _AsItIs:
    def feed(self, data: bytes) -> Iterator[bytes]:
        yield data


class _Unpacked:
    """Piece by piece, since a few bytes can become gigabytes."""

    def __init__(self, bits: int) -> None:
        self._decoder = zlib.decompressobj(bits)

    def feed(self, data: bytes) -> Iterator[bytes]:
        try:
            while data:
                yield self._decoder.decompress(data, PIECE)
                data = self._decoder.unconsumed_tail
        except zlib.error as error:
            raise _CutOff from error


def _unpacker(encoding: str) -> _Unpacker:
    """We ask for none, but some servers pack anyway."""
    match encoding.strip().lower():
        case "" | "identity":
            return _AsItIs()
        case "gzip" | "x-gzip":
            return _Unpacked(16 + zlib.MAX_WBITS)
        case "deflate":
            return _Unpacked(zlib.MAX_WBITS)
        case _:
            raise InvalidResponse
