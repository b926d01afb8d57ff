"""`podium report`: one page without script, true to the log, whatever agents wrote (R209, R215)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project
from tests.views.kit import conforms

pytestmark = pytest.mark.slow

HOSTILE = "</pre></details><script>alert(1)</script><img src=x onerror=alert(2)> \u202e\x1b[31m | @everyone"
FLOW = """\
podium: 1
name: reported
inputs: {task: {type: string, default: "Repair <b>it</b>"}}
limits: {usd: 2}
gates: {tests: {run: sh check.sh}}
agents: {writer: {type: scripted, script: cast.yaml}}
steps:
  work:
    agent: writer
    prompt: "Do it: {{ inputs.task }}"
    touches: ["fix.txt"]
    gates: [tests]
    retry: {attempts: 3}
  ask: {human: "Land it?"}
"""
CAST = [
    {
        "match": {"step": "work", "attempt": 1},
        "write": {"fix.txt": "wrong\n"},
        "text": HOSTILE,
        "cost_usd": 0.25,
    },
    {
        "match": {"step": "work", "attempt": 2},
        "write": {"fix.txt": f"right {HOSTILE}\n"},
        "text": "done",
        "cost_usd": 0.5,
    },
]
FILES = {
    "flow.yaml": FLOW,
    "cast.yaml": json.dumps(CAST),
    "check.sh": "grep -q right fix.txt || { cat hostile.txt; exit 1; }\n",
    "hostile.txt": HOSTILE,
    "fix.txt": "start\n",
}
ALLOWED = {"html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "section", "span", "p", "hr",
           "div", "table", "tr", "th", "td", "b", "code", "pre", "details", "summary",
           "svg", "g", "rect", "text", "polyline", "polygon"}  # fmt: skip


class Page(HTMLParser):
    """The elements and attributes of a page, as a browser would see them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with closing(new_project(tmp_path, FILES)) as project:
        assert project.podium("run", "flow.yaml").code == 6
        yield project


def test_a_report_is_one_page_without_script_whatever_agents_wrote(project: Project) -> None:
    done = project.podium("report", "-o", "out.html")
    page = (project.root / "out.html").read_text()
    seen = Page(page)

    assert (done.code, done.out.strip()) == (0, "out.html")
    assert seen.tags <= ALLOWED
    assert not [name for name in seen.attributes if name.startswith("on") or name in ("href", "src", "style")]
    assert "alert(1)" in seen.text
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "content=\"default-src 'none'; style-src 'sha256-" in page


def test_a_report_has_the_figures_of_the_log(project: Project) -> None:
    project.podium("approve", "--feedback", "looks good", "--by", "ada")
    run = json.loads(project.podium("show", "--json").out)
    project.podium("report", "-o", "out.html")
    text = Page((project.root / "out.html").read_text()).text
    head = project.records(run["run"])[-1].hash

    assert "reported: ✓ passed" in text
    assert "$0.75" in text
    assert head in text
    assert "looks good" in text
    assert "work: attempt 1 to 2" in text


def test_parts_can_be_left_out_and_the_page_says_so(project: Project) -> None:
    whole = project.podium("report", "-o", "-").out
    less = project.podium("report", "-o", "-", "--focus", "--without", "diff,definition").out

    assert "Prompts and answers" in whole
    for heading in ("Prompts and answers", "The whole change", "Definition"):
        assert f"<h2>{heading}</h2>" in whole
        assert f"<h2>{heading}</h2>" not in less
    assert "Left out: diff, prompts, definition." in less


def test_markdown_for_a_pull_request_mentions_and_links_nothing(project: Project) -> None:
    done = project.podium("report", "--markdown")

    assert done.code == 0
    assert "reported: waiting" in done.out or "reported: parked" in done.out
    assert "<script" not in done.out
    assert not re.search(r"(?<!\\)@everyone", done.out)


def test_the_result_is_data_with_json(project: Project) -> None:
    written = json.loads(project.podium("report", "--json", "-o", "a.html").out)
    shown = json.loads(project.podium("report", "--json", "--markdown").out)

    conforms(written, "report")
    conforms(shown, "report")
    assert written["bytes"] == (project.root / "a.html").stat().st_size
    assert written["text"] is None
    assert shown["text"].startswith("### ")


def test_a_second_report_replaces_the_first_and_a_bad_place_is_named(project: Project) -> None:
    project.podium("report", "-o", "a.html")
    before = (project.root / "a.html").read_bytes()
    assert project.podium("report", "-o", "a.html").code == 0
    assert (project.root / "a.html").read_bytes() == before

    missing = project.podium("report", "-o", "no/such/folder.html", "--json")
    wrong = project.podium("report", "--without", "nothing")
    assert json.loads(missing.out)["error"]["hint"] == "name another file with -o"
    assert wrong.code == 2
    assert "its parts: diff, prompts, output, definition" in wrong.err
