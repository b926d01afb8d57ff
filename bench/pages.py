"""What the pages of `podium ui` cost: to the first byte of a list, to open a large run, while nothing happens, with many readers.

From an event to a changed pixel is measured in the browser, if one is installed.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import httpx2

from bench import screen
from bench.engine import Cost
from podium.adapters.stores.sqlite import SqliteStore
from podium.core.codec import encode
from podium.core.hash_chain import RunId
from podium.frontends.web.hub import MOST_STREAMS
from tests.browser.site import Pages, Site, pages_of
from tests.views.kit import SILENT, Told, keep, tell

RUNS: Final = 1_000
ITEMS: Final = 5_000
"""Each is an iteration with one step."""
SAMPLES: Final = 15
IDLE_S: Final = 5.0
TICK: Final = 1 / os.sysconf("SC_CLK_TCK")


def costs() -> tuple[Cost, ...]:
    with tempfile.TemporaryDirectory() as name:
        site = Site(Path(name))
        stage = Path(name) / "stage"
        stage.mkdir()
        waiting, done = tell(stage, cast=SILENT), tell(stage)
        wide = tell(stage, flow=_wide(), cast=None, run="wide")
        store = SqliteStore(site.root / ".podium" / "podium.db")
        keep(store, wide, run="wide", created=0)
        for number in range(1, RUNS):
            keep(store, waiting if number % 33 == 0 else done, run=f"r{number:04}", created=number)
        store.close()
        with pages_of(site) as pages:
            client = httpx2.Client(
                base_url=pages.base, headers={"authorization": f"Bearer {pages.key}"}, timeout=60
            )
            with client:
                rows = tuple(_measured(site, pages, client, waiting))
        return (*rows, *screen.costs(site, "r0"))


def _wide() -> str:
    items = ", ".join(map(str, range(ITEMS)))
    return (
        "podium: 1\nname: wide\nlimits: {members: 6000, transitions: 100000, time: 99h}\nsteps:\n"
        f"  each:\n    for_each: [{items}]\n    parallel: 50\n    steps:\n      a: {{run: [echo, '${{{{ item }}}}']}}\n"
    )


def _measured(site: Site, pages: Pages, client: httpx2.Client, waiting: Told) -> Iterator[Cost]:
    pid = pages.process.pid
    _timed(client, "/login")
    yield Cost("a list of 1,000 runs, first time", _timed(client, "/runs"), "ms", 1_000)
    yield Cost(
        "a list of 1,000 runs", statistics.median(_timed(client, "/runs") for _ in range(SAMPLES)), "ms", 200
    )
    with ExitStack() as streams:
        for _ in range(MOST_STREAMS):
            streams.enter_context(client.stream("GET", "/events"))
        yield Cost("its share of a core with 100 readers", _share(pid) * 100, "%", 1)
        yield Cost("memory with 100 readers", _resident_mb(pid), "MB", 80)
    yield Cost("a run of 10,000 steps, first time", _timed(client, "/runs/wide") / 1000, "s", 1.5)
    yield Cost("a run of 10,000 steps", _timed(client, "/runs/wide"), "ms", 1_000)
    latencies = _latencies(site, pages, waiting)
    if latencies:
        p95 = sorted(latencies)[int(len(latencies) * 0.95)]
        yield Cost(
            "from an event to the pixel, 95 of 100",
            p95,
            "ms",
            300,
            detail=f"median {statistics.median(latencies):.0f}",
        )


def _timed(client: httpx2.Client, path: str) -> float:
    start = time.perf_counter()
    client.get(path).raise_for_status()
    return (time.perf_counter() - start) * 1000


def _latencies(site: Site, pages: Pages, told: Told) -> list[float]:
    """From a stored event to the frame after the page has changed, for steps of a new run."""
    program = shutil.which("chromium")
    if program is None:
        return []
    from playwright.sync_api import sync_playwright

    store = SqliteStore(site.root / ".podium" / "podium.db")
    first = next(n for n, event in enumerate(told.events, 1) if type(event).__name__ == "StepEntered")
    keep(store, told.until(first), run="live", created=RUNS, status="running")
    found = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=program, args=["--no-sandbox"] if os.geteuid() == 0 else []
        )
        page = browser.new_page()
        page.goto(pages.address)
        page.wait_for_url(f"{pages.base}/")
        page.goto(f"{pages.base}/runs/live")
        page.locator('#live[data-state="live"]').wait_for()
        for number in range(first, len(told.events)):
            changed = page.evaluate_handle(WATCH)
            time.sleep(0.3)
            event = told.events[number]
            start = time.time() * 1000
            store.append(
                RunId("live"), [(type(event).__name__, _json(event))], after=number, epoch=0, cause="bench"
            )
            at = page.evaluate("(watch) => watch.done", changed)
            if at:
                found.append(at - start)
        browser.close()
    store.close()
    return found


WATCH: Final = """() => ({ done: new Promise((done) => {
  const watch = new MutationObserver((records) => {
    if (!records.some((each) => each.target.closest?.("[data-live]") && each.target.tagName !== "TIME")) return;
    watch.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => done(Date.now())));
  });
  watch.observe(document.getElementById("main"), { childList: true, subtree: true });
  setTimeout(() => { watch.disconnect(); done(0); }, 2000);
}) })"""


def _json(event: Any) -> str:
    import json

    return json.dumps(encode(event))


def _share(pid: int) -> float:
    time.sleep(1)
    before, start = _ticks(pid), time.monotonic()
    time.sleep(IDLE_S)
    return (_ticks(pid) - before) * TICK / (time.monotonic() - start)


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
