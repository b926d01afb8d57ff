"""Connects to a host through the user's proxy; TLS is end-to-end with the host, so the proxy sees only its name."""

from __future__ import annotations

import re
import ssl
from typing import Final

import anyio
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.streams.tls import TLSStream

from podium.egress.request_head import END, MOST_HEAD
from podium.egress.user_proxy import ProxyFailed, UserProxy

_STATUS: Final = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2}(?: [\t -~\x80-\xff]*)?)")


async def connect_proxy(proxy: UserProxy, trust: ssl.SSLContext) -> ByteStream:
    """Connect to the proxy itself; raises OSError."""
    if not proxy.tls:
        return await anyio.connect_tcp(proxy.host, proxy.port)
    return await anyio.connect_tcp(
        proxy.host, proxy.port, ssl_context=trust, tls_hostname=proxy.host, tls_standard_compatible=False
    )


async def open_tunnel(proxy: UserProxy, host: str, port: int, trust: ssl.SSLContext) -> ByteStream:
    """Open a TLS connection to a host through the proxy; raises OSError."""
    stream = await connect_proxy(proxy, trust)
    try:
        target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        fields = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
        if proxy.authorization is not None:
            fields.append(f"Proxy-Authorization: {proxy.authorization}")
        await stream.send("\r\n".join([*fields, "", ""]).encode("latin-1"))
        await _read_connect_response(stream, proxy)
        return await TLSStream.wrap(
            stream, server_side=False, hostname=host, ssl_context=trust, standard_compatible=False
        )
    except BaseException:
        await anyio.aclose_forcefully(stream)
        raise


async def _read_connect_response(stream: ByteStream, proxy: UserProxy) -> None:
    source = BufferedByteReceiveStream(stream)
    try:
        head = await source.receive_until(END, MOST_HEAD)
    except (
        anyio.IncompleteRead,
        anyio.EndOfStream,
        anyio.DelimiterNotFound,
        anyio.BrokenResourceError,
    ) as error:
        raise ProxyFailed(f"the proxy {proxy.name} closed the connection") from error
    status = _STATUS.fullmatch(head.partition(b"\r\n")[0])
    if status is None or source.buffer:
        raise ProxyFailed(f"the proxy {proxy.name} did not respond with HTTP/1.1")
    if not status[1].startswith(b"2"):
        raise ProxyFailed(
            f"the proxy {proxy.name} refused the connection: {status[1][:100].decode('latin-1')}"
        )
