"""Persona files are listed and checked for their required sections."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import closing, new_project

pytestmark = pytest.mark.slow

FILES = {
    "prompts/writer_persona.md": "# Writer\n\n## Voice\nPlain.\n\n## Output ##\nProse.\n",
    "prompts/auditor_persona.md": "# Auditor\n\n## Output\nFindings.\n",
    "prompts/empty_persona.md": "\n",
    ".podium/roles/author.yaml": "description: Writes\nsystem: prompts/writer_persona.md\n",
}


@pytest.mark.req("R080")
def test_required_sections_of_persona_files_are_checked(tmp_path: Path) -> None:
    with closing(new_project(tmp_path / "place", FILES)) as project:
        done = project.podium("roles", "check", "prompts", "--section", "Voice", "--section", "output")
        assert done.code == 2
        assert 'prompts/auditor_persona.md:1:1: the persona has no section "Voice"' in done.out
        assert "prompts/empty_persona.md:1:1: the persona is empty" in done.out
        assert "writer_persona" not in done.out
        assert "writer_persona.md: good" in done.err
        good = project.podium("roles", "check", "prompts/writer_persona.md", "--section", "Voice")
        assert good.code == 0, good.out


@pytest.mark.req("R080")
def test_the_list_of_roles_names_their_persona_files(tmp_path: Path) -> None:
    with closing(new_project(tmp_path / "place", FILES)) as project:
        roles = project.podium("roles", "list", "--json").data()["roles"]
        [author] = [role for role in roles if role["name"] == "author"]
        assert author["files"][-1] == "prompts/writer_persona.md"


@pytest.mark.parametrize("args", [("nowhere",), (".podium/roles",), ("--section", "x")])
def test_personas_that_are_not_there_are_reported(tmp_path: Path, args: tuple[str, ...]) -> None:
    with closing(new_project(tmp_path / "place", FILES)) as project:
        assert project.podium("roles", "check", *args).code == 2
