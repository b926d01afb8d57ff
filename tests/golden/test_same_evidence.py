"""Every frontend decides by the same evidence: the page, the screen of `podium top` and the inbox, over all stored projects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from podium.app.decide.sender import Speaker
from podium.app.query.shelf import Shelf
from podium.frontends.cli.main import podium
from podium.views.files.evidence_json import evidence_data
from podium.wiring import open_project
from tests.golden.packed import NAMES, unpack

pytest.importorskip("textual")

from podium.frontends.tui.snapshot import MOST_RUNS, answerable, question_of, read_rows
from podium.frontends.web.server import make_app
from podium.frontends.web.session import Session

PORT = 8123
PROOFS = ("gates", "gates_before", "verdicts", "verdicts_before")


@pytest.mark.req("R196")
@pytest.mark.parametrize("name", NAMES)
def test_the_page_the_screen_and_the_inbox_have_the_same_evidence(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = unpack(name, tmp_path)
    monkeypatch.chdir(root)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    listed = json.loads(CliRunner().invoke(podium, ["inbox", "--json"], catch_exceptions=False).stdout)
    by_question = {(row["run"], row["path"]): row["evidence"] for row in listed if row["evidence"]}
    _compare_pages(root, by_question)
    project = open_project(root)
    try:
        shelf = Shelf(project)
        rows = read_rows(shelf)
        assert {row.run for row in rows} == {head.run for head in shelf.heads()[:MOST_RUNS]}
        assert {row.run for row in rows if row.is_waiting} == {run for run, _ in by_question}
        for row in rows:
            question = question_of(shelf, row.run)
            assert (question is not None) == bool(answerable(shelf.run(row.run).view))
            if question is not None:
                data = json.loads(json.dumps(evidence_data(question.evidence)))
                assert data == by_question[row.run, question.pending.path]
    finally:
        project.close()


def _compare_pages(root: Path, by_question: Mapping[tuple[str, str], dict[str, Any]]) -> None:
    """The data of each page is that of the inbox, and the page shows it."""
    session = Session(PORT)
    pages = make_app((root,), open_project, session, Speaker("ada", "web"))
    with TestClient(pages.app, base_url=f"http://127.0.0.1:{PORT}") as client:
        client.cookies.set(session.cookie, session.value)
        for (run, path), proof in by_question.items():
            address = f"/runs/{run}/decide/{quote(path)}"
            assert client.get(address, headers={"accept": "application/json"}).json() == proof
            text = unescape(client.get(address).text)
            shown = [each["path"] for kind in PROOFS for each in proof[kind]]
            shown += [*proof["consequences"].values(), *(each["issue"][:100] for each in proof["findings"])]
            shown += [each["by"] for each in proof["decisions"]]
            assert [each for each in shown if each not in text] == []


def test_the_stored_projects_have_more_than_twenty_runs_and_open_questions(tmp_path: Path) -> None:
    """Otherwise the comparison above would say little."""
    runs = questions = 0
    for name in NAMES:
        project = open_project(unpack(name, tmp_path / name))
        try:
            shelf = Shelf(project)
            runs += len(shelf.heads())
            questions += sum(row.is_waiting for row in read_rows(shelf))
        finally:
            project.close()
    assert runs > 20
    assert questions >= 5
