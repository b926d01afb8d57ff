"""Which roles there are, what each comes to, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.app.author.roles import check_roles, list_roles, show_role
from podium.errors import ConfigurationError
from tests.workflow.kit import BASE_ROLES, write


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = write(tmp_path / "project", {})
    monkeypatch.chdir(made)
    return made


def user(tmp_path: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = tmp_path / "home" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path / "home"


@pytest.mark.req("R075")
def test_the_nearest_home_that_says_something_owns_a_role(project: Path, tmp_path: Path) -> None:
    home = user(
        tmp_path, {"roles/mine.yaml": "system: Mine.\n", "config.yaml": "roles: {planner: {model: m}}\n"}
    )
    write(project, {".podium/roles/mine.yaml": "extends: reviewer\nagent: codex\ndescription: Ours\n"})

    found = {role.name: role for role in list_roles(project, user_dir=home)}

    assert sorted(found) == sorted([*BASE_ROLES, "mine"])
    assert found["writer"].origin == "shipped"
    assert found["planner"].origin == "user"
    assert found["planner"].files == ("podium/roles/planner.yaml", str(home / "config.yaml"))
    mine = found["mine"]
    assert (mine.origin, mine.agent, mine.extends, mine.description) == (
        "project",
        "codex",
        "reviewer",
        "Ours",
    )
    assert mine.files == ("podium/roles/reviewer.yaml", ".podium/roles/mine.yaml")


def test_without_a_folder_of_the_user_there_are_two_homes(project: Path) -> None:
    write(project, {".podium/config.yaml": "roles: {mine: {system: x}}\n"})

    assert {role.name: role.origin for role in list_roles(project)}["mine"] == "project"


@pytest.mark.req("R073", "R080")
def test_every_value_of_a_role_tells_the_places_it_was_made_of(project: Path) -> None:
    write(
        project, {".podium/roles/mine.yaml": "extends: planner\nsystem: More.\ncontext: {include: [docs/]}\n"}
    )

    shown = show_role("mine", project)

    assert shown.value["system"].endswith("\n\nMore.\n")
    assert shown.origins["system"] == ["podium/roles/planner.yaml:2", ".podium/roles/mine.yaml:2"]
    assert shown.origins["context.include.0"] == ["podium/roles/planner.yaml:11"]
    assert shown.origins["context.include.1"] == [".podium/roles/mine.yaml:3"]
    assert shown.origins["touches"] == ["podium/roles/planner.yaml:9"]


def test_a_role_that_does_not_exist_is_told_with_the_one_that_was_meant(project: Path) -> None:
    with pytest.raises(ConfigurationError, match='role "reviwer" not found') as caught:
        show_role("reviwer", project)

    assert caught.value.hint == 'did you mean "reviewer"?'


def test_the_shipped_roles_are_good(project: Path) -> None:
    assert check_roles(project).problems == ()


@pytest.mark.req("R072", "R080")
def test_all_mistakes_of_all_roles_are_told_at_once(project: Path) -> None:
    write(
        project,
        {
            ".podium/roles/a.yaml": "extends: b\n",
            ".podium/roles/b.yaml": "extends: a\n",
            ".podium/roles/lost.yaml": "extends: nobody\ndescription: x\nsystem: y\n",
            ".podium/roles/odd.yaml": "descripton: x\nsystem: '{{ with.level }}'\nagent: nemo\n",
            ".podium/roles/bare.yaml": "touches: []\n",
        },
    )

    checked = check_roles(project)
    told = [f"{Path(problem.file).name}:{problem.line}: {problem.message}" for problem in checked.problems]

    assert 'a.yaml:1: role "a" extends itself' in told
    assert 'lost.yaml:1: role "lost" extends "nobody", which does not exist' in told
    assert 'odd.yaml:1: role has an unknown key "descripton"' in " ".join(told).replace('role "odd"', "role")
    assert any(line.startswith("odd.yaml:3") and "nemo" in line for line in told)
    assert 'bare.yaml:1: role "bare" has no system' in told
    assert checked.exit_code == 2
    assert [problem.hint for problem in checked.problems if "extends itself" in problem.message] == [
        "a -> b -> a"
    ]


def test_a_role_of_a_circle_cannot_be_shown(project: Path) -> None:
    write(project, {".podium/roles/a.yaml": "extends: b\n", ".podium/roles/b.yaml": "extends: a\n"})

    with pytest.raises(ConfigurationError, match="extends itself"):
        show_role("a", project)
