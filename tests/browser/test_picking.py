"""One of several members is picked on the page that shows them side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.browser.conftest import PHONE, Watched
from tests.browser.site import FILES, Pages, Site, wait_for

Serve = Callable[..., Pages]
FLOW = """\
podium: 1
name: pick
inputs: {task: string}
agents:
  ann: {type: scripted, script: picks.yaml}
  bob: {type: scripted, script: picks.yaml}
steps:
  solve:
    agent: [ann, bob]
    prompt: "{{ inputs.task }}"
    touches: [notes.txt]
    join: best
    pass: 1
    cancel: rest
    gates:
      - {name: words, run: [grep, -q, line, notes.txt]}
      - {name: pick, human: "Take these notes?"}
"""
CAST = """\
- {match: {step: solve/ann}, cost_usd: 0.2, write: {notes.txt: "a line of ann\\n"}}
- {match: {step: solve/bob}, cost_usd: 0.1, write: {notes.txt: "a line of bob\\nanother line\\n"}}
"""


def asking(folder: Path) -> tuple[Site, str]:
    site = Site(folder, {**FILES, "pick.yaml": FLOW, "picks.yaml": CAST})
    return site, site.begin("Write notes.", file="pick.yaml")


def test_the_members_are_compared_and_one_is_picked_by_keys(
    tmp_path: Path, watched: Watched, serve: Serve
) -> None:
    site, run = asking(tmp_path)
    pages = serve(site)
    page = watched.page(pages)
    page.goto(f"{pages.base}/runs/{run}/decide/solve/ann%231/pick")
    page.locator('#live[data-state="live"]').wait_for()
    assert "One of 2: approving one stops the others" in page.inner_text("#beside")
    assert "Pick ann" in page.inner_text('button[value="approve"]')
    page.keyboard.press("v")
    page.wait_for_url("**/members/**")
    for name, words in (("ann", "a line of ann"), ("bob", "another line")):
        column = page.get_by_role("region", name=name, exact=True)
        assert words in column.inner_text()
        assert f"solve/{name}#1/words passed" in column.inner_text()

    page.get_by_role("button", name="Pick bob bob is taken, the others are stopped").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"{pages.base}/runs/{run}?**")
    assert wait_for(lambda: site.status(run) == "passed", "the end of the run")
    assert "+another line" in site.podium("diff", run)


def test_a_page_that_shows_the_members_from_before_picks_nothing(
    tmp_path: Path, watched: Watched, serve: Serve
) -> None:
    """Without a script, so that the page cannot notice by itself."""
    site, run = asking(tmp_path)
    pages = serve(site)
    page = watched.page(pages, java_script_enabled=False, viewport=PHONE)
    page.goto(f"{pages.base}/runs/{run}/members/solve/ann%231/pick")
    assert page.locator("main").bounding_box()["width"] <= PHONE["width"]
    site.podium("approve", run, "ann")
    watched.allowed = ("console: Failed to load resource: the server responded with a status of 409",)
    page.get_by_role("button", name="Pick bob").click()
    assert "+a line of ann" in site.podium("diff", run)
