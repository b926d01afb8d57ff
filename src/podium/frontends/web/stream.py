"""The live stream of a page: which runs have changed. The page then reads itself again, so a lost line loses nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from podium.app.query.changes import RunChange
from podium.frontends.web.hub import Hub, Stream, TooManyStreams

BEAT_S: Final = 15.0
RETRY_MS: Final = 500


async def events(request: Request) -> Response:
    hub: Hub = request.app.state.hub
    try:
        stream = hub.open_stream(request.query_params.get("run", "")[:100])
    except TooManyStreams as error:
        return PlainTextResponse(f"{error.message}; {error.hint}\n", 503)
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(_lines(hub, stream), media_type="text/event-stream", headers=headers)


async def _lines(hub: Hub, stream: Stream) -> AsyncIterator[str]:
    try:
        yield f"retry: {RETRY_MS}\nevent: hello\ndata: {hub.changes}\n\n"
        while not (stream.is_dropped or hub.is_stopped):
            try:
                change = await asyncio.wait_for(stream.queue.get(), BEAT_S)
            except TimeoutError:
                yield ": still here\n\n"
                continue
            if change is None:
                return
            yield _event(change)
    finally:
        hub.close_stream(stream)


def _event(change: RunChange) -> str:
    data = json.dumps({"run": change.run, "seq": change.seq, "status": change.status})
    return f"id: {change.run}:{change.seq}\nevent: run\ndata: {data}\n\n"
