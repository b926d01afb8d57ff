"""Checks when a prompt is loaded: what is refused, what it reads and where, and what it includes."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.core.expressions.values import MAX_TEXT
from podium.workflow.prompts.render import MAX_INCLUDES, MAX_TAGS, Prompt, PromptError, parse_prompt, render


def parse(text: str, folder: Path | None = None) -> Prompt:
    return parse_prompt(text, folder=folder, name="p.md")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ ''.__class__ }}", '"__class__" is not a valid name; names cannot begin with "_"'),
        ("{{ _session }}", '"_session" is not a valid name; names cannot begin with "_"'),
        ("{{ self }}", '"self" is not a valid name'),
        ("{{ x | attr('__class__') }}", 'filter "attr" does not exist'),
        ("{{ x | _each(1) }}", 'filter "_each" does not exist'),
        ("{{ x is sameas y }}", 'test "sameas" does not exist'),
        ("{{ '{0.__class__}'.format(x) }}", 'calls to ".format" are not allowed'),
        ("{{ '%s' | format(x) }}", 'filter "format" does not exist'),
        ("{{ inputs.items() }}", 'calls to ".items" are not allowed'),
        ("{{ cycler() }}", 'calls to "cycler" are not allowed'),
        ("{{ [len][0](x) }}", 'calls to "this" are not allowed'),
        ("{{ len(x, y=1) }}", "len takes only positional arguments"),
        ("{{ len(*x) }}", "len takes only positional arguments"),
        ("{{ len(**x) }}", "len takes only positional arguments"),
        ("{{ x | join(*y) }}", '"*" is not allowed here'),
        ("{{ x is eq(**y) }}", '"*" is not allowed here'),
        ("{% import 'x' as y %}", '"import" is not allowed in a prompt'),
        ("{% from 'x' import y %}", '"import" is not allowed in a prompt'),
        ("{% extends 'x' %}", '"extends" is not allowed in a prompt'),
        ("{% block x %}{% endblock %}", '"block" is not allowed in a prompt'),
        ("{% macro f() %}{% endmacro %}", '"macro" is not allowed in a prompt'),
        ("{% call f() %}{% endcall %}", '"call" is not allowed in a prompt'),
        ("{% with x = 1 %}{% endwith %}", '"with" is not allowed in a prompt'),
        ("{% set ns.x = 1 %}", "NSRef is not allowed in a prompt"),
        ("{{ {'a': 1} }}", "maps cannot be written in a prompt"),
        ("{{ x[1:2] }}", "slices are not allowed in a prompt"),
        ("{{ 'a' ~ 'b' }}", '"~" is not allowed in a prompt; use join([a, b])'),
        ("{{ 9 ** 9 ** 9 }}", '"**" is not allowed in a prompt'),
        ("{{ 9 // 2 }}", '"//" is not allowed in a prompt'),
        ("{% for x in y recursive %}{% endfor %}", "recursive loops are not allowed"),
        ("{% include inputs.x %}", "include needs the plain name of a file"),
        ("{% include 'x' ignore missing %}", "include needs the plain name of a file"),
        ("{% include 'x' without context %}", "include needs the plain name of a file"),
        ("{% include 'x' %}", "this prompt has no folder to include files from"),
        ("{% if %}", 'expected an expression, got "end of statement block"'),
        ("{{ x", 'unexpected end of template, expected "end of print statement"'),
        ("{{ " + "(" * 5000 + " }}", "this prompt is nested too deep"),
        ("{{ " + "not " * 60 + "x }}", "this prompt has too many parts or is nested too deep"),
        ("{{ x }}" * (MAX_TAGS + 1), f'this prompt has more than {MAX_TAGS} "{{{{ }}}}" tags'),
        ("x" * (MAX_TEXT + 1), f"this prompt is longer than {MAX_TEXT} characters"),
    ],
)
def test_a_template_feature_that_is_not_allowed_is_refused_at_load_time(text: str, message: str) -> None:
    with pytest.raises(PromptError) as raised:
        parse(text)

    assert raised.value.message == message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ steps.plan.output.title }}", ["steps.plan.output.title"]),
        ("{{ steps['plan'].output[0].x }}", ["steps.plan.output"]),
        ("{{ steps.a[inputs.n] }}", ["steps.a", "inputs.n"]),
        ("{{ a }}{{ a }}", ["a"]),
        ("{{ a | default(b) }}{{ c | d }}", ["a?", "b", "c?"]),
        ("{{ default(a.b, c) }}", ["a.b?", "c"]),
        ("{{ len(a) + touched(b) }}", ["a", "change.paths", "b"]),
        (
            "{% for x in a.b %}{{ x.y }}{{ loop.index }}{{ c }}{% else %}{{ x }}{% endfor %}{{ loop }}",
            ["a.b", "c", "x", "loop"],
        ),
        ("{% for x in a if x.ok and b %}{% endfor %}", ["a", "b"]),
        ("{% for x, y in a %}{{ x }}{{ y }}{% endfor %}", ["a"]),
        ("{% set x = a %}{{ x }}{{ y }}{% set y = 1 %}{{ y }}", ["a", "y"]),
        ("{% set x %}{{ a }}{% endset %}{{ x }}", ["a"]),
        ("{% set x | upper %}{{ a }}{% endset %}{{ x }}", ["a"]),
        ("{% if a %}{% set x = 1 %}{% else %}{% set x = b %}{% endif %}{{ x }}", ["a", "b"]),
        ("{% filter default(b) %}{{ a }}{% endfilter %}", ["a", "b"]),
        ("{% if a.b is defined %}{{ a.b.c }}{% else %}{{ a.b }}{% endif %}", ["a.b?", "a.b.c?", "a.b"]),
        ("{% if a is undefined %}{{ a }}{% else %}{{ a.b }}{% endif %}", ["a?", "a", "a.b?"]),
        ("{% if not a is defined %}{{ a }}{% else %}{{ a.b }}{% endif %}", ["a?", "a", "a.b?"]),
        ("{% if a is defined and a.b %}{{ a.c }}{% endif %}", ["a?", "a.b?", "a.c?"]),
        ("{% if a is undefined or a.b %}x{% else %}{{ a.c }}{% endif %}", ["a?", "a.b?", "a.c?"]),
        ("{% if a | default(false) %}{{ a }}{% endif %}", ["a?"]),
        ("{% if default(a, false) %}{{ a }}{% endif %}", ["a?"]),
        ("{% if default([a], false) %}{{ a }}{% endif %}", ["a?", "a"]),
        ("{{ a if a is defined else b }}{{ c if d }}", ["a?", "b", "d", "c"]),
        ("{{ a > 1 and (b or c) }}", ["a", "b", "c"]),
    ],
)
def test_references_list_what_a_prompt_reads(text: str, expected: list[str]) -> None:
    actual = [f"{'.'.join(one.chain)}{'?' if one.optional else ''}" for one in parse(text).references]

    assert actual == expected


def test_references_have_their_line_and_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "x.md").write_text("\n{{ b }}\n", "utf-8")
    prompt = parse("{{ a }}\n{% include 'sub/x.md' %}{% include 'sub/x.md' %}\n{{ a }}", tmp_path)

    assert [(one.chain, one.line, one.file) for one in prompt.references] == [
        (("a",), 1, "p.md"),
        (("a",), 3, "p.md"),
        (("b",), 2, "sub/x.md"),
    ]
    assert render(prompt, {"a": 1, "b": 2}) == "1\n\n2\n\n2\n1"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("/etc/passwd", '"/etc/passwd" leaves the prompt folder'),
        ("../secret", '"../secret" leaves the prompt folder'),
        ("a/../../secret", '"a/../../secret" leaves the prompt folder'),
        ("link", '"link" leaves the prompt folder'),
        ("none.md", "none.md does not exist"),
        ("bytes", "bytes is not UTF-8"),
        ("self.md", "self.md includes itself"),
        ("a.md", "a.md includes itself"),
        ("chain0.md", f"files are included more than {MAX_INCLUDES} deep"),
        ("wrong.md", 'calls to "open" are not allowed'),
    ],
)
def test_an_include_that_is_not_allowed_is_refused(tmp_path: Path, name: str, message: str) -> None:
    folder = tmp_path / "prompts"
    folder.mkdir()
    (tmp_path / "secret").write_text("secret", "utf-8")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "bytes").write_bytes(b"\xff")
    (folder / "self.md").write_text("{% include 'self.md' %}", "utf-8")
    (folder / "a.md").write_text("{% include 'b.md' %}", "utf-8")
    (folder / "b.md").write_text("{% include 'a.md' %}", "utf-8")
    (folder / "wrong.md").write_text("{{ open('x') }}", "utf-8")
    for number in range(30):
        (folder / f"chain{number}.md").write_text(f"{{% include 'chain{number + 1}.md' %}}", "utf-8")

    with pytest.raises(PromptError) as raised:
        parse(f"{{% include '{name}' %}}", folder)

    assert raised.value.message == message


def test_values_exactly_at_the_bounds_are_allowed(tmp_path: Path) -> None:
    for number in range(MAX_INCLUDES):
        include = f"{{% include 'x{number + 1}.md' %}}" if number + 1 < MAX_INCLUDES else "end"
        (tmp_path / f"x{number}.md").write_text(include, "utf-8")

    assert render(parse("{% include 'x0.md' %}", tmp_path), {}) == "end"
    assert len(render(parse("x" * MAX_TEXT), {})) == MAX_TEXT


def test_a_prompt_without_a_file_has_no_name() -> None:
    assert render(parse_prompt("{{ a }}", folder=None, name=""), {"a": 1}) == "1"
    with pytest.raises(PromptError) as raised:
        render(parse_prompt("x\n{{ a }}", folder=None, name=""), {})

    assert (raised.value.file, raised.value.line) == ("", 2)
