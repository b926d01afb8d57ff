"""The server cannot be filled up, listens on this machine only, and prints its key once (R219)."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from podium.app.query.changes import RunChange
from podium.core.hash_chain import RunId
from podium.errors import ConfigurationError
from podium.frontends.web.hub import MOST_QUEUED, MOST_STREAMS, Stream, TooManyStreams
from podium.frontends.web.server import bind_loopback
from tests.browser.site import PATIENCE_S, Site
from tests.frontends.web.conftest import Web

CHANGE = RunChange(Path("/"), RunId("asks"), 1, "running")


def test_no_more_pages_are_served_live_than_the_bound_allows(inside: Web) -> None:
    streams = [inside.hub.open_stream("") for _ in range(MOST_STREAMS)]
    with pytest.raises(TooManyStreams):
        inside.hub.open_stream("")
    answer = inside.client.get("/events")
    assert (answer.status_code, f"{MOST_STREAMS} pages are open" in answer.text) == (503, True)
    inside.hub.close_stream(streams[0])
    inside.hub.open_stream("")


def test_a_reader_that_is_too_slow_is_dropped_and_its_queue_stays_bounded() -> None:
    async def read() -> list[str]:
        stream = Stream("")
        for _ in range(MOST_QUEUED):
            stream.put(CHANGE)
        dropped = [stream.is_dropped]
        stream.put(CHANGE)
        assert [*dropped, stream.is_dropped] == [False, True]
        assert stream.queue.qsize() == MOST_QUEUED
        stream.put(None)  # The end of the server does not fail either.
        return ["done"]

    assert asyncio.run(read()) == ["done"]


def test_the_server_listens_at_the_two_loopback_addresses_and_one_port() -> None:
    bound = bind_loopback(0)
    try:
        names = [each.getsockname()[:2] for each in bound]
        assert {host for host, _ in names} <= {"127.0.0.1", "::1"}
        assert names[0][0] == "127.0.0.1"
        assert len({port for _, port in names}) == 1
    finally:
        for each in bound:
            each.close()


def test_a_port_that_another_program_has_at_one_of_them_is_not_taken() -> None:
    """Another user who listens at ::1 would be given the key of a page that opens `localhost`."""
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    with socket.socket(socket.AF_INET6) as other:
        try:
            other.bind(("::1", 0))
        except OSError:
            pytest.skip("this machine has no IPv6")
        other.listen()
        with pytest.raises(ConfigurationError, match="cannot listen at ::1"):
            bind_loopback(other.getsockname()[1])


@pytest.mark.slow
def test_the_key_is_printed_once_and_appears_in_no_other_line(tmp_path: Path) -> None:
    site = Site(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-m", "podium", "ui", "--no-browser"],
        cwd=site.root,
        env=site.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    base, _, key = address.partition("/#key=")
    try:
        for path, headers in (
            ("/runs", {"Authorization": f"Bearer {key}"}),
            (f"/runs?key={key}", {}),
            ("/x", {}),
        ):
            request = urllib.request.Request(base + path, headers=headers)
            try:
                urllib.request.urlopen(request, timeout=PATIENCE_S).close()
            except urllib.error.HTTPError as error:
                error.close()
    finally:
        process.terminate()
        more = "".join(process.communicate(timeout=PATIENCE_S))
    assert len(key) >= 32
    assert key not in more
