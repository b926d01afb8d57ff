"""A relay in front of a server on this machine, which can stop forwarding: the network between a worker and the server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Relay:
    """While it is cut, nothing passes and no connection ends: neither side is told."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._open = asyncio.Event()
        self._streams: set[asyncio.StreamWriter] = set()
        self.port = 0

    @property
    def address(self) -> str:
        return f"temporal://127.0.0.1:{self.port}/default"

    def cut(self) -> None:
        self._loop.call_soon_threadsafe(self._open.clear)

    def mend(self) -> None:
        self._loop.call_soon_threadsafe(self._open.set)

    def run(self, started: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._listen())
        started.set()
        self._loop.run_forever()
        for stream in self._streams:
            stream.transport.abort()
        self._loop.run_until_complete(asyncio.sleep(0))

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)

    async def _listen(self) -> None:
        self._open.set()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._open.wait()
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        self._streams |= {writer, far_writer}
        await asyncio.gather(self._pass_on(reader, far_writer), self._pass_on(far_reader, writer))

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while chunk := await reader.read(65536):
                await self._open.wait()
                writer.write(chunk)
                await writer.drain()
        writer.close()


@contextmanager
def relay(target: int) -> Iterator[Relay]:
    made, started = Relay(target), threading.Event()
    thread = threading.Thread(target=made.run, args=(started,), daemon=True)
    thread.start()
    started.wait()
    try:
        yield made
    finally:
        made.stop()
        thread.join()
