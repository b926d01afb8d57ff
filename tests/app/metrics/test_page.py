"""The page of metrics: whole, without scripts and requests, and safe for any text (R220)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from podium.adapters.history.sqlite import SqliteHistory
from podium.app.metrics.query import MetricsQuery, Source
from podium.app.metrics.report import page_of
from tests.app.metrics.history_kit import DAY, MONDAY, Draft, asked, history_of, table

HOSTILE = '<script>alert("1")</script>'
DRAFTS = [
    *(Draft(f"r{n}", n, score=6 + n / 20, subject="post_03", note="new" if n % 2 else "") for n in range(30)),
    *(
        Draft(f"h{n}", n, agent=HOSTILE, workflow=HOSTILE, subject=f"{HOSTILE}{n}", note=HOSTILE)
        for n in range(6)
    ),
    Draft("u1", 31, agent="codex", usd=None),
]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteHistory]:
    made = history_of(tmp_path_factory.mktemp("history"), DRAFTS)
    yield made
    made.close()


def page(history: SqliteHistory) -> str:
    return page_of(
        Source(history, MetricsQuery(MONDAY, MONDAY + 56 * DAY, "8 weeks", project=history.own.id))
    )


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [
            value or "" for name, value in attrs if name in ("src", "href", "style") or name.startswith("on")
        ]
        if tag not in ("meta", "rect", "path", "circle", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            assert self.open.pop() == tag


def test_the_page_has_no_script_and_no_request(history: SqliteHistory) -> None:
    parsed = Elements()
    parsed.feed(page(history))

    assert parsed.open == []
    assert parsed.links == []
    assert parsed.tags & {"script", "img", "iframe", "object", "link", "form"} == set()
    assert "default-src 'none'" in page(history)


def test_hostile_text_is_shown_as_text(history: SqliteHistory) -> None:
    assert "&lt;script&gt;" in page(history)
    assert "<script" not in page(history)


def test_each_chart_has_its_numbers_as_a_table(history: SqliteHistory) -> None:
    text = page(history)

    for section in re.findall(r"<section>.*?</section>", text, re.DOTALL):
        if "<svg" in section:
            assert "<details><summary>The numbers</summary>" in section
    assert text.count("<svg") == 4
    for heading in (
        "How often the work of each agent stood",
        "Iterations of post_03",
        "Recent runs",
        "Suggestions",
    ):
        assert heading in text


def test_the_numbers_of_the_page_are_those_of_the_views(history: SqliteHistory) -> None:
    text = page(history)

    for view, name in (("costs", "costs"), ("weekly", "weekly"), ("errors", "errors"), ("agents", "agents")):
        one = table(asked(history, view), name)
        for row in one.rows:
            cells = "".join(f"<td>{escaped(column.cell(row[column.key]))}</td>" for column in one.columns)
            assert f"<tr>{cells}</tr>" in text, view


def escaped(text: str) -> str:
    from podium.views.pictures.svg import text as shown

    return shown(text)


def test_the_dearest_agent_is_named_first(history: SqliteHistory) -> None:
    assert "claude cost $3.00 of $" in page(history)


def test_an_empty_history_makes_a_page(tmp_path: Path) -> None:
    empty = history_of(tmp_path, [])

    assert "nothing was counted" in page(empty)
    empty.close()
