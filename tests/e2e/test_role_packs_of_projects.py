"""Packs of roles: `podium init` proposes those of the kind of project, `podium roles` installs and lists others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

KINDS = {
    "frontend": {"package.json": '{"dependencies": {"react": "18"}}'},
    "data_pipeline": {"requirements.txt": "pandas==2\n"},
    "backend_api": {"docker-compose.yml": "services: {db: {image: postgres}}\n"},
    "smart_contracts": {"contracts/Token.sol": "contract Token {}\n"},
    "rust": {"Cargo.toml": '[package]\nname = "a"\nversion = "0.1.0"\n', "src/lib.rs": ""},
    "go": {"go.mod": "module a\n"},
    "trading": {"requirements.txt": "ccxt\n"},
    "cli_tool": {"pyproject.toml": '[project]\nname = "a"\nversion = "1"\ndependencies = ["click"]\n'},
    "security": {"requirements.txt": "pyjwt\n"},
    "infrastructure": {"Dockerfile": "FROM scratch\n"},
}


def init(folder: Path, files: dict[str, str], *args: str) -> tuple[dict[str, list[str]], set[str]]:
    """The packs with their roles, by whether they are selected, and the roles that are valid afterwards."""
    with closing(new_project(folder / "place", files)) as project:
        done = project.podium("init", "--yes", "--json", *args)
        assert done.code == 0, done.err
        data = done.data()
        assert project.podium("roles", "check").code == 0
        listed = {role["name"] for role in project.podium("roles", "list", "--json").data()["roles"]}
    return {pack["name"]: pack["roles"] for pack in data["packs"] if pack["selected"]}, listed


@pytest.mark.req("R077")
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_init_writes_the_role_pack_of_the_kind_of_project(tmp_path: Path, kind: str) -> None:
    selected, roles = init(tmp_path, KINDS[kind])
    assert kind in selected
    assert set(selected[kind]) <= roles


@pytest.mark.req("R077")
def test_packs_are_chosen_by_name_or_not_at_all(tmp_path: Path) -> None:
    chosen, roles = init(tmp_path / "chosen", KINDS["frontend"], "--pack", "trading", "--pack", "security")
    assert (set(chosen), "risk_manager" in roles) == ({"trading", "security"}, True)
    none, _ = init(tmp_path / "none", KINDS["frontend"], "--no-packs")
    assert none == {}


REGISTRY = """\
name: risk-manager
version: %s
author: trading-community
description: "Risk validation for trading systems"
extends: reviewer
system_prompt_additions: |
  Reject what weakens a stop-loss.
context:
  always_include: ["**/risk*.py"]
dependencies:
  - name: %s
    version: "%s"
"""


def install(project: Project, text: str, file: str = "risk-manager.yaml") -> tuple[int, str]:
    path = project.folder / file
    path.write_text(text, "utf-8")
    done = project.podium("roles", "install", str(path), "--yes", "--replace")
    return done.code, done.err


@pytest.mark.req("R236")
def test_a_role_of_the_registry_is_installed_and_listed_with_its_version_and_author(tmp_path: Path) -> None:
    with closing(new_project(tmp_path / "place", {"a": "b"})) as project:
        code, said = install(project, REGISTRY % ("1.2.0", "base-reviewer", ">=1.0.0"))
        assert code == 0, said
        assert "risk-manager 1.2.0 by trading-community" in said
        [role] = [
            each
            for each in project.podium("roles", "list", "--json").data()["roles"]
            if each["name"] == "risk_manager"
        ]
        assert (role["pack"], role["version"], role["author"]) == (
            "risk-manager",
            "1.2.0",
            "trading-community",
        )
        assert "risk-manager@1.2.0" in project.podium("roles", "list").out
        assert "Reject what weakens" in project.podium("roles", "show", "risk_manager").out


@pytest.mark.req("R236")
@pytest.mark.parametrize(
    ("range_", "code", "fact"),
    [
        (">=1.0, <2", 0, ""),
        ("^1.1", 0, ""),
        ("~1.2", 0, ""),
        (">=2.0.0", 2, "needs risk-manager >=2.0.0, but 1.2.0 is installed"),
        ("<1.2", 2, "but 1.2.0 is installed"),
        ("soon", 2, '"soon" is not a range of versions'),
    ],
)
def test_a_dependency_must_be_in_its_range_of_versions(
    tmp_path: Path, range_: str, code: int, fact: str
) -> None:
    with closing(new_project(tmp_path / "place", {"a": "b"})) as project:
        assert install(project, REGISTRY % ("1.2.0", "base-reviewer", ">=1.0.0"))[0] == 0
        other = (REGISTRY % ("0.1", "risk-manager", range_)).replace(
            "name: risk-manager\nv", "name: desk\nv", 1
        )
        done, said = install(project, other, "desk.yaml")
        assert (done, fact in said) == (code, True), said


@pytest.mark.req("R236")
def test_a_dependency_that_is_not_there_is_named(tmp_path: Path) -> None:
    with closing(new_project(tmp_path / "place", {"a": "b"})) as project:
        code, said = install(project, REGISTRY % ("1.2.0", "fancy-reviewer", ">=1.0.0"))
        assert (code, "fancy-reviewer" in said) == (2, True), said
