"""Links between pages lead somewhere, and the pages keep to the rules of the house."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.docs.page_files import ROOT
from tools.pages.stage import pages

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\n]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
ANCHOR = re.compile(r'<a id="([^"]+)">')
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)

PAGES = pages(ROOT)


def prose(path: Path) -> str:
    return FENCE.sub("", path.read_text("utf-8"))


def anchors(path: Path) -> set[str]:
    text = prose(path)
    return {*ANCHOR.findall(text), *slugs(HEADING.findall(text))}


def slugs(titles: list[str]) -> Iterator[str]:
    """As GitHub spells the anchor of a heading."""
    seen: dict[str, int] = {}
    for title in titles:
        slug = re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
        number = seen[slug] = seen.get(slug, -1) + 1
        yield slug if number == 0 else f"{slug}-{number}"


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    here = ROOT / page
    broken = []
    for link in LINK.findall(prose(here)):
        target, _, anchor = unquote(link).partition("#")
        if "://" in target:
            continue
        path = (here.parent / target) if target else here
        if not path.exists() or (anchor and anchor not in anchors(path)):
            broken.append(link)

    assert broken == []


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_reachable_from_the_index(page: str) -> None:
    indexes = [ROOT / "docs" / "README.md", ROOT / "docs" / "decisions" / "README.md"]
    linked = {
        (index.parent / link.partition("#")[0]).resolve()
        for index in indexes
        for link in LINK.findall(prose(index))
    }

    assert page in ("README.md", "docs/README.md") or (ROOT / page).resolve() in linked


@pytest.mark.parametrize("page", ["docs/README.md", "docs/decisions/README.md"])
def test_an_index_names_no_page_twice(page: str) -> None:
    links = [link for link in LINK.findall(prose(ROOT / page)) if "#" not in link]

    assert sorted(set(links)) == sorted(links)


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("docs/decisions/0")])
def test_a_decision_is_short_and_has_its_four_parts(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")

    assert len(text.splitlines()) <= 40
    assert HEADING.findall(text)[1:] == ["Context", "Decision", "What it costs", "What would change our mind"]
