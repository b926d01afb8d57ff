"""Every frontend decides by the same evidence: the screen of `podium top` and the inbox, over all stored projects."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from podium.app.query.shelf import Shelf
from podium.frontends.cli.main import podium
from podium.views.files.evidence_json import evidence_data
from podium.wiring import open_project
from tests.golden.packed import NAMES, unpack

pytest.importorskip("textual")

from podium.frontends.tui.snapshot import MOST_RUNS, answerable, question_of, read_rows


@pytest.mark.req("R196")
@pytest.mark.parametrize("name", NAMES)
def test_the_screen_and_the_inbox_have_the_same_evidence(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = unpack(name, tmp_path)
    monkeypatch.chdir(root)
    listed = json.loads(CliRunner().invoke(podium, ["inbox", "--json"], catch_exceptions=False).stdout)
    by_question = {(row["run"], row["path"]): row["evidence"] for row in listed if row["evidence"]}
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
