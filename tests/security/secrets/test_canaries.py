"""A declared secret in fifteen shapes through 22 workflows: not a byte of it in any file of ours, or in a list of processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project
from tests.e2e.leak import encodings
from tests.e2e.test_secrets import LEAK as SCRIPT
from tests.e2e.test_secrets import watched
from tests.security.secrets.workflows import HEAD, WORKFLOWS

SECRET = 'c4nary/of+"the"&<mine>=7Q'
NEEDLES = {
    # Of base64 within a longer text only the middle is what the secret alone decides.
    name: text.strip(b'"')[4:-4] if name.startswith("base64") else text.strip(b'"')
    for name, text in encodings(SECRET).items()
}


def cast() -> str:
    finding = {"severity": "major", "issue": f"it has {SECRET}", "path": "code.txt"}
    return json.dumps(
        [
            {
                "match": {"step": "b/actor"},
                "verdict": {"decision": "reject", "findings": [finding], "summary": SECRET},
            },
            {"match": {"step": "a"}, "write": {"code.txt": "x\n"}, "text": f"I know {SECRET}"},
            {"match": {"step": "b"}, "text": f"I know {SECRET}"},
        ]
    )


def shapes_in(data: bytes) -> list[str]:
    return [name for name, needle in NEEDLES.items() if needle in data]


def ours(project: Project) -> dict[str, list[str]]:
    """Every file that Podium has written, with the shapes that are in it; its trees are the project's own content."""
    places = [project.root / ".podium", project.cache, project.home]
    files = {
        path for place in places for path in place.rglob("*") if path.is_file() and not path.is_symlink()
    }
    found = {str(path.relative_to(project.folder)): shapes_in(path.read_bytes()) for path in files}
    return {name: shapes for name, shapes in found.items() if shapes}


@pytest.mark.security
@pytest.mark.req("R184")
@pytest.mark.parametrize("name", WORKFLOWS)
def test_no_byte_of_a_secret_stays(tmp_path: Path, name: str) -> None:
    files = {
        "flow.yaml": HEAD + WORKFLOWS[name],
        "leak.py": SCRIPT.read_text("utf-8"),
        "known.txt": f"value {SECRET} here\n",
    }
    with closing(new_project(tmp_path, files, TOKEN=SECRET)) as project:
        # Beside the tree, as a user's own file: a clone of it would hold the secret by right.
        (project.root / "cast.yaml").write_text(cast())
        with watched() as seen:
            done = project.podium("run", "flow.yaml", "--json")

        assert done.code in (0, 1, 6), done.err
        assert ours(project) == {}
        assert shapes_in((done.out + done.err).encode()) == []
        assert [line for line in seen if shapes_in(line)] == []


def test_there_are_enough_of_them() -> None:
    assert len(WORKFLOWS) >= 20
    assert len(NEEDLES) >= 15
