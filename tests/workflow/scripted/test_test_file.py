"""Reading the test file of a workflow: every mistake is reported with its line before a test runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.errors import ConfigurationError
from podium.workflow.editor_schema import test_schema as schema_of_tests
from podium.workflow.merge.sources import NOWHERE, gather_roles
from podium.workflow.scripted.test_file import line_of_test, read_tests
from podium.workflow.source.nodes import is_scalar, node_from_value

GOOD = """\
podium: 1
workflow: flow.yaml
tests:
  lands:
    cast: []
    expect:
      path: [plan, {fix: passed}]
      steps: {fix: {outcome: passed, text: {matches: ["^ok"]}}}
      prompts: [{step: fix, matches: [Do]}]
"""


def write_test_file(folder: Path, text: str) -> Path:
    path = folder / "flow.test.yaml"
    path.write_text(text, "utf-8")
    return path


def test_a_valid_file_is_read_with_its_path_and_lines(tmp_path: Path) -> None:
    path = write_test_file(tmp_path, GOOD)

    test = read_tests(path).tests["lands"]

    assert test.expect.path_ == (("plan", None), ("fix", "passed"))
    assert line_of_test(path, "lands") == 4


@pytest.mark.parametrize(
    ("text", "message_part"),
    [
        ("podium: 1\nworkflow: flow.yaml\ntests: {}\n", "this file has no tests"),
        (GOOD.replace("cast: []", "cast: []\n    replay: tapes"), "a cast and recordings"),
        (GOOD.replace("outcome: passed", "outcome: pased"), 'cannot end with "pased"'),
        (GOOD.replace('"^ok"', '"(ok"'), "is not a valid pattern"),
        (GOOD.replace("{fix: passed}", "{fix: pased}"), "a step, or a step with its outcome"),
        (GOOD.replace("{fix: passed}", "3"), "a step, or a step with its outcome"),
    ],
)
def test_each_mistake_is_reported(tmp_path: Path, text: str, message_part: str) -> None:
    with pytest.raises(ConfigurationError, match=r"flow\.test\.yaml:") as caught:
        read_tests(write_test_file(tmp_path, text))

    assert message_part in caught.value.message


def test_there_is_a_json_schema_for_editors() -> None:
    assert "tests" in schema_of_tests()["properties"]


def test_all_roles_of_a_project_can_be_gathered_without_a_workflow(tmp_path: Path) -> None:
    role = tmp_path / ".podium" / "roles" / "cook.yaml"
    role.parent.mkdir(parents=True)
    role.write_text("extends: writer\n", "utf-8")

    assert "cook" in gather_roles(tmp_path).role_names


def test_a_scalar_is_neither_list_nor_map() -> None:
    assert is_scalar(node_from_value("x", NOWHERE))
    assert not is_scalar(node_from_value(["x"], NOWHERE))
