"""Roles: inheritance, refinement by configuration layers, and the shipped roles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.workflow.merge.merge import Merged
from podium.workflow.prompts.render import parse_prompt, render
from podium.workflow.schema.file import File
from podium.workflow.schema.reader import read
from podium.workflow.source.files import SHIPPED, read_tree
from podium.workflow.source.nodes import plain
from tests.workflow.kit import BASE_ROLES, EXAMPLES, merge_project, messages, write


def with_roles(folder: Path, roles: str, **files: str) -> Merged:
    flow = f"podium: 1\nsteps: {{a: {{run: a}}}}\nroles:\n{roles}"
    named = {name.replace("__", "/") + ".yaml": text for name, text in files.items()}
    return merge_project(write(folder, {"flow.yaml": flow, **named}))


def role(folder: Path, text: str, name: str = "mine", **files: str) -> dict[str, Any]:
    merged = with_roles(folder, text, **files)
    assert messages(merged) == []
    actual: dict[str, Any] = merged.value["roles"][name]
    return actual


@pytest.mark.req("R073", "C25")
def test_scalars_replace_lists_append_maps_merge_and_system_is_appended(tmp_path: Path) -> None:
    text = """
  base:
    {model: small, timeout: 5m, tools: [read], context: {include: [a], budget: 5k}, with: {x: 1}, system: One.}
  mine:
    {extends: base, model: big, tools: [edit, read], context: {include: [b]}, with: {y: 2}, system: Two.}
"""
    assert role(tmp_path, text) == {
        "model": "big",
        "timeout": "5m",
        "tools": ["read", "edit"],
        "context": {"include": ["a", "b"], "budget": "5k"},
        "with": {"x": 1, "y": 2},
        "system": "One.\n\nTwo.\n",
    }


@pytest.mark.req("C25")
def test_replace_drops_inherited_values(tmp_path: Path) -> None:
    text = """
  base: {tools: [read], system: One., gates: [tests], strengths: [x]}
  mine: {extends: base, replace: [tools, system, strengths], tools: [edit], system: Two.}
"""
    assert role(tmp_path, text) == {"tools": ["edit"], "system": "Two.", "gates": ["tests"]}


@pytest.mark.req("C25")
def test_exclude_removes_inherited_context_files(tmp_path: Path) -> None:
    text = """
  base: {context: {include: [a, b], always: [c, d]}}
  mine: {extends: base, context: {exclude: [b, c, e]}}
"""
    assert role(tmp_path, text)["context"] == {
        "include": ["a"],
        "always": ["d"],
        "exclude": ["b", "c", "e"],
    }


def test_a_context_in_short_form_is_its_include_list(tmp_path: Path) -> None:
    text = "  base: {context: [a]}\n  mine: {extends: base, context: {always: [b], exclude: [c]}}\n"

    assert role(tmp_path, text)["context"] == {"include": ["a"], "always": ["b"], "exclude": ["c"]}


def test_a_system_that_is_not_text_is_replaced_not_appended(tmp_path: Path) -> None:
    assert role(tmp_path, "  base: {system: 5}\n  mine: {extends: base, system: Two.}\n")["system"] == "Two."


def test_a_chain_of_parents_is_merged_from_the_root(tmp_path: Path) -> None:
    text = """
  mine: {extends: middle, system: Three.}
  middle: {extends: base, system: Two., model: m}
  base: {system: One., model: b}
"""
    assert role(tmp_path, text) == {"system": "One.\n\nTwo.\n\nThree.\n", "model": "m"}


@pytest.mark.req("R075")
def test_a_role_without_a_parent_refines_the_shipped_role_of_the_same_name(tmp_path: Path) -> None:
    config = "roles: {planner: {strengths: [maps], context: {budget: 9k}}}"
    merged = with_roles(tmp_path, "  planner: {model: big}\n", **{".podium__config": config})
    planner = merged.value["roles"]["planner"]

    assert planner["output"] == {"schema": "Plan"}
    assert planner["strengths"][-1] == "maps"
    assert planner["context"]["budget"] == "9k"
    assert planner["model"] == "big"
    assert merged.origin(("roles", "planner", "model")).file == str(tmp_path / "flow.yaml")
    assert merged.origin(("roles", "planner", "context", "budget")).file.endswith("config.yaml")
    assert merged.origin(("roles", "planner", "system")).file == "podium/roles/planner.yaml"


def test_a_role_that_extends_its_own_name_refines_the_layer_below(tmp_path: Path) -> None:
    assert role(tmp_path, "  planner: {extends: planner, model: m}\n", "planner")["touches"] == []


def test_a_role_with_another_parent_starts_from_that_parent(tmp_path: Path) -> None:
    planner = role(tmp_path, "  planner: {extends: investigator}\n", "planner")

    assert planner["description"].startswith("Finds out why")
    assert "output" not in planner


@pytest.mark.req("R075")
def test_role_files_of_project_and_user_are_found_by_name(tmp_path: Path) -> None:
    flow = "podium: 1\nsteps: {a: {role: mine, prompt: x}, b: {review: theirs, of: a}}\n"
    write(tmp_path, {"flow.yaml": flow, ".podium/roles/mine.yaml": "extends: theirs\nmodel: m\n"})
    home = write(tmp_path / "home", {"roles/theirs.yaml": "extends: reviewer\nagent: codex\n"})

    roles = merge_project(tmp_path, user_dir=home).value["roles"]

    assert list(roles) == ["mine", "theirs"]
    assert (roles["mine"]["agent"], roles["mine"]["model"]) == ("codex", "m")
    assert roles["theirs"]["context"]["strategy"] == "reviewer_diff"


def test_a_cycle_is_reported_once_and_in_one_place(tmp_path: Path) -> None:
    text = "  c: {extends: a}\n  b: {extends: a}\n  a: {extends: b}\n"

    merged = with_roles(tmp_path, text)

    assert messages(merged) == ['flow.yaml:6: role "a" extends itself']
    assert merged.problems[0].rule == 21
    assert merged.problems[0].hint == "a -> b -> a"


def test_a_role_that_extends_itself_is_a_problem(tmp_path: Path) -> None:
    merged = with_roles(tmp_path, "  trader: {extends: trader, model: m}\n")

    assert messages(merged) == ['flow.yaml:4: role "trader" extends itself']
    assert merged.value["roles"]["trader"] == {"model": "m"}


def test_a_missing_parent_is_reported_with_the_nearest_name(tmp_path: Path) -> None:
    merged = with_roles(tmp_path, "  trader: {extends: implementr}\n  other: {extends: trader}\n")

    assert messages(merged) == ['flow.yaml:4: role "trader" extends "implementr", which does not exist']
    assert merged.problems[0].hint == 'did you mean "implementer"?'


def test_replace_with_an_unknown_key_is_a_problem(tmp_path: Path) -> None:
    merged = with_roles(tmp_path, "  mine: {extends: planner, replace: [contxt, {}]}\n")

    assert messages(merged) == ['flow.yaml:4: replace: "contxt" is not a key of a role']
    assert merged.problems[0].hint == 'did you mean "context"?'


def test_keys_of_the_wrong_type_are_left_for_the_schema(tmp_path: Path) -> None:
    merged = with_roles(tmp_path, "  mine: {extends: [planner], replace: model}\n  other: nothing\n")

    assert merged.value["roles"] == {"mine": {"extends": ["planner"], "replace": "model"}, "other": "nothing"}


def test_a_persona_file_is_read_when_it_must_be_appended(tmp_path: Path) -> None:
    text = "  base: {system: One.}\n  mine: {extends: base, system: prompts/two.md}\n"
    write(tmp_path, {"prompts/two.md": "Two.\n"})

    assert role(tmp_path, text)["system"] == "One.\n\nTwo.\n"
    assert role(tmp_path, "  mine: {system: prompts/two.md}\n")["system"] == "prompts/two.md"


def test_a_persona_file_that_is_not_appended_is_checked_with_all_prompts(tmp_path: Path) -> None:
    assert role(tmp_path, "  mine: {system: prompts/missing.md}\n") == {"system": "prompts/missing.md"}


@pytest.mark.parametrize("path", ["prompts/three.md", "../outside.md"])
def test_a_persona_file_that_cannot_be_appended_is_a_problem(tmp_path: Path, path: str) -> None:
    (tmp_path / "outside.md").write_text("Secret.", "utf-8")
    text = f"  base: {{system: One.}}\n  mine: {{extends: base, system: {path}}}\n"

    merged = with_roles(tmp_path / "project", text)

    assert messages(merged) == [f"flow.yaml:5: {path} does not exist"]
    assert "Secret" not in merged.value["roles"]["mine"]["system"]


@pytest.mark.req("R078")
def test_the_example_project_refines_and_extends_the_shipped_roles(tmp_path: Path) -> None:
    roles = "trader risk_manager quant_dev ui_designer planner investigator reviewer_gemini".split()
    steps = "\n".join(f"  s_{name}: {{role: {name}, prompt: x}}" for name in roles)
    config = (EXAMPLES / "config.yaml").read_text("utf-8")
    merged = merge_project(
        write(tmp_path, {"flow.yaml": f"podium: 1\nsteps:\n{steps}\n", ".podium/config.yaml": config})
    )
    roles = merged.value["roles"]

    assert messages(merged) == []
    assert roles["trader"]["system"].endswith("a stop-loss stays where it is.\n")
    assert roles["trader"]["system"].startswith("You carry out one task")
    assert roles["trader"]["with"]["tdd"] is False
    assert roles["risk_manager"]["touches"] == []
    assert roles["ui_designer"]["agent"] == "claude"
    assert roles["ui_designer"]["with"]["coverage"] == 0
    assert roles["planner"]["context"]["include"] == ["README.md", "docs/TASKS/**"]
    assert roles["reviewer_gemini"]["context"]["budget"] == "15k"
    assert roles["reviewer_gemini"]["agent"] == "gemini"


@pytest.mark.req("R072", "R079")
def test_every_base_role_is_a_shipped_file(tmp_path: Path) -> None:
    names = sorted(path.stem for path in (SHIPPED / "roles").glob("*.yaml"))
    steps = "".join(f"  s_{name}: {{role: {name}, prompt: x}}\n" for name in names)
    merged = merge_project(write(tmp_path, {"flow.yaml": f"podium: 1\nsteps:\n{steps}"}))
    roles = merged.value["roles"]

    assert names == BASE_ROLES
    assert messages(merged) == []
    assert read(File, merged.value).faults == ()
    assert list(roles) == names
    for actual in roles.values():
        assert {"description", "system", "touches", "strengths"} <= actual.keys()
        assert len(actual["system"]) > 300


def test_shipped_reviewers_may_not_change_files(tmp_path: Path) -> None:
    flow = "podium: 1\nsteps: {a: {run: a}, b: {review: [claude, reviewer_gemini, reviewer_codex], of: a}}\n"
    roles = merge_project(write(tmp_path, {"flow.yaml": flow})).value["roles"]

    assert list(roles) == ["reviewer", "reviewer_codex", "reviewer_gemini"]
    assert [actual["touches"] for actual in roles.values()] == [[], [], []]
    assert [actual.get("agent") for actual in roles.values()] == [None, "codex", "gemini"]


@pytest.mark.req("R036")
@pytest.mark.parametrize(
    ("name", "parameters", "text_part"),
    [
        ("implementer", {"tdd": True}, "Work test first"),
        ("implementer", {"coverage": 90}, "at least 90 percent"),
        ("implementer_fast", {"skip_edge_cases": True}, "first version"),
        ("implementer", {"add_docstrings": True}, "docstring"),
        ("security_auditor", {"test_types": ["injection", "auth_bypass"]}, "injection, auth_bypass"),
        ("test_engineer", {"test_types": ["contract"]}, "wanted: contract."),
        ("quality_gate", {"strict": False}, "Be lenient"),
    ],
)
def test_the_parameters_of_shipped_roles_appear_in_their_text(
    tmp_path: Path, name: str, parameters: dict[str, Any], text_part: str
) -> None:
    flow = f"podium: 1\nsteps: {{a: {{role: {name}, prompt: x}}}}\n"
    actual = merge_project(write(tmp_path, {"flow.yaml": flow})).value["roles"][name]
    prompt = parse_prompt(actual["system"], folder=None, name="system")

    assert parameters.keys() <= actual["with"].keys()
    assert text_part not in render(prompt, {"with": actual["with"]})
    text = render(prompt, {"with": actual["with"] | parameters})
    assert text_part in text
    assert "\n\n\n" not in text
    assert all(line.endswith((".", ":", ";")) for line in text.splitlines() if line)


def test_the_shipped_defaults_are_a_valid_configuration() -> None:
    tree = read_tree(SHIPPED / "defaults.yaml", None)

    assert tree.problems == ()
    assert tree.node is not None
    assert read(File, {"podium": 1, "steps": {}, **plain(tree.node)}).faults == ()
