"""The inputs of a workflow as a form, and the values of a filled-in one."""

from __future__ import annotations

from pathlib import Path

from podium.app.author.input_form import input_form, read_form
from podium.app.author.load import open_workflow

FLOW = """\
podium: 1
name: form
inputs:
  size: {choices: [small, large], default: small}
  task: {type: string, help: What to do.}
  count: {type: int, default: 3}
  fast: {type: bool, default: false}
  files: {type: list, default: []}
steps:
  one: {run: [echo, "${{ inputs.task }}"]}
"""


def test_a_form_asks_for_what_is_required_first(tmp_path: Path) -> None:
    (tmp_path / "form.yaml").write_text(FLOW)
    fields = input_form(open_workflow(tmp_path / "form.yaml"))

    assert [(field.name, field.control, field.required, field.default) for field in fields] == [
        ("task", "lines", True, ""),
        ("size", "choice", False, "small"),
        ("count", "number", False, "3"),
        ("fast", "checkbox", False, "false"),
        ("files", "json", False, "[]"),
    ]
    assert fields[0].help == "What to do."
    assert fields[1].choices == ("small", "large")


def test_typed_values_have_their_types_and_empty_ones_keep_their_default(tmp_path: Path) -> None:
    (tmp_path / "form.yaml").write_text(FLOW)
    workflow = open_workflow(tmp_path / "form.yaml")

    typed = {"task": "42\r\nlines", "count": "7", "fast": "on", "files": '["a"]', "size": ""}
    assert read_form(workflow, typed) == {"task": "42\nlines", "count": 7, "fast": True, "files": ["a"]}
