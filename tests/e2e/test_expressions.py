"""Expressions through the real command: what a workflow can compute without a script."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import closing, new_project

pytestmark = pytest.mark.slow

LISTS = """\
podium: 1
name: lists
vars: {bugs: [], titles: [], pairs: [], all: []}
steps:
  issues:
    run: [cat, issues.json]
    output: {schema: {issues: [{title: string, kind: string, size: int}]}}
  chosen:
    set:
      bugs: ${{ where(steps.issues.output.issues, "kind", "==", "bug") }}
      titles: ${{ pluck(sort(steps.issues.output.issues, "size"), "title")[-2:] }}
      pairs: ${{ batches(pluck(steps.issues.output.issues, "title"), 2) }}
      all: ${{ concat(append([], "first"), pluck(steps.issues.output.issues, "kind")) }}
  each:
    for_each: {in: vars.bugs, as: bug}
    run: [echo, "${{ replace(bug.title, ' ', '-') }} ${{ bug.size // 2 }}"]
outputs:
  bugs: ${{ pluck(vars.bugs, "title") }}
  titles: ${{ vars.titles }}
  pairs: ${{ vars.pairs }}
  kinds: ${{ count(vars.all, "bug") }}
  printed: ${{ steps.each.output }}
"""
ISSUES = """\
{"issues": [
  {"title": "not saved", "kind": "bug", "size": 5},
  {"title": "dark mode", "kind": "feature", "size": 8},
  {"title": "too slow", "kind": "bug", "size": 2}
]}
"""


def test_lists_are_searched_sorted_and_cut_without_a_script(tmp_path: Path) -> None:
    project = new_project(tmp_path, {"lists.yaml": LISTS, "issues.json": ISSUES})
    with closing(project):
        ended = project.podium("run", "lists.yaml", "--json")

        assert ended.code == 0, ended.err
        outputs = ended.data()["outputs"]
        assert outputs["bugs"] == ["not saved", "too slow"]
        assert outputs["titles"] == ["not saved", "dark mode"]
        assert outputs["pairs"] == [["not saved", "dark mode"], ["too slow"]]
        assert outputs["kinds"] == 2
        assert outputs["printed"] == ["not-saved 2", "too-slow 1"]
