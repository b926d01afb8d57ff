"""The output contract: what is taken as a value, what is refused, and how that is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import jsonschema
import pytest
from hypothesis import given

from podium.attempt import artifacts
from podium.attempt.host import Host
from podium.core.model import Output
from podium.errors import PathViolation
from podium.redaction.mask import Mask
from podium.workflow.contracts.builtin import BUILTIN
from podium.workflow.contracts.contract import OutputFault, Value, value_of
from podium.workflow.contracts.examples import example
from podium.workflow.contracts.json_schema import KEYWORDS, UnusableSchema, faults_of
from podium.workflow.contracts.schema_check import SHAPES, schema_fault
from tests.attempt.agent_attempts import ask
from tests.attempt.runs import bench
from tests.git.kit import Project

NOTHING = (False, None)
TITLED = Output(
    kind="schema", schema={"type": "object", "properties": {"t": {"type": "string"}}, "required": ["t"]}
)


@pytest.mark.parametrize(
    ("output", "text", "value"),
    [
        (Output(), "as it is\n", "as it is\n"),
        (Output(kind="lines"), "one\r\ntwo\n", ["one", "two"]),
        (Output(kind="lines"), "", []),
        (Output(kind="json"), " [1, null] ", [1, None]),
        (Output(kind="json"), "null", None),
        (Output(kind="json"), '```json\n{"a": 1}\n```', {"a": 1}),
        (Output(kind="json"), "```\n1\n```\n", 1),
        (TITLED, '{"t": "x"}', {"t": "x"}),
        (Output(kind="choice", choices=("a", "b")), " b\n", "b"),
    ],
)
def test_a_text_that_keeps_the_contract_is_a_value(output: Output, text: str, value: Any) -> None:
    assert value_of(output, text, NOTHING) == Value(value)


AUDIT: dict[str, Any] = {
    "overall": 6.5,
    "scores": {"clarity": 7, "facts": 6},
    "issues": [{"severity": "major", "issue": "No source.", "fix": "Name one.", "line": 12}],
    "decision": "retry",
    "retry_guidance": "Add the sources.",
}


@pytest.mark.req("R099")
def test_an_audit_has_scores_issues_a_decision_and_guidance() -> None:
    audit = Output(kind="schema", schema=BUILTIN["Audit"])
    assert value_of(audit, json.dumps(AUDIT), NOTHING) == Value(AUDIT)
    issue = AUDIT["issues"][0]
    for change in (
        {"overall": "good"},
        {"scores": {"clarity": "high"}},
        {"issues": [{**issue, "severity": "awful"}]},
        {"issues": [{**issue, "line": "twelve"}]},
        {"issues": [{**issue, "fix": 1}]},
        {"decision": "perhaps"},
        {"retry_guidance": 3},
    ):
        assert isinstance(value_of(audit, json.dumps({**AUDIT, **change}), NOTHING), OutputFault), change
    for key in ("overall", "scores", "issues", "decision"):
        left = {name: value for name, value in AUDIT.items() if name != key}
        assert isinstance(value_of(audit, json.dumps(left), NOTHING), OutputFault), key


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("```json\n```", "is empty"),
        ('Here you are: {"t": "x"}', "expecting value at line 1 column 1"),
        ('{"t": "x"} Enjoy!', "there is more text after it, from line 1 column 12"),
        ('{"t": "x"}\n{"t": "y"}', "there is more text after it, from line 2 column 1"),
        ('Sure!\n```json\n{"t": "x"}\n```', "expecting value"),
        ('{"t": "x", "t": "y"}', 'field "t" occurs twice'),
        ('{"t": NaN}', "NaN is not a JSON number"),
        ('{"t": 1e999}', "infinite"),
        ("[" * 100_000, "nested too deep"),
        ("[" * 60 + "]" * 60, "nested more than 50 levels deep"),
        ('{"t": "half', "unterminated string"),
        ('{"t": 1}', "t: is number, not string"),
        ("[]", "it is array, not object"),
        ("{}", '"t" is missing'),
    ],
)
def test_prose_halves_and_wrong_shapes_are_refused_with_the_place(text: str, said: str) -> None:
    """R111: never guessed from prose."""
    found = value_of(TITLED, text, NOTHING)

    assert isinstance(found, OutputFault) and found.malformed
    assert said in found.message


def test_a_structured_value_is_taken_before_any_text() -> None:
    assert value_of(TITLED, "prose", (True, {"t": "x"})) == Value({"t": "x"})
    assert isinstance(value_of(TITLED, '{"t": "x"}', (True, {"t": 1})), OutputFault)
    assert isinstance(value_of(Output(kind="json"), "1", (True, float("nan"))), OutputFault)


def test_half_a_surrogate_pair_is_not_a_usable_answer() -> None:
    found = value_of(Output(kind="json"), '"\\ud800"', NOTHING)

    assert isinstance(found, OutputFault) and "surrogate" in found.message


def test_a_choice_and_a_list_have_their_bounds() -> None:
    assert isinstance(value_of(Output(kind="choice", choices=("a", "b")), "c", NOTHING), OutputFault)
    long = value_of(Output(kind="lines"), "x\n" * 10_001, NOTHING)
    assert isinstance(long, OutputFault) and not long.malformed


def test_what_a_schema_promises_and_nobody_checks_is_said_and_not_ignored() -> None:
    unusable: list[dict[str, Any]] = [
        {"if": {}},
        {"properties": {"a": {"contains": {}}}},
        {"type": "decimal"},
        {"$ref": "#/$defs/x"},
    ]
    for schema in unusable:
        with pytest.raises(UnusableSchema):
            faults_of({"a": []}, schema)
    found = value_of(Output(kind="schema", schema={"if": {}}, schema_name="s.json"), "1", NOTHING)
    assert isinstance(found, OutputFault) and not found.malformed
    assert (
        found.message == 's.json is not a usable JSON Schema: the schema uses "if", which Podium cannot check'
    )


@pytest.mark.parametrize(
    ("value", "schema", "is_valid"),
    [
        (9223372036854775807, {"multipleOf": 2}, False),
        (19.99, {"multipleOf": 0.01}, True),
        (0.3, {"multipleOf": 0.1}, True),
        (0.35, {"multipleOf": 0.1}, False),
        (1e300, {"multipleOf": 3}, False),
        ([1], {"minItems": 2.0}, False),
        ([1, 2], {"minItems": 2.0}, True),
        ("x", {"$ref": "#/$defs/a%25b", "$defs": {"a%b": {"type": "integer"}}}, False),
        (1, {"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "integer"}}}, True),
    ],
)
def test_numbers_and_references_are_read_as_json_schema_says(value: Any, schema: Any, is_valid: bool) -> None:
    assert schema_fault(schema) is None
    assert (faults_of(value, schema) == ()) is is_valid


def test_what_may_stand_in_a_schema_is_what_can_be_checked() -> None:
    assert SHAPES.keys() - {"$defs", "definitions"} == KEYWORDS.keys()


def test_a_schema_that_leads_into_itself_ends() -> None:
    tree = {
        "$ref": "#/$defs/n",
        "$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}, "v": {"type": "integer"}}}},
    }
    assert faults_of({"next": {"next": {"v": 1}}}, tree) == ()
    assert str(faults_of({"next": {"next": {"v": "1"}}}, tree)[0]) == "next.next.v: is string, not integer"
    with pytest.raises(UnusableSchema):
        faults_of(1, {"$ref": "#"})


def test_the_built_in_schemas_accept_their_examples() -> None:
    for schema in BUILTIN.values():
        assert schema_fault(schema) is None
        assert faults_of(example(schema, "text"), schema) == ()


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.5, 1.0, 2.5]),
    st.sampled_from(["", "a", "ab", "b1"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3)
    ),
    max_leaves=6,
)
WORDS = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.sampled_from(["a", "b", "c"])
    small = st.integers(0, 3)
    keys: dict[str, st.SearchStrategy[Any]] = {
        "type": st.one_of(WORDS, st.lists(WORDS, min_size=1, max_size=2, unique=True)),
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "const": VALUES,
        "required": st.lists(names, max_size=2, unique=True),
        "properties": st.dictionaries(names, inner, max_size=2),
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b|c"]), inner, max_size=1),
        "additionalProperties": inner,
        "items": inner,
        "prefixItems": st.lists(inner, min_size=1, max_size=2),
        "minItems": small, "maxItems": small, "minLength": small, "maxLength": small,
        "minProperties": small, "maxProperties": small, "uniqueItems": st.booleans(),
        "minimum": small, "maximum": small, "exclusiveMinimum": small, "exclusiveMaximum": small,
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "pattern": st.sampled_from(["^a", "[0-9]$", "b"]),
        "anyOf": st.lists(inner, min_size=1, max_size=2),
        "oneOf": st.lists(inner, min_size=1, max_size=2),
        "allOf": st.lists(inner, min_size=1, max_size=2),
        "not": inner,
    }  # fmt: skip
    return st.lists(st.sampled_from(sorted(keys)), max_size=3, unique=True).flatmap(
        lambda chosen: st.fixed_dictionaries({key: keys[key] for key in chosen})
    )


@given(value=VALUES, schema=st.recursive(st.booleans(), schemas, max_leaves=4))
def test_the_validator_agrees_with_jsonschema(value: Any, schema: Any) -> None:
    expected = jsonschema.Draft202012Validator(schema).is_valid(value)

    assert (not faults_of(value, schema)) == expected


def host_of(project: Project, folder: Path, **more: Any) -> Host:
    return bench(project, folder, 'steps: {it: {run: ["true"]}}', **more).host


def test_an_artifact_is_kept_by_its_content_and_published_when_its_step_has_passed(
    project: Project, tmp_path: Path
) -> None:
    """R154"""
    host = host_of(project, tmp_path, mask=Mask({"T": "hidden-token"}))

    kept = artifacts.keep(host, "out/plan.json", {"title": "a hidden-token"})

    blob = host.state_dir / "blobs" / kept["hash"]
    assert blob.read_text() == '{\n  "title": "a ***"\n}\n'
    assert not host.artifacts_dir.exists()
    assert artifacts.keep(host, "out/plan.json", {"title": "a hidden-token"}) == kept
    places = artifacts.publish(host, "each[2]/draft~3/claude", {"artifacts": [kept]})
    assert places == (host.artifacts_dir / "each/2/draft/claude/out/plan.json",)
    assert places[0].read_bytes() == blob.read_bytes()
    assert artifacts.publish(host, "it", None) == ()


def test_an_artifact_cannot_leave_its_folder(project: Project, tmp_path: Path) -> None:
    host = host_of(project, tmp_path)
    for name in ("../x", "/x", "a/../../x"):
        with pytest.raises(PathViolation):
            artifacts.keep(host, name, "text")
    assert not (host.state_dir / "blobs").exists()


def test_the_result_of_an_agent_names_its_artifact(project: Project, tmp_path: Path) -> None:
    flow = 'steps: {it: {agent: w, prompt: Do it, output: {file: "notes-${{ run.name }}.md"}}}'
    asked, played = ask(project, tmp_path, flow, "[{text: some notes}]")

    [artifact] = played.result("it")["artifacts"]
    assert artifact["file"] == "notes-flow.md"
    assert (asked.host.state_dir / "blobs" / artifact["hash"]).read_text() == "some notes"


@pytest.mark.req("R129")
def test_a_decision_may_be_written_in_the_words_of_the_states_format() -> None:
    output = Output(kind="schema", schema=BUILTIN["Decision"], schema_name="Decision")
    own = {
        "decision": "halt",
        "reasoning": "Stuck.",
        "error": "no story",
        "use_output": None,
        "dump_path": "x",
    }

    assert value_of(output, "", (True, own)) == Value(
        {"action": "halt", "reason": "Stuck.", "guidance": "no story"}
    )
    assert value_of(output, "", (True, {"action": "halt", "reason": "Stuck."})) == Value(
        {"action": "halt", "reason": "Stuck."}
    )
    assert isinstance(value_of(output, "", (True, {"decision": "wait", "reasoning": ""})), OutputFault)


def test_a_report_in_the_words_of_the_supervisor_format_is_an_implementation() -> None:
    output = Output(kind="schema", schema=BUILTIN["Implementation"], schema_name="Implementation")
    report = {
        "status": "SUCCESS",
        "action_taken": "Added the form.",
        "files_created": ["src/form.py"],
        "files_modified": None,
        "tests_written": ["tests/test_form.py"],
        "review_status": None,
    }

    read = value_of(output, json.dumps(report), NOTHING)

    assert isinstance(read, Value)
    assert (read.value["status"], read.value["summary"]) == ("done", "Added the form.")
    assert read.value["files"] == ["src/form.py", "tests/test_form.py"]


def test_another_status_of_an_implementation_is_judged_as_it_is() -> None:
    output = Output(kind="schema", schema=BUILTIN["Implementation"], schema_name="Implementation")

    assert isinstance(value_of(output, '{"status": "fine"}', NOTHING), OutputFault)
