"""Every page, filled from stored runs: what it says, what it lets a person do, and what it refuses."""

from __future__ import annotations

import html
import json
import re

import pytest

from podium.app.decide.set_aside import set_aside_until
from podium.core.hash_chain import RunId
from podium.core.types import Address, Millis
from podium.files.project_paths import ProjectPaths
from podium.frontends.web.server import STATIC
from podium.wiring import open_store
from tests.frontends.web.conftest import BASE, Web
from tests.frontends.web.test_guard import PAGES

SOURCE = STATIC.parent


def _form(text: str, name: str) -> str:
    match = re.search(rf'name="{name}" value="([^"]*)"', text)
    assert match is not None, name
    return html.unescape(match[1])


def _letters(web: Web, run: str = "asks") -> list[dict[str, object]]:
    store = open_store(ProjectPaths(web.root))
    try:
        return [{"name": each.name, **each.body} for each in store.commands(RunId(run))]
    finally:
        store.close()


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process is started for a run that is only stored."""
    monkeypatch.setattr("podium.app.decide.judge.wake", lambda *_, **__: None)


@pytest.mark.req("R190")
@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_there(inside: Web, path: str) -> None:
    answer = inside.client.get(path)
    assert answer.status_code == 200, answer.text[:400]


@pytest.mark.req("R191")
def test_the_inbox_says_what_waits_why_and_for_whom(inside: Web) -> None:
    text = inside.client.get("/").text
    assert "1 question waits for you" in text
    assert "Land this?" in text
    assert "greet people" in text
    assert "1 of 1 gate passed on this tree" in text
    assert "2 of 2 reviewers approved it" in text
    assert "<title>(1) Inbox" in text


def test_a_question_that_is_set_aside_moves_down_and_is_no_answer(inside: Web) -> None:
    answer = inside.client.post(
        "/runs/asks/set-aside",
        data={"path": "approve", "hours": "4"},
        headers={"origin": BASE},
        follow_redirects=False,
    )
    assert answer.status_code == 303
    text = inside.client.get("/").text
    assert "Nothing waits for you" in text
    assert "Set aside by you" in text
    assert set_aside_until(inside.root, "asks", Address("approve"), now=Millis(0)) is not None
    assert _letters(inside) == []


@pytest.mark.req("R193")
def test_the_decision_shows_its_evidence_and_where_each_button_leads(inside: Web) -> None:
    text = inside.client.get("/runs/asks/decide/approve").text
    for words in (
        "Land this?",
        "Proof on this tree",
        "implement#2/tests",
        "review/reviewer_gemini",
        "back to implement",
        "the run ends",
    ):
        assert words in text
    assert _form(text, "tree")
    # The first attempt is shown with the gate that was against it.
    assert "1 failed: greet() returned None" in text


@pytest.mark.usefixtures("quiet")
def test_an_approval_is_stored_for_the_tree_that_was_seen_with_its_channel(inside: Web) -> None:
    text = inside.client.get("/runs/asks/decide/approve").text
    fields = {"tree": _form(text, "tree"), "since": _form(text, "since"), "action": "approve"}
    answer = inside.client.post(
        "/runs/asks/decide/approve", data=fields, headers={"origin": BASE}, follow_redirects=False
    )

    assert answer.status_code == 303
    (letter,) = _letters(inside)
    assert (letter["say"], letter["action"], letter["tree"], letter["by"]) == (
        "approve",
        "approve",
        fields["tree"],
        "ada",
    )
    assert str(letter["name"]).startswith("web-")
    assert answer.headers["location"] == f"/runs/asks?sent={letter['name']}&as=approve"
    assert "taking the run up" in inside.client.get(answer.headers["location"]).text


@pytest.mark.usefixtures("quiet")
def test_comments_on_lines_become_words_with_file_and_line(inside: Web) -> None:
    text = inside.client.get("/runs/asks/decide/approve").text
    comments = json.dumps([{"file": "src/greet.py", "line": 12, "text": "Greet by name."}, {"line": "x"}, 3])
    fields = {
        "tree": _form(text, "tree"),
        "since": _form(text, "since"),
        "action": "reject",
        "words": "Nearly.",
        "comments": comments,
    }
    inside.client.post(
        "/runs/asks/decide/approve", data=fields, headers={"origin": BASE}, follow_redirects=False
    )

    (letter,) = _letters(inside)
    assert letter["text"] == "Nearly.\n\nsrc/greet.py:12: Greet by name."


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tree": "0" * 40}, "the run moved on after you opened this page"),
        ({"since": "1"}, "the run moved on after you opened this page"),
        ({"action": "dance"}, "Nothing was stored"),
        ({"action": "reject", "words": " "}, "say in words why"),
        ({"comments": "{"}, "the comments cannot be read"),
    ],
)
def test_a_stale_or_impossible_decision_is_refused_and_not_stored(
    inside: Web, changes: dict[str, str], words: str
) -> None:
    text = inside.client.get("/runs/asks/decide/approve").text
    fields = {"tree": _form(text, "tree"), "since": _form(text, "since"), "action": "approve", **changes}
    answer = inside.client.post(
        "/runs/asks/decide/approve", data=fields, headers={"origin": BASE}, follow_redirects=False
    )

    assert answer.status_code == 409
    assert words in html.unescape(answer.text)
    assert _letters(inside) == []


def test_a_question_that_is_closed_says_so(inside: Web) -> None:
    answer = inside.client.post(
        "/runs/done/decide/approve", data={"action": "approve"}, headers={"origin": BASE}
    )
    assert answer.status_code == 409
    assert "no longer open" in answer.text


@pytest.mark.usefixtures("quiet")
def test_a_run_is_cancelled_by_a_button_and_an_ended_one_refuses(inside: Web) -> None:
    answer = inside.client.post(
        "/runs/asks/cancel", data={}, headers={"origin": BASE}, follow_redirects=False
    )
    assert answer.status_code == 303
    assert [letter["say"] for letter in _letters(inside)] == ["cancel"]
    ended = inside.client.post("/runs/done/cancel", data={}, headers={"origin": BASE}, follow_redirects=False)
    assert (ended.status_code, "has ended" in ended.text) == (409, True)
    assert inside.client.post("/runs/asks/explode", data={}, headers={"origin": BASE}).status_code == 409


def test_runs_are_filtered_by_what_is_in_the_address(inside: Web) -> None:
    assert "/runs/done" in inside.client.get("/runs").text
    waiting = inside.client.get("/runs?status=parked").text
    assert ("/runs/asks" in waiting, "/runs/done" in waiting) == (True, False)
    assert "No run fits" in inside.client.get("/runs?q=nothing").text


def test_logs_are_read_from_the_end_searched_and_downloaded(inside: Web) -> None:
    place = ProjectPaths(inside.root).run_dir("asks") / "agent_logs" / "implement" / "1"
    place.mkdir(parents=True)
    (place / "stdout.log").write_text(
        "".join(f"line {number}\n" for number in range(1, 2001)) + "<script>x</script>\n"
    )
    number = re.search(
        r'logs/(\d+)\?step=[^"]*" aria-label="stdout.log of implement attempt 1"',
        inside.client.get("/runs/asks/logs").text,
    )
    assert number is not None
    path = f"/runs/asks/logs/{number[1]}"

    text = inside.client.get(path).text
    assert ("line 2000" in text, "line 1000\n" in text, "Earlier lines" in text) == (True, False, True)
    assert "&lt;script&gt;" in text
    found = inside.client.get(f"{path}?q=LINE 19").text
    assert "111 lines with" in found
    raw = inside.client.get(f"{path}/raw")
    assert raw.headers["content-type"] == "text/plain; charset=utf-8"
    assert raw.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in raw.headers["content-security-policy"]
    assert raw.text.startswith("line 1\n")


def test_two_runs_are_compared_step_by_step(inside: Web) -> None:
    text = inside.client.get("/compare?a=asks&b=done").text
    assert "They parted first at <code>approve</code>" in text
    assert "With which one?" in inside.client.get("/compare?a=asks").text


def test_a_form_starts_with_what_the_workflow_takes_and_refuses_with_the_reason(inside: Web) -> None:
    form = inside.client.get("/workflows/0/run").text
    assert 'name="in.task"' in form
    assert "agent calls" in form
    refused = inside.client.post(
        "/workflows/0/run", data={"file": "ship.yaml", "in.task": ""}, headers={"origin": BASE}
    )
    assert refused.status_code == 409
    assert "Nothing was started" in refused.text


def test_the_colours_can_be_chosen_and_survive(inside: Web) -> None:
    inside.client.post("/settings/theme", data={"theme": "dark"}, headers={"origin": BASE})
    assert 'data-theme="dark"' in inside.client.get("/").text
    inside.client.post("/settings/theme", data={"theme": ""}, headers={"origin": BASE})
    assert "data-theme" not in inside.client.get("/").text


def test_channels_are_named_and_tried_and_their_addresses_are_not_shown(inside: Web) -> None:
    said = inside.root / "said"
    (inside.root / ".podium" / "config.yaml").write_text(
        f"notify:\n  desk: {{command: [sh, -c, 'cat > {said}'], on: [asked]}}\n"
        "  hook: {webhook: 'http://127.0.0.1:9/stone', secret: HOOK, on: [all]}\n"
    )
    text = inside.client.get("/settings").text
    assert "desk" in text
    assert "stone" not in text
    tried = inside.client.post(
        "/settings/channel", data={"project": "0", "channel": "desk"}, headers={"origin": BASE}
    )
    assert "A test was sent to desk." in tried.text
    assert said.exists()
    unknown = inside.client.post(
        "/settings/channel", data={"project": "0", "channel": "no"}, headers={"origin": BASE}
    )
    assert "The test was not sent" in unknown.text


@pytest.mark.req("R209")
def test_words_of_agents_are_never_markup_and_nothing_in_them_is_hidden(inside: Web) -> None:
    place = ProjectPaths(inside.root).run_dir("asks") / "agent_logs" / "implement" / "2"
    place.mkdir(parents=True)
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)>\u202emoc.live\u200b\x1b[31m\x00javascript:alert(1)"
    for name in ("stdout.log", "prompt.md", "answer.md"):
        (place / name).write_text(evil)
    for path in (*PAGES, "/runs/asks/steps/implement"):
        if "raw" in path or "report" in path or path.endswith("/events"):
            continue
        text = inside.client.get(path).text
        assert "<script>alert" not in text
        assert "<img" not in text
        assert "\u202e" not in text
        assert "\u200b" not in text
    assert "\\u202e" in inside.client.get("/runs/asks/steps/implement").text


def test_the_code_of_the_pages_makes_no_markup_from_text() -> None:
    """Markup is written in templates and by the pictures alone; nothing comes from another host."""
    for file in (
        *SOURCE.rglob("*.html"),
        *SOURCE.rglob("*.js"),
        *SOURCE.rglob("*.css"),
        *SOURCE.rglob("*.py"),
    ):
        text = file.read_text("utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text), file
        assert not re.search(r"\|\s*safe\b", text), file
        assert not re.search(r"""(src|href)=["'](https?:)?//""", text), file
        assert not re.search(r"\son\w+=|style=|javascript:", text) or file.suffix == ".py", file
        assert "Markup(" not in text or file.name == "render.py", file
    assert len((STATIC / "app.js").read_text("utf-8").splitlines()) < 400


def test_the_pages_import_the_shared_layer_and_no_engine() -> None:
    for file in SOURCE.rglob("*.py"):
        names = re.findall(r"^\s*from podium\.(\w+)", file.read_text("utf-8"), re.MULTILINE)
        assert set(names) <= {"app", "views", "core", "errors", "ports", "files", "git", "frontends"}, file
