"""In a sandbox the workspace is mounted at the project's path: tools of the project judge the captured tree (issue 5, 8)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from podium.adapters.sandboxes import bubblewrap_probe
from tests.e2e.kit import closing, new_project
from tests.e2e.test_toolchains import (
    BROKEN,
    FILE,
    GOOD,
    NODE,
    NODE_FILES,
    PYTHON,
    WORKFLOW,
    cast,
    gate_messages,
    python_project,
    verdicts,
)

pytestmark = [
    pytest.mark.security,
    pytest.mark.skipif(bubblewrap_probe.probe() is not None, reason="bubblewrap does not hold here"),
]

CASES = pytest.mark.parametrize(
    ("attempts", "code", "kinds"),
    [
        ([GOOD], 0, ["ok"]),
        ([BROKEN, BROKEN + "!"], 1, ["failed", "failed"]),
        ([BROKEN, GOOD], 0, ["failed", "ok"]),
    ],
    ids=["good", "broken", "mended"],
)


@CASES
@pytest.mark.req("R011", "X4", "X9")
def test_an_editable_install_imports_the_captured_tree_and_never_the_users_own(
    attempts: list[str], code: int, kinds: list[str], tmp_path: Path
) -> None:
    """The user's file is good in every case, so a gate that saw it would be green."""
    place = tmp_path / "place"
    texts = [PYTHON[text.rstrip("!")] + "# again\n" * text.count("!") for text in attempts]
    with closing(python_project(place, [], own=str(place / "project/src"))) as project:
        project.commit({"workflows/cast.yaml": cast("src/thing.py", texts)}, "cast")
        own = (project.root / "src/thing.py").read_text()

        done = project.podium("run", FILE, "--json", "--sandbox", "bubblewrap")

        assert done.code == code, done.err + gate_messages(project) + str(verdicts(project))
        assert [kind for kind, _ in verdicts(project)] == kinds
        if code:
            assert f"{project.root}/src/thing.py" in gate_messages(project), "seen at the project's own path"
        assert (project.root / "src/thing.py").read_text() == own


@CASES
@pytest.mark.req("R011", "X4", "X9")
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_node_project_with_a_linked_package_is_judged_as_captured(
    attempts: list[str], code: int, kinds: list[str], tmp_path: Path
) -> None:
    """Its package is a link back into the project, as npm makes them for workspaces of its own."""
    texts = [NODE[text.rstrip("!")] for text in attempts]
    texts = [text + "// again\n" * attempt.count("!") for text, attempt in zip(texts, attempts, strict=True)]
    files = {
        **NODE_FILES,
        "packages/adder/package.json": json.dumps({"name": "adder", "main": "index.js"}),
        "packages/adder/index.js": "module.exports = (a, b) => a + b;\n",
        FILE: WORKFLOW.format(touches="*.js", command='[node, --test, "test/"]'),
        "workflows/cast.yaml": cast("sum.js", texts),
    }
    with closing(new_project(tmp_path, files)) as project:
        (project.root / "node_modules").mkdir()
        (project.root / "node_modules/adder").symlink_to("../packages/adder")
        # Whoever followed the link to the user's own files would get another sum.
        project.put({"packages/adder/index.js": "module.exports = () => 0;\n"})

        done = project.podium("run", FILE, "--json", "--sandbox", "bubblewrap")

        assert done.code == code, done.err + gate_messages(project) + str(verdicts(project))
        assert [kind for kind, _ in verdicts(project)] == kinds
        if code:
            assert "43 !== 42" in gate_messages(project)


@pytest.mark.req("R182")
def test_the_toolchain_of_the_project_cannot_be_changed_from_inside(tmp_path: Path) -> None:
    place = tmp_path / "place"
    command = json.dumps(["sh", "-c", "echo x > .venv/pyvenv.cfg || echo x > .venv/new"])
    with closing(python_project(place, [GOOD], own=str(tmp_path))) as project:
        project.commit({FILE: WORKFLOW.format(touches="src/**", command=command)}, "gate")
        before = (project.root / ".venv/pyvenv.cfg").read_text()

        done = project.podium("run", FILE, "--json")

        assert done.code == 1, done.err
        assert "Read-only file system" in gate_messages(project)
        assert (project.root / ".venv/pyvenv.cfg").read_text() == before
        assert not (project.root / ".venv/new").exists()


@pytest.mark.req("R182")
def test_what_was_lent_is_no_part_of_the_tree_and_the_files_are_the_users_again(tmp_path: Path) -> None:
    files = {
        ".gitignore": ".podium/\n",
        FILE: "podium: 1\nname: w\nsteps:\n"
        "  make: {run: {script: 'mkdir made; echo new > made/file; chmod 600 made/file; ls -a'}, touches: [made/**]}\n"
        "  look: {run: [cat, made/file]}\n",
    }
    with closing(new_project(tmp_path, files)) as project:
        (project.root / "node_modules").mkdir()

        done = project.podium("run", FILE, "--json")

        assert done.code == 0, done.err
        ended = [event for event in project.events(project.run_id()) if event["type"] == "AttemptEnded"]
        assert [event["result"]["sandbox"] for event in ended] == ["bubblewrap", "bubblewrap"]
        assert ended[0]["result"]["files"] == ["made/file"]
        assert "node_modules" in ended[0]["result"]["text"]
        assert ended[1]["result"]["text"].strip() == "new"
        assert project.leftovers() == []


@pytest.mark.req("R182")
def test_whoever_only_judges_cannot_write_into_the_tree(tmp_path: Path) -> None:
    rules = [
        {"match": {"step": "make"}, "write": {"made": "x"}},
        {"match": {"step": "look/hand"}, "write": {"made": "better"}},
    ]
    files = {
        FILE: "podium: 1\nname: w\nagents: {hand: {type: scripted, script: workflows/cast.yaml}}\nsteps:\n"
        "  make: {agent: hand, prompt: Do it., touches: [made]}\n"
        "  look: {review: hand, of: make}\n",
        "workflows/cast.yaml": json.dumps(rules),
    }
    with closing(new_project(tmp_path, files)) as project:
        done = project.podium("run", FILE, "--json", "--no-human")

        assert done.code in (1, 4), done.err

        ended = [event for event in project.events(project.run_id()) if event["type"] == "AttemptEnded"]
        told = [event["result"].get("message", "") for event in ended if event["path"].startswith("look")]
        assert ended[0]["kind"] == "ok"
        assert "Read-only file system" in told[0]
