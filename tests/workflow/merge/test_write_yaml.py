"""Writing the merged document: the text is a workflow file with the same content."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.core.expressions.values import MAX_INT, MIN_INT
from podium.workflow.merge.merge import Merged
from podium.workflow.merge.write_yaml import standalone, write_merged
from podium.workflow.source.nodes import SourceLocation, node_from_value
from podium.workflow.source.yaml import load
from tests.workflow.kit import EXAMPLES, merge_project, messages, with_templates, write

HERE = SourceLocation("x.yaml", 7, 1)


def printed(value: dict[str, Any], *, origin: bool = False) -> str:
    return write_merged(Merged(node_from_value(value, HERE)), origin=origin)


def loaded(text: str) -> Any:
    return load(text, name="resolved.yaml").value


EVERY_KIND: dict[str, Any] = {
    "name": "x",
    "on": {"failed": "next"},
    "texts": ["make test", "a: b", "", "${{ x }}", "true", "no", "1.10", "-", "# no", "ümlaut", '"\\'],
    "numbers": [1, 2.5, -3, 1e20],
    "words": [True, False, None],
    "spans": ["1h30m", "200k", "95%"],
    "nothing": [{}, []],
    "maps": [{"a": 1, "b": [2]}, {"c": {"d": {}}}],
    "prompt": "One.\n\nTwo.\n",
    "no end": "One.\nTwo.",
}

SPELLED = """\
name: x
on:
  failed: next
texts:
  - make test
  - "a: b"
  - ""
  - "${{ x }}"
  - "true"
  - "no"
  - "1.10"
  - "-"
  - "# no"
  - "ümlaut"
  - "\\"\\\\"
numbers:
  - 1
  - 2.5
  - -3
  - 1e+20
words:
  - true
  - false
  - null
spans:
  - 1h30m
  - 200k
  - 95%
nothing:
  - {}
  - []
maps:
  - a: 1
    b:
      - 2
  - c:
      d: {}
prompt: |
  One.

  Two.
"no end": |-
  One.
  Two.
"""


@pytest.mark.req("C27")
def test_every_kind_of_value_has_one_written_form() -> None:
    assert printed(EVERY_KIND) == SPELLED
    assert loaded(SPELLED) == EVERY_KIND


def test_an_empty_document_is_an_empty_map() -> None:
    assert printed({}) == "{}\n"


def test_with_origin_every_key_is_followed_by_its_place() -> None:
    value = {"a": 1, "b": {"c": [2]}, "d": "x\ny"}
    expected = """\
a: 1  # x.yaml:7
b:  # x.yaml:7
  c:  # x.yaml:7
    - 2  # x.yaml:7
d: |-  # x.yaml:7
  x
  y
"""
    assert printed(value, origin=True) == expected
    assert loaded(expected) == value


def test_a_joined_text_names_all_its_places(tmp_path: Path) -> None:
    flow = "podium: 1\nsteps: {a: {run: a}}\nroles: {planner: {system: More.}}\n"
    text = write_merged(merge_project(write(tmp_path, {"flow.yaml": flow})), origin=True)

    (line,) = [line for line in text.splitlines() if line.startswith("    system:")]
    assert line == f"    system: |  # podium/roles/planner.yaml:2, {tmp_path / 'flow.yaml'}:3"


texts = st.text() | st.text(alphabet="ab \n\t#:-'\"|>{}[]%&*!,?~.0159eE+_$\\\r\x85\u2028\ufeff\U0001f600")
scalars = (
    st.none()
    | st.booleans()
    | st.integers(MIN_INT, MAX_INT)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
documents = st.dictionaries(
    texts.filter(lambda key: len(key) < 100),
    st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
    ),
    min_size=1,
)


@given(documents, st.booleans())
def test_the_written_document_loads_to_the_same_value(value: dict[str, Any], origin: bool) -> None:
    again = loaded(printed(value, origin=origin))

    assert again == value
    assert repr(again) == repr(value), "true is not 1"


@pytest.mark.parametrize("name", ["base", "mvp", "enterprise", "security_critical", "open_source"])
def test_a_resolved_template_is_a_workflow_that_resolves_to_itself(tmp_path: Path, name: str) -> None:
    first = merge_project(with_templates(tmp_path), f".podium/templates/{name}.yaml")
    text = write_merged(first)
    write(tmp_path, {"flow.yaml": text})
    second = merge_project(tmp_path)

    assert messages(second) == []
    without_roles = {key: value for key, value in second.value.items() if key != "roles"}
    assert without_roles == {key: value for key, value in first.value.items() if key != "roles"}


def test_the_examples_load_again_after_writing(tmp_path: Path) -> None:
    for path in sorted((EXAMPLES / "workflows").glob("*.yaml")):
        merged = merge_project(with_templates(tmp_path / path.stem, {"flow.yaml": path.read_text("utf-8")}))
        assert loaded(write_merged(merged)) == merged.value
        assert write_merged(merged) == write_merged(merged)


def test_a_resolved_file_keeps_its_roles_next_to_roles_of_the_same_names(tmp_path: Path) -> None:
    """A list or text that is appended by inheritance would otherwise be appended twice."""
    base = "podium: 1\nroles: {lead: {agent: claude, system: You lead., touches: [plan.md]}}\n"
    child = "podium: 1\nextends: base\nname: f\nroles: {lead: {system: Be brief., touches: [a.md]}}\nsteps: {s: {role: lead, prompt: P}}\n"
    first = merge_project(write(tmp_path / "first", {"base.yaml": base, "flow.yaml": child}))

    write(
        tmp_path / "second",
        {
            "flow.yaml": write_merged(standalone(first)),
            ".podium/config.yaml": base.removeprefix("podium: 1\n"),
        },
    )
    second = merge_project(tmp_path / "second")

    assert messages(second) == []
    for key in ("system", "touches"):
        assert second.value["roles"]["lead"][key] == first.value["roles"]["lead"][key]


def test_a_file_without_roles_is_already_standalone(tmp_path: Path) -> None:
    merged = merge_project(write(tmp_path, {"flow.yaml": "podium: 1\nname: f\nsteps: {s: {run: x}}\n"}))
    bare = replace(merged, root=node_from_value({"name": "f"}, SourceLocation("f", 1, 1)))

    assert standalone(bare) is bare
