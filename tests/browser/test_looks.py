"""All pages as people see them: no barrier, nothing hostile, large projects, and pictures for the documentation."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from podium.adapters.stores.sqlite import SqliteStore
from podium.ports.clock import wall_clock
from tests.app.metrics.history_kit import DAY, MONDAY, Draft, history_of
from tests.browser.conftest import DESK, PHONE, Watched
from tests.browser.site import CAST, FILES, WORKFLOW, Pages, Site
from tests.browser.test_picking import asking
from tests.e2e.kit import new_project
from tests.views.kit import SILENT, keep, tell

Serve = Callable[..., Pages]
TASK: Final = "The total of a cart must take the discount into account, and be rounded to cents."
RULES: Final = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
EVIL: Final = "<script>alert(1)</script><img src=x onerror=alert(2)> javascript:alert(3) \u202egnp.exe\u200b"


def _paths(run: str) -> dict[str, str]:
    return {
        "inbox": "/",
        "decide": f"/runs/{run}/decide/approve",
        "run": f"/runs/{run}",
        "step": f"/runs/{run}/steps/implement",
        "logs": f"/runs/{run}/logs",
        "log": f"/runs/{run}/logs/0",
        "runs": "/runs",
        "compare": f"/compare?a={run}&b={run}",
        "diff": f"/runs/{run}/diff",
        "workflows": "/workflows",
        "start": "/workflows/0/run",
        "costs": "/costs?played=1",
        "settings": "/settings",
        "not-found": "/runs/none",
    }


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> tuple[Site, dict[str, str]]:
    """Where two members ask side by side, and the pages about them."""
    site, run = asking(tmp_path_factory.mktemp("members"))
    question = "solve/ann%231/pick"
    return site, {
        "members": f"/runs/{run}/members/{question}",
        "one-of-two": f"/runs/{run}/decide/{question}",
        "fan-out": f"/runs/{run}/steps/solve",
    }


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> tuple[Site, str]:
    site = Site(tmp_path_factory.mktemp("waiting"))
    return site, site.begin(TASK)


@pytest.mark.req("R219")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_barrier(
    waiting: tuple[Site, str], watched: Watched, serve: Serve, scheme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    site, run = waiting
    pages = serve(site)
    watched.allowed = ("console: Failed to load resource: the server responded with a status of 404",)
    found = {}
    # The checker is put in by the debugger, which the policy of the pages does not stop.
    page = watched.page(pages, color_scheme=scheme, bypass_csp=True)
    login = watched.page(pages, logs_in=False, color_scheme=scheme, bypass_csp=True)
    login.goto(f"{pages.base}/login")
    for name, path in _paths(run).items():
        page.goto(pages.base + path)
        found[name] = _violations(axe, page)
    found["login"] = _violations(axe, login)
    assert {name: faults for name, faults in found.items() if faults} == {}


@pytest.mark.req("R219")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_about_members_has_a_barrier(
    members: tuple[Site, dict[str, str]], watched: Watched, serve: Serve, scheme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    site, paths = members
    pages = serve(site)
    page = watched.page(pages, color_scheme=scheme, bypass_csp=True)
    found = {}
    for name, path in paths.items():
        page.goto(pages.base + path)
        found[name] = _violations(axe, page)
    assert {name: faults for name, faults in found.items() if faults} == {}


def _violations(axe: Any, page: Any) -> list[str]:
    results = axe.run(page, options={"runOnly": {"type": "tag", "values": list(RULES)}}).response
    return [
        f"{each['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:200]}"
        for each in results["violations"]
        for node in each["nodes"]
    ]


def test_hostile_words_of_agents_do_nothing_on_any_page(
    tmp_path: Path, watched: Watched, serve: Serve
) -> None:
    line = json.dumps(EVIL)
    cast = CAST.replace("I have changed the total.", EVIL).replace(
        '"The total is not rounded to cents."', line
    )
    cast = cast.replace("score: 8,", f"score: 8, summary: {line},")
    site = Site(
        tmp_path,
        {
            **FILES,
            "cast.yaml": cast,
            "ship.yaml": WORKFLOW.replace("Land this change?", "Land <b>this</b> change?"),
        },
    )
    run = site.begin(EVIL.replace("\u202e", ""))
    pages = serve(site)
    watched.allowed = ("console: Failed to load resource: the server responded with a status of 404",)
    page = watched.page(pages)
    for name, path in _paths(run).items():
        page.goto(pages.base + path)
        assert page.locator("main script, main img, main b").count() == 0, name
        assert "\u202e" not in page.content(), name
        assert page.evaluate("document.title").startswith(("Podium", "(1)")), name
        assert page.locator('a[href^="javascript"]').count() == 0, name
    report = page.request.get(f"{pages.base}/runs/{run}/report")
    assert "<script>alert" not in report.text()
    file = tmp_path / "report.html"
    file.write_text(report.text(), "utf-8")
    alone = watched.page(None)
    alone.goto(file.as_uri())
    assert alone.locator("img").count() == 0


@pytest.fixture
def large(tmp_path: Path) -> Site:
    """A thousand runs, of which thirty wait."""
    site = Site(tmp_path)
    stage = tmp_path / "stage"
    stage.mkdir()
    waiting, done = tell(stage, cast=SILENT), tell(stage)
    store = SqliteStore(site.root / ".podium" / "podium.db")
    for number in range(1_000):
        keep(store, waiting if number % 33 == 0 else done, run=f"r{number:04}", created=number)
    store.close()
    return site


def test_a_thousand_runs_are_found_by_pages_and_filters(large: Site, watched: Watched, serve: Serve) -> None:
    pages = serve(large)
    page = watched.page(pages)
    assert "31 questions wait for you" in page.inner_text("h1")
    page.goto(f"{pages.base}/runs")
    assert page.locator("#list tbody tr").count() == 50
    page.get_by_role("link", name="Older runs").click()
    page.wait_for_url("**before=**")
    assert page.locator("#list tbody tr").count() == 50
    page.goto(f"{pages.base}/runs?q=r0042")
    assert page.locator("#list tbody tr").count() == 1


def test_a_run_of_ten_thousand_steps_opens_in_windows(tmp_path: Path, watched: Watched, serve: Serve) -> None:
    site = Site(tmp_path)
    stage = tmp_path / "stage"
    stage.mkdir()
    flow = "podium: 1\nname: wide\nlimits: {members: 6000, transitions: 100000, time: 99h}\nsteps:\n  each:\n    for_each: '${{ range(5000) }}'\n    parallel: 50\n    steps:\n      a: {run: [echo, '${{ item }}']}\n"
    items = ", ".join(str(number) for number in range(5_000))
    told = tell(stage, flow=flow.replace("'${{ range(5000) }}'", f"[{items}]"), cast=None)
    store = SqliteStore(site.root / ".podium" / "podium.db")
    keep(store, told, run="wide", created=1)
    store.close()
    pages = serve(site)
    page = watched.page(pages)
    page.goto(f"{pages.base}/runs/wide")
    assert page.locator("#steps tbody tr").count() == 200
    assert page.get_by_role("link", name="Draw its").count() == 1
    page.get_by_role("link", name="later").click()
    page.wait_for_url("**from=200")
    assert page.locator("#steps tbody tr").count() == 200


def test_pictures_of_every_page(
    waiting: tuple[Site, str],
    members: tuple[Site, dict[str, str]],
    watched: Watched,
    serve: Serve,
    tmp_path: Path,
) -> None:
    """For people who look at them; `make screenshots` keeps them."""
    site, run = waiting
    shown = ((serve(site), _paths(run)), (serve(members[0]), members[1]))
    folder = Path(os.environ.get("PODIUM_SCREENSHOTS") or tmp_path)
    watched.allowed = ("console: Failed to load resource: the server responded with a status of 404",)
    for scheme in ("light", "dark"):
        for width, size in (("desk", DESK), ("phone", PHONE)):
            for pages, paths in shown:
                page = watched.page(pages, color_scheme=scheme, viewport=size)
                for name, path in paths.items():
                    page.goto(pages.base + path)
                    page.locator('#live[data-state="live"]').wait_for(state="visible")
                    whole = name not in ("decide", "one-of-two")
                    page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=whole)
    assert len(list(folder.glob("*.png"))) >= 4 * sum(len(paths) for _, paths in shown)


def test_the_page_of_figures_over_many_runs(browser: Any, tmp_path: Path) -> None:
    """A history of 60 runs, shown by the real command; `make screenshots` puts the picture into the docs."""
    files = {"hello.yaml": "podium: 1\nname: hello\nsteps:\n  greet: {run: echo hello}\n"}
    project = new_project(tmp_path / "place", files)
    assert project.podium("run", "hello.yaml", "--sandbox", "limits", "--yes").code == 0
    history_of(project.root / ".podium", sixty_runs()).close()
    done = project.podium("metrics", "--html", "figures.html", "--last", "8w", "--workflow", "posts")
    assert done.code == 0, done.err
    context = browser.new_context(viewport=DESK, color_scheme="light", java_script_enabled=False)
    page = context.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"file://{project.root}/figures.html")
    folder = Path(os.environ.get("PODIUM_SCREENSHOTS") or tmp_path)
    page.screenshot(
        path=folder / "metrics-desk-light.png",
        clip={"x": 0, "y": 0, "width": 1280, "height": 1100},
        full_page=True,
    )
    assert len(requests) == 1
    assert page.locator("svg").count() >= 3
    context.close()


def sixty_runs() -> list[Draft]:
    """Two agents over the last eight weeks: codex becomes better, and costs more."""
    first = (wall_clock() - MONDAY) // DAY - 55
    return [
        Draft(
            f"r{number}",
            day=first + number * 54 // 60,
            agent=("claude", "codex")[number % 2],
            usd=0.10 + 0.05 * (number % 2) + 0.002 * (number % 7),
            retries=number % 3 == 0,
            score=7.0 + (number % 2) * number / 40 + (number % 5) / 10,
            approved=number % (6 if number % 2 else 4) != 0,
            subject=f"post_{number % 3}",
            note="Stronger hook" if number % 9 == 0 else "",
        )
        for number in range(60)
    ]
