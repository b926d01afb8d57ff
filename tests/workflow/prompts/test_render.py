"""Prompts: rendering, errors, and proof that neither template nor data can escape the sandbox or run on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.core.expressions.nodes import MissingValue, NeedFact
from podium.core.expressions.values import MAX_TEXT
from podium.workflow.prompts.prompt import plain_prompt
from podium.workflow.prompts.quoting import OutsideText
from podium.workflow.prompts.render import Prompt, PromptError, parse_prompt, render
from tests.core.random_nodes import LazyMap, values
from tests.timing import work_within

NAMES: dict[str, Any] = {
    "inputs": {"task": "do it", "n": 3, "go": True, "none": None, "half": 0.5},
    "steps": {
        "draft": {
            "members": [
                {"name": "b", "text": "one\n```x```\n", "output": {"k": 1}, "score": 2},
                {"name": "a", "text": "two", "output": [1], "score": 1},
            ]
        },
        "plan": {"output": {"title": "T"}},
    },
    "with": {"tdd": True},
    "change": {"paths": ["src/a.py"]},
}


def parse(text: str, folder: Path | None = None) -> Prompt:
    return parse_prompt(text, folder=folder, name="p.md")


def render_text(template: str, **more: Any) -> str:
    return render(parse(template), {**NAMES, **more}, fact=lambda query: query[1] == "there")


@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("{}%#-\n"), max_size=30))
def test_a_text_without_tags_renders_the_same_parsed_or_not(text: str) -> None:
    assert plain_prompt(text, name="p.md") in (None, parse(text) if "{" not in text else None)


def test_a_text_that_is_too_long_or_may_have_a_tag_is_not_plain() -> None:
    assert plain_prompt("x" * MAX_TEXT, name="p.md") is not None
    assert plain_prompt("x" * (MAX_TEXT + 1), name="p.md") is None
    assert plain_prompt("{", name="p.md") is None


def test_every_form_of_the_language_is_rendered() -> None:
    text = """\
{% for d in steps.draft.members %}
## {{ d.name }} ({{ loop.index }} of {{ loop.length }})
{{ d.text | fence }}
{% endfor %}
"""
    assert render_text(text) == "## b (1 of 2)\n````\none\n```x```\n````\n## a (2 of 2)\n```\ntwo\n```\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("{{ inputs.task }}!", "do it!"),
        ("{{ inputs['task'] }}", "do it"),
        ("{{ inputs.n }} {{ inputs.half }} {{ inputs.go }}", "3 0.5 true"),
        ("{{ steps.draft.members[1].output }}", "[1]"),
        ("{{ steps.plan.output }}", '{"title": "T"}'),
        ("{{ steps.plan.output | json }}", '{\n  "title": "T"\n}'),
        ("{{ with.tdd }}", "true"),
        ("{{ nothing | default('x') }}{{ steps.a.b.c | d('y') }}{{ inputs.none | default('z') }}", "xyz"),
        ("{{ '' | default('x', true) }}", "x"),
        ("{{ default(nothing, 1) }}{{ default(inputs.none, 2) }}{{ default(inputs.n, 0) }}", "123"),
        ("{{ steps.draft.members | map(attribute='name') | list | length }}", "2"),
        ("{{ steps.draft.members | map(attribute='name') | join(', ') }}", "b, a"),
        ("{{ steps.draft.members | sort(attribute='name') | map(attribute='name') | join }}", "ab"),
        ("{{ [2, 1] | sort(reverse=true) | json }}", "[\n  2,\n  1\n]"),
        ("{{ steps.draft.members | selectattr('score', 'gt', 1) | map(attribute='name') | join }}", "b"),
        ("{{ steps.draft.members | rejectattr('name', 'eq', 'b') | map(attribute='name') | join }}", "a"),
        ("{{ steps.draft.members | selectattr('score') | length }}", "2"),
        ("{{ steps.draft.members | selectattr('nope', 'defined') | count }}", "0"),
        ("{{ [3, 4] | first }}{{ [3, 4] | last }}", "34"),
        ("{{ inputs | list | length }}", "5"),
        ("{% for k, v in steps.plan.output | items %}{{ k }}={{ v }}{% endfor %}", "title=T"),
        ("{{ 'a\nb' | indent }}{{ 'a\n\nb' | indent(1, true) }}", "a\n  b a\n\n b"),
        ("{{ [steps] | map(attribute='plan.output.title') | join }}", "T"),
        ("{{ 'x' | fence('python') }}", "```python\nx\n```"),
        ("{{ 'x' | fence('no good') }}", "```\nx\n```"),
        ("{{ ' A ' | trim | lower }}{{ 'a' | upper }}{{ 'A b' | slug }}", "aAa-b"),
        ("{{ [1, 2] | sum }}{{ [1, 2] | min }}{{ [1, 2] | max }}{{ [1, 1] | unique | length }}", "3121"),
        ("{{ len(inputs.task) + 1 }} {{ -inputs.n }} {{ 7 % 4 * 2 - 1 }}", "6 -3 5"),
        ("{{ range(3) | join }}", "012"),
        ("{{ inputs.n == 3 }} {{ 1 < inputs.n < 3 }} {{ 'do' in inputs.task }}", "true false true"),
        ("{{ inputs.n != 3 or inputs.n >= 3 and inputs.n <= 3 and 'x' not in inputs.task }}", "true"),
        ("{{ 'y' if inputs.go else 'n' }}{{ 'y' if not inputs.go else 'n' }}", "yn"),
        ("{% if inputs.n > 5 %}a{% elif inputs.n > 2 %}b{% else %}c{% endif %}", "b"),
        ("{% for x in [] %}a{% else %}none{% endfor %}", "none"),
        ("{% for x in [1, 2, 3] if x > 1 %}{{ x }}{{ loop.last }}{% endfor %}", "2false3true"),
        ("{% set x = inputs.n + 1 %}{{ x }}", "4"),
        ("{% set x %}in {{ inputs.n }}{% endset %}{{ x }}", "in 3"),
        ("{% filter upper %}ab{{ inputs.task }}{% endfilter %}", "ABDO IT"),
        ("{% raw %}{{ x }}{% endraw %}{# gone #}", "{{ x }}"),
        ("{{ exists('there') }} {{ exists('gone') }}", "true false"),
        ("{{ touched('src/**') }}", "true"),
        ("{{ inputs.none is none }}{{ inputs.go is true }}{{ inputs.go is false }}", "truetruefalse"),
        ("{{ inputs.task is string }}{{ inputs.n is number }}{{ inputs.go is boolean }}", "truetruetrue"),
        ("{{ inputs is mapping }}{{ [] is sequence }}", "truetrue"),
        (
            "{{ inputs.n is eq 3 }}{{ inputs.n is ne 3 }}{{ inputs.n is lt 4 }}{{ inputs.n is le 3 }}",
            "truefalsetruetrue",
        ),
        ("{{ inputs.n is ge 3 }}{{ inputs.n is in [3] }}{{ inputs.n is equalto 3 }}", "truetruetrue"),
        ("{{ nothing is defined }}{{ nothing is undefined }}", "falsetrue"),
        ("{% if nothing is defined %}{{ nothing.x }}{% endif %}ok", "ok"),
    ],
)
def test_a_prompt_is_rendered(text: str, expected: str) -> None:
    assert render_text(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ steps.plan.output.titel }}", 'E_VAR_MISSING: the value has no "titel"'),
        ("{{ nothing }}", 'E_VAR_MISSING: "nothing" is undefined'),
        ("{{ nothing.at.all }}", 'E_VAR_MISSING: "nothing" is undefined'),
        ("{{ nothing[nowhere] }}", 'E_VAR_MISSING: "nothing" is undefined'),
        ("{{ [1][nowhere] }}", 'E_VAR_MISSING: "nowhere" is undefined'),
        ("{{ [1, 2][5] }}", "E_VAR_MISSING: the value has 2 elements and no [5]"),
        ("{{ inputs.none }}", "E_VAR_MISSING: null cannot be inserted into a text"),
        ("{{ inputs['__class__'] }}", 'E_VAR_MISSING: the value has no "__class__"'),
        ("{{ inputs.task.x }}", 'the value is text and has no "x"'),
        ("{{ inputs.task['upper'] }}", 'the value is text and has no "upper"'),
        ("{{ inputs[1] }}", "the value is a map; a number cannot select from it"),
        ("{{ len }}", "an expression cannot use a value of type function"),
        ("{{ inputs.n == '3' }}", "cannot compare a number with text"),
        ("{{ inputs.task + 'x' }}", '"+" needs numbers, not text'),
        ("{{ 'a' * 1000000000 }}", '"*" needs numbers, not text'),
        ("{{ -inputs.task }}", '"-" needs numbers, not text'),
        ("{{ 1 / 0 }}", "cannot divide by zero"),
        ("{{ len(nothing) }}", 'E_VAR_MISSING: "nothing" is undefined'),
        ("{{ len() }}", "len takes 1 argument, not 0"),
        ("{{ range(100000) }}", "range of more than 10000 elements"),
        ("{{ inputs.n | first }}", "first needs a list, not a number"),
        ("{{ inputs.n | list }}", "list needs a list, not a number"),
        ("{{ inputs.n | items }}", "items needs a map, not a number"),
        ("{{ 'x' | indent(1000000) }}", "indent needs a whole number up to 40"),
        ("{{ 'x' | indent('a') }}", "indent needs a whole number up to 40"),
        ("{{ [1, 'a'] | sort }}", "sort needs numbers or texts, all of one kind"),
        ("{{ [[1]] | sort }}", "sort needs numbers or texts, all of one kind"),
        ("{{ [1] | map('upper') }}", "a filter or test got arguments that it does not take"),
        ("{{ [inputs] | selectattr('n', 'odd') }}", 'test "odd" does not exist'),
        ("{{ [inputs] | map(attribute=1) }}", "map needs text, not a number"),
        ("{{ [] | first }}", "E_VAR_MISSING: the value has 0 elements and no [0]"),
        ("{% for x in inputs.task %}{% endfor %}", "list needs a list, not text"),
        ("{% for x in nothing %}{% endfor %}", 'E_VAR_MISSING: "nothing" is undefined'),
        ("{{ [1] | selectattr('x') }}", 'the value is a number and has no "x"'),
        ("{% for x in range(10000) %}{% for y in range(10000) %}{% endfor %}{% endfor %}", "too much work"),
        ("{% set y = range(900) | join %}{% for x in y | list %}{% endfor %}", "list needs a list, not text"),
        (
            "{% set y = range(900) | join %}{% for x in range(900) %}{{ y }}{% endfor %}",
            "the rendered text exceeds",
        ),
        (
            "{% for x in range(3) %}{{ 'x' | fence }}{{ loop.cycle }}{% endfor %}",
            "value of type LoopContext",
        ),
        (
            "{% set a = 'xxxxxxxxxx' %}" + "{% set a = [a, a, a, a, a, a, a, a, a, a] | join %}" * 9,
            "join makes a text",
        ),
        (
            "{% set a = 'xxxxxxxxxx' %}" + "{% set a %}{{ a }}{{ a }}{{ a }}{{ a }}{% endset %}" * 20,
            "a text of",
        ),
    ],
)
def test_an_error_while_rendering_is_reported(text: str, message: str) -> None:
    with work_within(5), pytest.raises(PromptError) as raised:
        render_text(text)

    assert message in raised.value.message


def test_an_error_has_its_line_and_file(tmp_path: Path) -> None:
    (tmp_path / "common.md").write_text("fine\n{{ nothing }}\n", "utf-8")
    prompt = parse("one\n\n{% include 'common.md' %}", tmp_path)

    with pytest.raises(PromptError) as raised:
        render(prompt, {})
    assert (raised.value.file, raised.value.line) == ("common.md", 2)

    with pytest.raises(PromptError) as raised:
        parse("one\n{{ open('x') }}")
    assert (raised.value.file, raised.value.line) == ("p.md", 2)

    with pytest.raises(PromptError) as raised:
        render(parse("a\nb {{ inputs.x }}"), {"inputs": {}})
    assert (raised.value.file, raised.value.line) == ("p.md", 2)


def test_a_value_is_never_read_as_a_template() -> None:
    attack = "{{ inputs.secret }}{% include '/etc/passwd' %}${{ x }}"

    assert render_text("{{ text }}|{{ text | fence }}", text=attack) == f"{attack}|```\n{attack}\n```"


@given(st.text(alphabet="`ab\n", max_size=40))
def test_no_text_escapes_its_fence(text: str) -> None:
    lines = render_text("{{ text | fence }}", text=text).split("\n")

    assert lines[0] == lines[-1]
    assert set(lines[0]) == {"`"}
    assert not any(line.startswith(lines[0]) for line in lines[1:-1])


@given(values)
def test_the_json_filter_writes_valid_json(value: Any) -> None:
    assert json.loads(render_text("{{ value | json }}", value=value)) == value


def test_files_that_include_each_other_many_times_are_bounded(tmp_path: Path) -> None:
    """Each level doubles: the last of eighteen levels would be rendered 262,144 times."""
    for number in range(18):
        include = f"{{% include 'x{number + 1}.md' %}}"
        (tmp_path / f"x{number}.md").write_text(include * 2, "utf-8")
    (tmp_path / "x18.md").write_text("", "utf-8")

    with pytest.raises(PromptError, match="too much work"):
        render(parse("{% include 'x0.md' %}", tmp_path), {})


def test_a_loop_around_an_include_is_charged_for_it(tmp_path: Path) -> None:
    (tmp_path / "x.md").write_text("x" * 5000, "utf-8")
    prompt = parse("{% for n in range(9000) %}{% include 'x.md' %}{% endfor %}", tmp_path)

    with pytest.raises(PromptError, match="too much work"):
        render(prompt, {})


def test_only_names_that_the_prompt_reads_are_looked_up() -> None:
    names = LazyMap({"a": {"x": 1}, "b": 2})

    assert render(parse("{{ a.x }}{{ c | default(0) }}"), names) == "10"
    assert names.asked == ["a", "c"]


def test_default_handles_a_value_that_a_lazy_map_lacks() -> None:
    class Missing(LazyMap):
        def __getitem__(self, key: str) -> Any:
            raise MissingValue(f"{key} has not run")

    assert render(parse("{{ steps.a.output | default('none') }}"), {"steps": Missing({})}) == "none"
    assert render(parse("{{ a | default('none') }}"), Missing({})) == "none"
    with pytest.raises(PromptError, match="E_VAR_MISSING: a has not run"):
        render(parse("{{ steps.a.output }}"), {"steps": Missing({})})


def test_a_fact_that_is_not_known_yet_is_passed_through() -> None:
    def ask(query: tuple[str, str]) -> Any:
        raise NeedFact(query)

    with pytest.raises(NeedFact):
        render(parse("{{ glob('x') }}"), {}, fact=ask)
    with pytest.raises(PromptError, match="exists is not available here"):
        render(parse("{{ exists('x') }}"), {})
    with pytest.raises(PromptError, match="change is null"):
        render(parse("{{ touched('x') }}"), {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a {{ a }} b", "a \n````\nx\n```\n````\n b"),
        ("{{ a | fence }}", "````\nx\n```\n````"),
        ("{{ a | json }}", '"x\\n```"'),
        ("{% if a == 'x\n```' and contains(a, 'x') %}yes{% endif %}", "yes"),
    ],
)
def test_a_text_from_outside_is_inserted_as_a_quotation(text: str, expected: str) -> None:
    outside = OutsideText("x\n```")
    outside.nonce = ""

    assert render(parse(text), {"a": outside}) == expected


@given(st.text(alphabet="ab{}%|. ()'[]_+<>!~*#\n-=,", max_size=50), values)
def test_any_text_is_rendered_or_refused(text: str, value: Any) -> None:
    error = refusal(text, {"a": value, "b": "x"})

    assert error is None or (error.line >= 1 and error.message)


def refusal(text: str, names: dict[str, Any]) -> PromptError | None:
    try:
        render(parse(text), names)
    except PromptError as error:
        return error
    return None
