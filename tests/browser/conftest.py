"""The system's Chromium, driven by playwright; nothing is downloaded. Every page is watched for what must never happen."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.browser.site import PATIENCE_S, Pages, Site, pages_of

PROGRAMS: Final = ("chromium", "chromium-browser", "google-chrome")
DESK: Final = {"width": 1280, "height": 900}
PHONE: Final = {"width": 390, "height": 844}


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("no Chromium is installed: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        # Chromium refuses its own sandbox to root; the pages are ours and load nothing from elsewhere.
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        made = driver.chromium.launch(executable_path=program, args=options)
        yield made
        made.close()


class Watched:
    """Browser contexts whose pages must show no dialog, no fault, no refused content and no request to another host."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser
        self._contexts: list[Any] = []
        self.faults: list[str] = []
        self.allowed: tuple[str, ...] = ()
        """Beginnings of faults that a test provokes."""

    def page(self, pages: Pages | None, *, logs_in: bool = True, **options: Any) -> Any:
        context = self._browser.new_context(**{"viewport": DESK, **options})
        context.set_default_timeout(PATIENCE_S * 1000)
        self._contexts.append(context)
        page = context.new_page()
        base = "" if pages is None else pages.base
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("dialog", self._dialog)
        page.on("request", lambda request: self._request(request.url, base))
        if pages is not None and logs_in:
            if options.get("java_script_enabled", True):
                page.goto(pages.address)
            else:
                page.goto(f"{pages.base}/login")
                page.fill("#key", pages.key)
                page.click("#login button")
            page.wait_for_url(f"{pages.base}/")
        return page

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"console: {message.text}")

    def _dialog(self, dialog: Any) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, url: str, base: str) -> None:
        if base and not url.startswith((base, "data:", "blob:", "about:")):
            self.faults.append(f"request: {url}")

    def close(self) -> None:
        for context in self._contexts:
            context.close()

    def real_faults(self) -> list[str]:
        return [fault for fault in self.faults if not fault.startswith(self.allowed or ("\0",))]


@pytest.fixture
def watched(browser: Any, serve: Callable[..., Pages]) -> Iterator[Watched]:
    """Closed before the pages end, which an open page would complain about."""
    made = Watched(browser)
    yield made
    made.close()
    assert made.real_faults() == []


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture
def serve() -> Iterator[Callable[..., Pages]]:
    """Start the pages of a site; they end with the test."""
    running: list[Any] = []

    def start(site: Site, *options: str) -> Pages:
        context = pages_of(site, *options)
        pages = context.__enter__()
        running.append(context)
        return pages

    yield start
    for context in reversed(running):
        context.__exit__(None, None, None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/browser/" in item.nodeid:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(300))


@pytest.fixture(autouse=True)
def no_thread_left_behind() -> None:
    """Not checked here: playwright keeps threads for files until the session ends; the servers are processes of their own."""
