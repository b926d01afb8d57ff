"""Loading a workflow returns it or all of its problems, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.adapters.agents.registry import agent_types
from podium.workflow.compile.values import CompileContext
from podium.workflow.compile.workflow import compile_workflow
from podium.workflow.load import Loaded, load
from podium.workflow.schema.fields import Raw, known_keys
from podium.workflow.schema.file import File
from podium.workflow.schema.reader import read
from podium.workflow.schema.step import Step
from tests.workflow.compiling import errors, load_text
from tests.workflow.kit import write


def places(actual: Loaded) -> list[str]:
    return [
        f"{Path(problem.file).name}:{problem.line}:{problem.col} {problem.rule}"
        for problem in actual.problems
    ]


def test_a_valid_file_gives_a_workflow_and_the_files_it_was_read_from(tmp_path: Path) -> None:
    files = {"p.md": "Plan.", "child.yaml": "podium: 1\nname: child\nsteps: {a: {run: x}}\n"}
    actual = load_text(
        tmp_path, "steps: {a: {role: planner, prompt: p.md}, b: {workflow: child.yaml}}", files
    )
    assert actual.errors == ()
    assert actual.workflow is not None
    assert actual.context is not None
    names = {path.name for path in actual.paths}
    assert {"flow.yaml", "p.md", "child.yaml", "planner.yaml"} <= names


def test_the_mistakes_of_all_stages_are_reported_in_order_of_place(tmp_path: Path) -> None:
    text = """\
    podium: 1
    name: 1.10
    steps:
      a: {run: x, on: {failed: nowhere}}
      b: {run: x, role: planner, prompt: p}
      c: {human: "ok?", junit: r.xml}
      d: {run: x, promt: y}
    """
    actual = load_text(tmp_path, text)
    assert actual.workflow is None
    assert places(actual) == [
        "flow.yaml:2:7 2",
        "flow.yaml:4:28 7",
        "flow.yaml:5:15 4",
        "flow.yaml:6:21 5",
        "flow.yaml:7:15 3",
    ]
    assert actual.problems[0].message == '"name" must be text; write "1.10"'


def test_a_mistake_in_a_child_workflow_is_reported_in_the_child(tmp_path: Path) -> None:
    child = "podium: 1\nname: child\nsteps:\n  a: {rum: x}\n"
    actual = load_text(tmp_path, "steps: {a: {workflow: sub/child.yaml}}", {"sub/child.yaml": child})
    assert places(actual) == ["child.yaml:4:7 3"]


def test_a_mistake_in_a_template_is_reported_in_the_template(tmp_path: Path) -> None:
    base = "podium: 1\nname: base\nsteps:\n  a:\n    run: x\n    timeout: soon\n"
    actual = load_text(
        tmp_path, "extends: base\nsteps: {b: {after: a, run: y}}", {".podium/templates/base.yaml": base}
    )
    assert places(actual) == ["base.yaml:6:14 2"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing",
        "5",
        "[1, 2]",
        "a: [",
        "a: &x 1\nb: *x",
        "podium: 1\npodium: 1\nsteps: {}",
        "\x00",
        "podium: 1\nsteps: {a: {b: {c: {}}}}",
        "podium: 1\nsteps: " + "[" * 100,
        "podium: 1\nsteps:\n  ? [a]\n  : b",
        "podium: {}\nsteps: null\nroles: 5\nextends: [x]\nagents: x\ngates: []\ninputs: 1",
        "podium: 1\nextends: nowhere\nsteps: {}",
    ],
)
def test_a_file_that_is_not_a_workflow_is_reported(text: str, tmp_path: Path) -> None:
    write(tmp_path, {})
    (tmp_path / "flow.yaml").write_text(text, "utf-8")
    actual = load(tmp_path / "flow.yaml", project=tmp_path, agent_types=agent_types())
    assert actual.workflow is None
    assert actual.errors


@pytest.mark.parametrize("name", ["missing.yaml", ".", "binary.yaml"])
def test_an_unreadable_path_is_reported(name: str, tmp_path: Path) -> None:
    write(tmp_path, {})
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00\x01\x80")
    actual = load(tmp_path / name, project=tmp_path, agent_types=agent_types())
    assert actual.workflow is None
    assert actual.errors


def test_messages_name_files_as_the_user_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        tmp_path,
        {"flow.yaml": "podium: 1\nsteps: {a: {workflow: sub/c.yaml}}\n", "sub/c.yaml": "podium: 1\n"},
    )
    monkeypatch.chdir(tmp_path)
    [problem] = load("flow.yaml", agent_types=agent_types()).problems
    assert problem.file == str(Path("sub") / "c.yaml")
    monkeypatch.chdir(tmp_path / "sub")
    [problem] = load("../flow.yaml", agent_types=agent_types()).problems
    assert Path(problem.file).name == "c.yaml"


def test_a_child_outside_the_project_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "outside.yaml").write_text("podium: 1\nsteps: {}\n", "utf-8")
    actual = errors(tmp_path / "project", "steps: {a: {workflow: ../outside.yaml}}")
    assert actual
    assert all(rule in {24, 35} for rule, _ in actual)


def test_a_prompt_outside_the_project_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret", "utf-8")
    actual = load_text(tmp_path / "project", "steps: {a: {role: planner, prompt: ../secret.md}}")
    assert actual.workflow is None
    assert actual.context is not None
    assert dict(actual.context.texts) == {}


def test_a_schema_file_that_is_not_a_map_is_ignored(tmp_path: Path) -> None:
    text = "steps: {a: {run: x, output: {schema: s.json}}, b: {run: y, output: {schema: s.json}}}"
    assert errors(tmp_path, text, {"s.json": "[1]"})


def test_inputs_are_checked_only_when_values_are_passed(tmp_path: Path) -> None:
    text = "inputs: {n: int}\nsteps: {a: {run: x}}"
    assert errors(tmp_path, text) == []
    assert errors(tmp_path, text, inputs={"n": 3}) == []
    assert [rule for rule, _ in errors(tmp_path, text, inputs={})] == [34]


def test_the_compiler_reports_problems_that_validation_missed(tmp_path: Path) -> None:
    """Validation finds all of these first; the compiler must still report them instead of failing."""
    text = """
    steps:
      a: {role: planner, prompt: gone.md, gates: [nothing], needs: [z], retry: odd, on: {failed: z}}
      b: {run: "echo 'x", output: shape, needs: [], repeat: {}}
      c: {workflow: gone.yaml, needs: []}
      d: {check: "1 +", needs: [], output: {schema: {a: 5}}}
      e: {run: "${{ 1 + }}", needs: [], output: {schema: Nope}}
      f: {role: planner, prompt: x, needs: [], parallel: "x ${{ y }}", for_each: [1]}
    """
    actual = load_text(tmp_path, text)
    assert actual.context is not None
    site = CompileContext(actual.context)
    compile_workflow(site)
    assert {problem.rule for problem in site.problems} == {2, 7, 16, 17, 20, 23, 35, 36}


SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 9), st.floats(allow_nan=False), st.text(max_size=4),
    st.sampled_from(["x", "5m", "95%", "200k", "${{ x }}", "a.md", "human", "all"]),
)  # fmt: skip
KEYS = st.sampled_from([*known_keys(File), *known_keys(Step), "in", "as", "max", "attempts", "schema", "x"])
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=5)),
    max_leaves=20,
)


@given(data=DOCUMENTS)
def test_no_document_makes_the_reader_raise(data: Any) -> None:
    for model in (File, Step):
        reading = read(model, data)
        assert reading.faults or isinstance(reading.value, Raw)


@given(
    steps=st.dictionaries(st.sampled_from("abc"), st.dictionaries(KEYS, DOCUMENTS, max_size=4), max_size=3)
)
def test_what_remains_of_a_broken_file_is_typed(steps: Any) -> None:
    reading = read(File, {"podium": 1, "steps": steps})
    assert reading.value is not None
    for name, step in reading.value.steps.items():
        assert step.path == ("steps", name)
        assert all(key in steps[name] for key in step.written_keys())


@settings(max_examples=60)
@given(
    data=st.dictionaries(KEYS, DOCUMENTS, max_size=4),
    steps=st.dictionaries(KEYS, st.dictionaries(KEYS, DOCUMENTS)),
)
def test_no_document_makes_loading_raise(data: Any, steps: Any) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "flow.yaml"
        path.write_text(json.dumps({**data, "podium": 1, "steps": steps}), "utf-8")
        actual = load(path, project=Path(folder), agent_types=agent_types())
        assert actual.errors or actual.workflow is not None


def test_the_stored_document_of_a_run_replaces_what_its_file_means_today(tmp_path: Path) -> None:
    texts = {name: f"podium: 1\nname: {name}\nsteps: {{a: {{run: {name}}}}}\n" for name in ("now", "then")}
    write(tmp_path, {f"{name}.yaml": text for name, text in texts.items()})
    before = load(tmp_path / "then.yaml", agent_types=agent_types())
    assert before.context is not None and before.workflow is not None
    actual = load(tmp_path / "now.yaml", agent_types=agent_types(), document=before.context.raw)
    assert actual.workflow is not None
    assert actual.workflow.fingerprint == before.workflow.fingerprint
    assert actual.workflow.name == "then"
