"""The strict YAML reader: values, positions, and the same plain message for each fault with both parsers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml as pyyaml
from hypothesis import given
from hypothesis import strategies as st

from podium.workflow.problems import Problem, did_you_mean, in_order, nearest
from podium.workflow.source import yaml as strict
from podium.workflow.source.yaml import MAX_BYTES, MAX_VALUES, Document, Position, load, read
from podium.workflow.source.yaml_errors import explain
from tests.core.random_nodes import values
from tests.timing import work_within

PARSERS = [pyyaml.SafeLoader, getattr(pyyaml, "CSafeLoader", pyyaml.SafeLoader)]


@pytest.fixture(params=PARSERS, ids=["python", "libyaml"])
def both_parsers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strict, "Loader", request.param)


def load_text(text: str) -> Document:
    return load(text, name="flow.yaml")


@pytest.mark.usefixtures("both_parsers")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# nothing", None),
        ("a: 1", {"a": 1}),
        ("a: -0", {"a": 0}),
        ("a: +5", {"a": 5}),
        ("a: 1.10", {"a": 1.1}),
        ("a: .5", {"a": 0.5}),
        ("a: 1.", {"a": 1.0}),
        ("a: -1.5e-3", {"a": -0.0015}),
        ("a: 9223372036854775807", {"a": 2**63 - 1}),
        ("a: true", {"a": True}),
        ("a: false", {"a": False}),
        ("a: null", {"a": None}),
        ("a: ~", {"a": None}),
        ("a:", {"a": None}),
        ("a: True", {"a": "True"}),
        ("a: yes", {"a": "yes"}),
        ("on: off", {"on": "off"}),
        ("no: NULL", {"no": "NULL"}),
        ("a: 2024-01-01", {"a": "2024-01-01"}),
        ("a: 12:30", {"a": "12:30"}),
        ("a: 12:30:45", {"a": "12:30:45"}),
        ("a: 0x10", {"a": "0x10"}),
        ("a: 0o17", {"a": "0o17"}),
        ("a: 010", {"a": "010"}),
        ("a: 1_000", {"a": "1_000"}),
        ("a: .inf", {"a": ".inf"}),
        ("a: .nan", {"a": ".nan"}),
        ("a: '1'", {"a": "1"}),
        ('a: "true"', {"a": "true"}),
        ("'1': x", {"1": "x"}),
        ("a: ${{ x }}", {"a": "${{ x }}"}),
        ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
        ("a: >-\n  x\n  y\n", {"a": "x y"}),
        ("- a\n- [b, {c: d}]", ["a", ["b", {"c": "d"}]]),
        ("a: {b: , c: 1}", {"a": {"b": None, "c": 1}}),
        ('{"a":1}', {"a": 1}),
        ("---\na: 1\n...\n", {"a": 1}),
        ("\ufeffa: 1", {"a": 1}),
        ("'<<': 1", {"<<": 1}),
    ],
)
def test_scalars_follow_yaml_1_2_only(text: str, value: Any) -> None:
    document = load_text(text)

    assert document.problems == ()
    assert document.value == value
    assert repr(document.value) == repr(value)


FAULTS = [
    ("a: 1\nb: 2\na: 3", 3, 1, 'duplicate key "a"'),
    ("a: &x 1", 1, 4, "anchors are not allowed"),
    ("a: [b]\nc: &x [b]", 2, 4, "anchors are not allowed"),
    ("a: *x", 1, 4, "aliases are not allowed"),
    ("*x : 1", 1, 1, "aliases are not allowed"),
    ("a: !x 1", 1, 4, 'tag "!x" is not allowed'),
    ("a: !!str 1", 1, 4, 'tag "!!str" is not allowed'),
    ("a: !x [1]", 1, 4, 'tag "!x" is not allowed'),
    ("<<: {a: 1}", 1, 1, "merge keys are not allowed"),
    ("a: 1\n---\nb: 2", 2, 1, "this file has a second document"),
    ("%YAML 1.1\n---\na: 1", 1, 1, 'directives ("%...") are not allowed'),
    ("1: a", 1, 1, "the key 1 must be text"),
    ("true: a", 1, 1, "the key true must be text"),
    ("? \n: a", 1, 2, "the key null must be text"),
    ("? [a]\n: b", 1, 3, "a key must be text"),
    ("{a: 1}: b", 1, 1, "a key must be text"),
    ("a: 12345678901234567890", 1, 4, "this number is too big"),
    ("a: 1e999", 1, 4, "this number is too big"),
    ("a: " + "9" * 5000, 1, 4, "this number is too big"),
    ("a: {p: Hello, world}", 1, 15, '"world" has no value'),
    ("{a:1}", 1, 2, '"a:1" has no value'),
    ("a: [b: c]", 1, 5, 'a value with ":" needs quotes inside [...]'),
    ("a: [http://x]", 1, 5, 'a value with ":" needs quotes inside {...} and [...]'),
    ("a: {{ x }}", 1, 5, 'a value with "{{" needs quotes'),
    ("a: {b: {{ x }}}", 1, 9, 'a value with "{{" needs quotes'),
    ("a: [${{ x }}]", 1, 6, '"${{ }}" needs quotes inside {...} and [...]'),
    ("a: {b: Really: yes}", 1, 14, "a value with one of ? , : [ ] { } needs quotes inside {...} and [...]"),
    ("a: [x,,y]", 1, 7, 'a value is missing before ","'),
    ("a: {b: [x}", 1, 10, '"}" does not match the last open bracket'),
    ("a: [x\nb: y: z]", 2, 2, "the bracket opened in line 1 is not closed, or quotes are missing"),
    ("a: [x, y", 1, 4, '"[" is not closed'),
    ("b: 1\na: {x: 1\n", 2, 4, '"{" is not closed'),
    ("a: b: c", 1, 5, 'a value with ": " needs quotes'),
    ("- a: b: c", 1, 7, 'a value with ": " needs quotes'),
    ('a: "b": c', 1, 7, 'a value with ": " needs quotes'),
    ("a: 1\n  b: 2", 2, 4, "the line above already has a value, so this line cannot be nested below it"),
    ("a:\n  b: 1\n c: 2", 3, 2, "this line is not indented like the other lines of its block"),
    ("a:\n  - b\n  c: 1", 3, 3, "this line is not indented like the other lines of its block"),
    ("  a: 1\nb: 2", 2, 1, "this line is not indented like the first line"),
    ("a:\n\tb: 1", 2, 1, "a tab cannot indent a line"),
    ("a: @x", 1, 4, 'a value that begins with "@" needs quotes'),
    ("a: %x", 1, 4, 'a value that begins with "%" needs quotes'),
    ("a: ]", 1, 4, 'a value that begins with "]" needs quotes'),
    ("touches: [*.py]", 1, 11, 'a value that begins with "*" needs quotes'),
    ("touches: **/x", 1, 10, 'a value that begins with "*" needs quotes'),
    ("a: &", 1, 4, 'a value that begins with "&" needs quotes'),
    ("a: 'abc", 1, 4, "this quote is never closed"),
    ('a: "abc\nb: 1', 1, 4, "this quote is never closed"),
    ("a: 'it's'", 1, 8, "unexpected text after a closing quote"),
    ('a: "x" y', 1, 8, "unexpected text after a closing quote"),
    ("a: [x]]", 1, 7, '"]" has no opening bracket'),
    ("a: - b", 1, 4, "a list must begin on its own line"),
    ("a: |x\n  y", 1, 5, 'after "|" or ">" the text must begin on the next line'),
    ("a: 1\nabc\nb: 2", 2, 1, "this line is neither a key nor part of a value"),
    ("a: !<x 1", 1, 4, "tags are not allowed"),
    ("a: !y!x 1", 1, 4, "tags are not allowed"),
    ("a: \x01", 1, 4, "the character U+0001 is not allowed"),
    ("a: 1\nb: \ud800", 2, 1, "this file contains half a character (a lone surrogate)"),
]


@pytest.mark.usefixtures("both_parsers")
@pytest.mark.parametrize(("text", "line", "col", "message"), FAULTS)
def test_a_fault_is_reported_with_its_position(text: str, line: int, col: int, message: str) -> None:
    problem = load_text(text).problems[0]

    assert (problem.message, problem.line, problem.col) == (message, line, col)
    assert problem.file == "flow.yaml"
    assert problem.rule in (1, 2)


@pytest.mark.usefixtures("both_parsers")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('a: "\\d"', 'this backslash is not a valid escape inside "..."'),
        ('a: "\\u12"', 'this backslash is not a valid escape inside "..."'),
        ("a: {human: Land it?}", "needs quotes inside {...} and [...]"),
        ("a: [what?, x]", "needs quotes inside {...} and [...]"),
        ("a: {x: ?}", "needs quotes inside {...} and [...]"),
    ],
)
def test_a_fault_that_the_parsers_place_differently_has_the_same_message(text: str, message: str) -> None:
    document = load_text(text)

    assert message in document.problems[0].message
    assert document.problems[0].line == 1


def test_an_unknown_fault_is_reported_in_the_parsers_words() -> None:
    mark = pyyaml.Mark("x", 0, 0, 0, None, 0)
    error = pyyaml.MarkedYAMLError(None, None, "something quite new", mark)

    assert explain(error, "a").message == "something quite new"
    assert explain(pyyaml.YAMLError(), "").message == "the character U+0000 is not allowed"


def test_all_faults_are_reported_at_once() -> None:
    text = "a:\n  - {b: 1, b: 2}\n  - &x y\n  - *x\n  - !t z\nc: 1\nc: [d\n"

    actual = [(problem.line, problem.message) for problem in load_text(text).problems]

    assert actual == [
        (2, 'duplicate key "b"'),
        (3, "anchors are not allowed"),
        (4, "aliases are not allowed"),
        (5, 'tag "!t" is not allowed'),
        (7, 'duplicate key "c"'),
        (7, '"[" is not closed'),
    ]


def test_values_next_to_a_fault_are_still_read() -> None:
    document = load_text("a: 1\na: {x: [1]}\n? {k: 1}\n: skipped\nb: [*x, 2]\n<<: 3\n")

    assert document.value == {"a": 1, "b": [None, 2]}


def test_reading_stops_after_a_hundred_faults() -> None:
    assert len(load_text("x: y\n" * 1000).problems) == strict.MAX_PROBLEMS
    assert len(load_text("{" + "a:1, " * 1000 + "}").problems) == strict.MAX_PROBLEMS


SAMPLE = """\
podium: 1
steps:
  plan:
    role: planner
    limits: {usd: 5, time: 45m}
  land: [a,
    b]
version: 1.10
"""


@pytest.mark.parametrize(
    ("path", "key", "line", "col"),
    [
        ((), False, 1, 1),
        (("podium",), False, 1, 9),
        (("podium",), True, 1, 1),
        (("steps", "plan"), False, 4, 5),
        (("steps", "plan"), True, 3, 3),
        (("steps", "plan", "limits", "time"), False, 5, 28),
        (("steps", "plan", "limits", "time"), True, 5, 22),
        (("steps", "land", 1), False, 7, 5),
        (("steps", "land", 1), True, 7, 5),
        (("steps", "plan", "promt"), True, 3, 3),
        (("nothing",), False, 1, 1),
    ],
)
def test_every_value_and_key_has_its_position(
    path: tuple[str | int, ...], key: bool, line: int, col: int
) -> None:
    assert load_text(SAMPLE).position(path, key=key) == Position(line, col)


def test_the_written_form_of_a_number_is_kept() -> None:
    document = load_text(SAMPLE)

    assert document.source(("version",)) == "1.10"
    assert document.source(("steps", "plan", "role")) is None
    assert document.source(("nothing",)) is None


@pytest.mark.usefixtures("both_parsers")
@pytest.mark.parametrize(
    "text",
    ["[" * MAX_BYTES, "{" * MAX_BYTES, "- " * (MAX_BYTES // 2), "? " * (MAX_BYTES // 2), "{a: " * 200_000],
)
def test_a_file_of_nothing_but_brackets_fails_fast(text: str) -> None:
    with work_within(10):
        problems = load_text(text).problems

    assert any("nested more than 50 deep" in problem.message for problem in problems)


def test_fifty_levels_are_allowed() -> None:
    assert load_text("[" * 50 + "]" * 50).problems == ()


def test_a_long_file_is_read_within_its_work_bound() -> None:
    """114 KB take 0.2 s."""
    step = "  step_%d:\n    role: implementer\n    gates: [tests, {run: make lint}]\n    timeout: 5m\n"
    text = "steps:\n" + "".join(step % number for number in range(1500))
    assert len(text) > 114_000

    with work_within(5):
        assert load_text(text).problems == ()


def test_a_text_that_is_too_long_is_refused() -> None:
    assert (
        load_text("a" * (MAX_BYTES + 1)).problems[0].message == f"this file is larger than {MAX_BYTES} bytes"
    )


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"\xff\xfea\x00", 1, "this file is UTF-16"),
        (b"a: 1\nb: \xff", 2, "this file is not UTF-8"),
        (b"a" * (MAX_BYTES + 1), 1, f"this file is larger than {MAX_BYTES} bytes"),
    ],
)
def test_a_file_that_is_not_text_is_a_problem(tmp_path: Path, data: bytes, line: int, message: str) -> None:
    (tmp_path / "f.yaml").write_bytes(data)

    (problem,) = read(tmp_path / "f.yaml", name="f.yaml").problems

    assert (problem.file, problem.line, problem.message) == ("f.yaml", line, message)


def test_a_file_is_read_and_a_missing_one_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text("\ufeffa: 1", "utf-8")

    assert read(tmp_path / "f.yaml").value == {"a": 1}
    (problem,) = read(tmp_path / "none.yaml").problems
    assert problem.message == "file not found"
    assert problem.file == str(tmp_path / "none.yaml")


def test_a_missing_file_has_a_hint_only_where_a_folder_of_it_exists(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text("a: 1", "utf-8")

    (near,) = read(tmp_path / "workflows" / "flow.yaml").problems
    (far,) = read(tmp_path / "no" / "such" / "folder" / "flow.yaml").problems

    assert near.hint == f'did you mean "{tmp_path / "flow.yaml"}"?'
    assert (far.message, far.hint) == ("file not found", "")


@given(values)
def test_a_value_written_as_yaml_is_read_back(value: Any) -> None:
    text = pyyaml.safe_dump(value, default_style='"', allow_unicode=True, default_flow_style=False)
    document = load_text(re.sub(r'!!(int|float|bool|null) "([^"]*)"', r"\2", text))

    assert document.problems == ()
    assert document.value == value


@given(st.text(alphabet="ab:-[]{}?,'\"#&*!|>%@ \n\t1.", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    document = load_text(text)

    for problem in document.problems:
        assert problem.line >= 1
        assert problem.col >= 1
        assert problem.message


def test_problems_are_sorted_by_position() -> None:
    later = Problem("f.yaml", 9, 1, 3, "b", "try c")
    warning = Problem("f.yaml", 2, 5, 28, "a", warning=True)

    assert in_order([later, warning, later]) == (warning, later)
    assert later.render() == "f.yaml:9:1: b\n  hint: try c"
    assert warning.render() == "f.yaml:2:5: warning: a"


def test_the_nearest_word_is_suggested_if_there_is_one() -> None:
    assert nearest("promt", ["prompt", "role"]) == "prompt"
    assert nearest("x", ["prompt", "role"]) is None
    assert nearest("prompt" * 10_000, ["prompt"]) is None
    assert did_you_mean("promt", ["prompt"]) == 'did you mean "prompt"?'
    assert did_you_mean("x", ["prompt"]) == ""


@pytest.mark.parametrize("text", ["- a\n", "- [1]\n", "- {a: 1}\n"])
def test_a_file_of_very_many_values_is_refused_where_there_are_too_many(text: str) -> None:
    document = load_text(text * MAX_VALUES)

    (problem,) = document.problems
    assert problem.message == f"this file has more than {MAX_VALUES} keys and values"
    assert load_text("- a\n" * (MAX_VALUES - 1)).problems == ()
