"""`podium deps`: dependencies between components from imports, and the needs that a file lacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from podium.frontends.cli.main import podium
from tests.git.kit import git, put
from tests.repositories import make_repository

FEATURE = """\
id: P1T5
phases:
  base:
    components:
      store:
        description: Keeps users.   # the table is in SQL
        touches: ["src/store/**"]
      api: {description: Serves them., touches: ["src/api/**"]}
      jobs:
        description: Sends mail.
        touches: ["src/jobs/**"]
        needs:
          - store   # reads users
  web:
    components:
      form: {description: The form., touches: ["src/web/**"], needs: []}
"""
FILES = {
    "feature.yaml": FEATURE,
    "src/store/__init__.py": "",
    "src/store/users.py": "import sqlite3\nimport redis\n\n\ndef all_users() -> list[str]:\n    return []\n",
    "src/api/__init__.py": "",
    "src/api/serve.py": "from typing import TYPE_CHECKING\nfrom src.store.users import all_users\nif TYPE_CHECKING:\n    from src.web.form import Form\n",
    "src/jobs/__init__.py": "",
    "src/jobs/mail.py": "from src.store.users import all_users\n\n\ndef send() -> None:\n    from src.api.serve import all_users\n",
    "src/web/__init__.py": "",
    "src/web/form.py": "from src.api.serve import all_users\n\n\nclass Form: ...\n",
}


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shop"
    make_repository(folder)
    put(folder, FILES)
    commit(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def commit(folder: Path) -> None:
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "shop")


def call(*args: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(podium, args, input=typed)


def document(*args: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(call("deps", *args, "--json").stdout)
    return result


@pytest.mark.req("R171")
def test_missing_needs_are_suggested_with_the_import_that_asks_for_them() -> None:
    text = call("analyze-deps", "feature.yaml").stdout

    assert "missing: base.api needs base.store  (src/api/serve.py:2 imports src.store.users)" in text
    assert "missing: base.jobs needs base.api  (src/jobs/mail.py:5 imports src.api.serve)" in text
    # The barrier of the phase makes the form wait for all of them, and an import for types asks for nothing.
    assert text.count("missing:") == 2
    assert "base.api -> web.form  1 import, for types only" in text
    assert "not in this project: redis  (src/store/users.py:2)" in text and "sqlite3" not in text


def test_needs_are_added_and_nothing_else_in_the_file_changes(root: Path) -> None:
    result = call("deps", "feature.yaml", "--write", "--yes")

    assert result.exit_code == 0, result.output
    assert (root / "feature.yaml").read_text() == FEATURE.replace(
        'touches: ["src/api/**"]}', 'touches: ["src/api/**"], needs: [store]}'
    ).replace("- store   # reads users", "- store   # reads users\n          - api")
    assert document("feature.yaml")["missing"] == []


def test_nothing_is_written_without_a_person_or_a_yes(root: Path) -> None:
    result = call("deps", "feature.yaml", "--write")

    assert "--write asks at the terminal" in str(result.exception)
    assert (root / "feature.yaml").read_text() == FEATURE


def test_circles_are_made_of_imports_at_load_time_and_name_the_cheapest_cut(root: Path) -> None:
    put(
        root,
        {"src/store/serve.py": "from src.api import serve\n", "src/api/two.py": "import src.store.users\n"},
    )
    commit(root)

    found = document("--by", "folder:2")

    assert [circle["members"] for circle in found["circles"]] == [["src/api", "src/store"]]
    (cut,) = found["circles"][0]["cuts"]
    assert (cut["from"], cut["to"], cut["imports"][0]["line"]) == ("src/store", "src/api", 1)


def test_a_need_that_would_close_a_circle_is_not_written(root: Path) -> None:
    put(root, {"src/store/late.py": "from src.web import form\n"})
    commit(root)

    found = document("feature.yaml")

    assert [(each["component"], each["need"]) for each in found["circular"]] == [("base.store", "web.form")]
    assert call("deps", "feature.yaml", "--write", "--yes").exit_code == 0
    assert "web.form" not in (root / "feature.yaml").read_text()


def test_a_file_of_two_components_is_named(root: Path) -> None:
    text = FEATURE.replace('touches: ["src/api/**"]', 'touches: ["src/api/**", "src/store/users.py"]')
    (root / "feature.yaml").write_text(text)

    assert document("feature.yaml")["shared"] == [
        {"path": "src/store/users.py", "components": ["base.store", "base.api"]}
    ]


def test_the_steps_of_a_graph_are_components(root: Path) -> None:
    flow = """\
podium: 1
name: flow
agents: {w: {type: scripted}}
steps:
  store: {agent: w, prompt: Build it, touches: ["src/store/**"], needs: []}
  api:
    agent: w
    touches: ["src/api/**"]
    needs: []
    prompt: >
      Build
      it

  web: {agent: w, prompt: Build it, touches: ["src/web/**"], needs: [store]}
"""
    (root / "flow.yaml").write_text(flow)

    assert call("deps", "flow.yaml", "--write", "--yes").exit_code == 0
    written = (root / "flow.yaml").read_text()
    assert "    needs: [store]\n    prompt: >" in written
    assert "needs: [store, api]" in written
    assert call("validate", "flow.yaml").exit_code == 0


def test_steps_that_run_in_order_lack_no_needs(root: Path) -> None:
    flow = """\
podium: 1
name: flow
agents: {w: {type: scripted}}
steps:
  store: {agent: w, prompt: Build it, touches: ["src/store/**"]}
  api: {agent: w, prompt: Build it, touches: ["src/api/**"]}
"""
    (root / "flow.yaml").write_text(flow)

    assert document("flow.yaml")["missing"] == []
    assert "run in the order of the file" in str(call("deps", "flow.yaml", "--write", "--yes").exception)


def test_the_graph_is_drawn_in_three_forms() -> None:
    mermaid = call("deps", "feature.yaml", "--mermaid").stdout

    assert mermaid.startswith("flowchart TD\n") and 'c0["base.store<br/>2 files"]' in mermaid
    assert 'c1 -->|"1 import"| c0' in mermaid
    assert '"base.api" -> "base.store" [label="1 import"]' in call("deps", "feature.yaml", "--dot").stdout
    svg = call("deps", "feature.yaml", "--svg").stdout
    assert svg.startswith("<svg ") and svg.count("<polyline") == 3 and "<script" not in svg


def test_wrong_calls_are_refused_with_a_reason(root: Path) -> None:
    assert "is not folder:N" in call("deps", "--by", "file").output
    assert "--write needs FILE" in call("deps", "--write").output
    (root / "plain.yaml").write_text("podium: 1\nname: plain\nsteps:\n  a: {run: [echo, a]}\n")
    assert "no step says what it touches" in str(call("deps", "plain.yaml").exception)


def test_it_works_outside_of_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "plain"
    put(
        folder, {"a/one.py": "from b import two\n", "b/two.py": "", "b/__init__.py": "", "broken.py": "def ("}
    )
    monkeypatch.chdir(folder)

    assert [(edge["from"], edge["to"]) for edge in document()["edges"]] == [("a", "b")]
