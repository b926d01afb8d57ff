"""Finding the sources of a workflow: project, templates, configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.files.project_root import is_project_root, nested_config_dirs, project_of
from podium.workflow.merge.merge import merge
from podium.workflow.merge.sources import gather
from podium.workflow.source.files import SHIPPED, display_name, leads_outside, read_tree
from podium.workflow.source.nodes import plain
from tests.workflow.kit import gather_sources, merge_project, messages, write

FLOW = "podium: 1\nsteps: {a: {run: a}}\n"


@pytest.mark.parametrize("mark", [".podium", ".git"])
def test_the_project_is_the_marked_folder_around_the_file(tmp_path: Path, mark: str) -> None:
    (tmp_path / mark).mkdir()
    (tmp_path / "deep" / "er").mkdir(parents=True)

    assert project_of(tmp_path / "deep" / "er") == tmp_path
    assert project_of(tmp_path / "deep" / "er" / ".." / "er") == tmp_path


def test_a_repository_is_one_project_even_if_parts_have_their_own_settings(tmp_path: Path) -> None:
    for name in (".git", "part/.podium", "other/.podium", "part/flows"):
        (tmp_path / name).mkdir(parents=True)

    assert project_of(tmp_path / "part" / "flows") == tmp_path
    assert project_of(tmp_path / "part" / ".podium") == tmp_path
    assert (
        is_project_root(tmp_path),
        is_project_root(tmp_path / "part"),
        is_project_root(tmp_path / "part" / "flows"),
    ) == (
        True,
        True,
        False,
    )
    assert list(nested_config_dirs(tmp_path, tmp_path / "part" / "flows")) == [tmp_path / "part" / ".podium"]
    assert list(nested_config_dirs(tmp_path, tmp_path / "part" / ".podium" / "built")) == [
        tmp_path / "part" / ".podium"
    ]
    assert list(nested_config_dirs(tmp_path / "other", tmp_path / "part")) == []


@pytest.mark.req("R235")
def test_settings_of_a_part_of_the_project_override_those_of_the_project(
    tmp_path: Path,
) -> None:
    files = {
        ".git/HEAD": "",
        ".podium/config.yaml": "max_parallel: 2\nlimits: {calls: 7}\n",
        "part/.podium/config.yaml": "max_parallel: 3\nroles: {house: {extends: implementer}}\n",
        "part/.podium/roles/own.yaml": "extends: implementer\n",
        "part/flow.yaml": "podium: 1\nsteps: {a: {role: house, prompt: p}, b: {role: own, prompt: p}}\n",
        "flow.yaml": FLOW,
    }
    root = write(tmp_path, files)

    inner, outer = (merge(gather(root / name)) for name in ("part/flow.yaml", "flow.yaml"))

    assert not inner.problems
    assert (plain(inner.root)["max_parallel"], plain(inner.root)["limits"]["calls"]) == (3, 7)
    assert plain(outer.root)["max_parallel"] == 2
    assert "house" in plain(inner.root)["roles"]
    assert "house" not in plain(outer.root).get("roles", {})


def test_without_a_mark_the_folder_of_the_file_is_the_project(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text(FLOW, "utf-8")

    assert gather(tmp_path / "flow.yaml").project == tmp_path


def test_messages_name_files_as_the_user_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"flows/flow.yaml": "podium: 1\nextends: base\n", "flows/base.yaml": FLOW}
    monkeypatch.chdir(write(tmp_path, files) / "flows")

    near = merge(gather(Path("flow.yaml")))
    far = merge(gather(tmp_path / "flows" / "flow.yaml"))

    assert near.origin(("steps", "a")).file == "base.yaml"
    assert far.origin(("steps", "a")).file == str(tmp_path / "flows" / "base.yaml")
    assert near.origin(("max_parallel",)).file == "podium/defaults.yaml"


def test_a_file_outside_the_current_folder_is_named_by_its_full_path(tmp_path: Path) -> None:
    assert display_name(tmp_path / "a" / "x.yaml", tmp_path / "b") == str(tmp_path / "a" / "x.yaml")
    assert display_name(SHIPPED / "roles" / "planner.yaml", None) == "podium/roles/planner.yaml"


@pytest.mark.req("R033", "R075")
def test_a_template_is_looked_up_from_the_file_outwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    shipped = tmp_path / "shipped"
    project = write(tmp_path / "project", {"flows/flow.yaml": "podium: 1\nextends: house\n"})
    places = [
        project / "flows" / "house.yaml",
        project / ".podium" / "templates" / "house.yaml",
        home / "templates" / "house.yaml",
        shipped / "templates" / "house.yaml",
    ]
    write(shipped, {"defaults.yaml": "{}"})
    monkeypatch.setattr("podium.workflow.merge.sources.SHIPPED", shipped)
    for place in reversed(places):
        write(place.parent, {place.name: FLOW})
        merged = merge_project(project, "flows/flow.yaml", user_dir=home)
        assert messages(merged) == []
        assert merged.origin(("steps", "a")).file == str(place)


def test_a_template_may_be_named_by_its_path(tmp_path: Path) -> None:
    files = {"flows/flow.yaml": "podium: 1\nextends: kit/base.yaml\n", "kit/base.yaml": FLOW}

    merged = merge_project(write(tmp_path, files), "flows/flow.yaml")

    assert messages(merged) == []
    assert list(merged.value["steps"]) == ["a"]


def test_a_template_may_extend_the_template_of_the_same_name_further_out(tmp_path: Path) -> None:
    files = {"house.yaml": "podium: 1\nextends: house\nsteps: {b: {after: a, run: b}}\n"}
    write(tmp_path, files)
    write(tmp_path, {".podium/templates/house.yaml": FLOW})

    merged = merge_project(tmp_path, "house.yaml")

    assert messages(merged) == []
    assert list(merged.value["steps"]) == ["a", "b"]


@pytest.mark.parametrize(
    ("files", "message", "hint"),
    [
        ({"flow": "hause"}, 'flow.yaml:2: template "hause" does not exist', 'did you mean "house"?'),
        ({"flow": "xyz"}, 'flow.yaml:2: template "xyz" does not exist', "searched in "),
        ({"flow": "kit/no.yaml"}, "flow.yaml:2: kit/no.yaml does not exist", "paths are relative to "),
        ({"flow": "flow"}, "flow.yaml:2: flow.yaml extends itself", "remove extends"),
        ({"flow": "a", "a": "b", "b": "a"}, "b.yaml:2: a.yaml extends itself", "a.yaml -> b.yaml -> a.yaml"),
    ],
)
def test_a_missing_or_cyclic_template_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], message: str, hint: str
) -> None:
    texts = {
        f"{name}.yaml": f"podium: 1\nextends: {parent}\nsteps: {{x: {{run: x}}}}\n"
        for name, parent in files.items()
    }
    monkeypatch.chdir(write(tmp_path, {"house.yaml": FLOW, **texts}))

    merged = merge(gather(Path("flow.yaml")))

    assert messages(merged) == [message]
    assert merged.problems[0].rule == 33
    assert hint in merged.problems[0].hint
    assert merged.value == {}


@pytest.mark.parametrize("path", ["../base.yaml", "/base.yaml", "kit/../../base.yaml", "link/base.yaml"])
def test_a_template_outside_the_project_is_a_path_violation(tmp_path: Path, path: str) -> None:
    write(tmp_path, {"base.yaml": FLOW})
    project = write(tmp_path / "project", {"flow.yaml": f"podium: 1\nextends: {path}\n"})
    (project / "link").symlink_to(tmp_path)

    (problem,) = merge_project(project).problems

    assert (problem.rule, problem.message) == (24, f'"{path}" leaves the project')


def test_a_template_found_by_name_may_not_be_a_link_out_of_the_project(tmp_path: Path) -> None:
    write(tmp_path, {"secret.yaml": FLOW})
    project = write(tmp_path / "project", {"flow.yaml": "podium: 1\nextends: base\n"})
    (project / "base.yaml").symlink_to(tmp_path / "secret.yaml")

    (problem,) = merge_project(project).problems

    assert (problem.rule, problem.message) == (24, '"base" leaves the project')


@pytest.mark.parametrize("linked", ["project", "templates"])
def test_links_around_a_template_do_not_hide_that_it_is_outside(tmp_path: Path, linked: str) -> None:
    outside = write(tmp_path / "outside", {"base.yaml": FLOW})
    project = write(tmp_path / "project", {"flow.yaml": "podium: 1\nextends: base\n"})
    if linked == "templates":
        (project / ".podium" / "templates").symlink_to(outside)
        sources = gather(project / "flow.yaml", project_root=project)
    else:
        (project / "base.yaml").symlink_to(outside / "base.yaml")
        (tmp_path / "door").symlink_to(project)
        sources = gather(project / "flow.yaml", project_root=tmp_path / "door")

    assert [problem.message for problem in sources.problems] == ['"base" leaves the project']


@pytest.mark.req("R016")
def test_a_workflow_outside_its_project_is_a_path_violation(tmp_path: Path) -> None:
    write(tmp_path, {"flow.yaml": FLOW})

    (problem,) = merge_project(tmp_path / "project", "../flow.yaml").problems

    assert problem.rule == 24
    assert problem.message.endswith('flow.yaml" leaves the project')


def test_a_path_leaves_the_project_when_absolute_relative_or_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "in").symlink_to("/")

    assert not leads_outside("a/b", tmp_path)
    assert not leads_outside("a/../b", tmp_path)
    assert leads_outside("../b", tmp_path)
    assert leads_outside("/b", tmp_path)
    assert leads_outside("in/b", tmp_path)


def test_a_missing_workflow_is_a_problem(tmp_path: Path) -> None:
    sources = gather_sources(write(tmp_path, {}), "nothing.yaml")

    (problem,) = sources.problems
    assert problem.file == str(tmp_path / "nothing.yaml")
    assert problem.message == "file not found"
    assert sources.chain == ()


@pytest.mark.parametrize("text", ["- a\n", "just text\n", "5\n"])
def test_a_workflow_must_be_a_map(tmp_path: Path, text: str) -> None:
    assert messages(merge_project(write(tmp_path, {"flow.yaml": text}))) == [
        "flow.yaml:1: the file must be a map"
    ]


def test_an_empty_file_is_an_empty_map(tmp_path: Path) -> None:
    merged = merge_project(write(tmp_path, {"flow.yaml": FLOW, ".podium/config.yaml": "# nothing yet\n"}))

    assert messages(merged) == []


def test_a_broken_configuration_is_reported_with_all_other_problems(tmp_path: Path) -> None:
    files = {"flow.yaml": FLOW, ".podium/config.yaml": "limits: {usd: 1}\nlimits: {usd: 2}\n"}
    merged = merge_project(write(tmp_path, files))

    assert messages(merged) == ['config.yaml:2: duplicate key "limits"']
    assert list(merged.value["steps"]) == ["a"]


def test_all_files_that_were_read_are_listed(tmp_path: Path) -> None:
    files = {
        "flow.yaml": "podium: 1\nextends: base\nsteps: {b: {after: a, role: planner, prompt: x}}\n",
        "base.yaml": FLOW,
        ".podium/config.yaml": "max_parallel: 2\n",
    }
    sources = gather_sources(write(tmp_path, files))

    assert sources.paths == (
        tmp_path / "flow.yaml",
        tmp_path / "base.yaml",
        SHIPPED / "defaults.yaml",
        tmp_path / ".podium" / "config.yaml",
        SHIPPED / "roles" / "planner.yaml",
    )


def test_the_home_folder_is_read_only_if_the_caller_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"flow.yaml": FLOW, "home/.config/podium/config.yaml": "max_parallel: 9\n"})
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / ".config"))

    assert merge_project(tmp_path).value["max_parallel"] == 4
    named = merge_project(tmp_path, user_dir=tmp_path / "home" / ".config" / "podium")
    assert named.value["max_parallel"] == 9


def test_a_tree_has_the_place_of_every_key_and_value(tmp_path: Path) -> None:
    write(tmp_path, {"x.yaml": "a:\n  - b\n  - {c: d}\n"})
    node = read_tree(tmp_path / "x.yaml", tmp_path).node

    assert node is not None
    assert isinstance(node.value, dict)
    inner = node.value["a"].value
    assert isinstance(inner, tuple)
    assert (node.value["a"].key, node.value["a"].place) == (("x.yaml", 1, 1), ("x.yaml", 2, 3))
    assert inner[0].place == ("x.yaml", 2, 5)
    assert isinstance(inner[1].value, dict)
    assert (inner[1].value["c"].key, inner[1].value["c"].place) == (("x.yaml", 3, 6), ("x.yaml", 3, 9))
