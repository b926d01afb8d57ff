"""What is found out when a prompt is loaded: what is not allowed, what it reads and where, what it includes."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.core.expressions.values import MAX_TEXT
from podium.workflow.prompts.render import MAX_INCLUDES, MAX_TAGS, Prompt, PromptError, parse_prompt, render


def parsed(text: str, folder: Path | None = None) -> Prompt:
    return parse_prompt(text, folder=folder, name="p.md")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ ''.__class__ }}", '"__class__" is not a name; names do not begin with "_"'),
        ("{{ _session }}", '"_session" is not a name; names do not begin with "_"'),
        ("{{ self }}", '"self" is not a name'),
        ("{{ x | attr('__class__') }}", 'there is no filter "attr"'),
        ("{{ x | _each(1) }}", 'there is no filter "_each"'),
        ("{{ x is sameas y }}", 'there is no test "sameas"'),
        ("{{ '{0.__class__}'.format(x) }}", 'calls to ".format" are not allowed'),
        ("{{ '%s' | format(x) }}", 'there is no filter "format"'),
        ("{{ inputs.items() }}", 'calls to ".items" are not allowed'),
        ("{{ cycler() }}", 'calls to "cycler" are not allowed'),
        ("{{ [len][0](x) }}", 'calls to "this" are not allowed'),
        ("{{ len(x, y=1) }}", "len takes plain arguments"),
        ("{{ len(*x) }}", "len takes plain arguments"),
        ("{{ len(**x) }}", "len takes plain arguments"),
        ("{{ x | join(*y) }}", "a star is not allowed here"),
        ("{{ x is eq(**y) }}", "a star is not allowed here"),
        ("{% import 'x' as y %}", '"import" is not allowed in a prompt'),
        ("{% from 'x' import y %}", '"import" is not allowed in a prompt'),
        ("{% extends 'x' %}", '"extends" is not allowed in a prompt'),
        ("{% block x %}{% endblock %}", '"block" is not allowed in a prompt'),
        ("{% macro f() %}{% endmacro %}", '"macro" is not allowed in a prompt'),
        ("{% call f() %}{% endcall %}", '"call" is not allowed in a prompt'),
        ("{% with x = 1 %}{% endwith %}", '"with" is not allowed in a prompt'),
        ("{% set ns.x = 1 %}", "NSRef is not allowed in a prompt"),
        ("{{ {'a': 1} }}", "maps cannot be written in a prompt"),
        ("{{ x[1:2] }}", "a part of a list cannot be taken"),
        ("{{ 'a' ~ 'b' }}", '"~" is not allowed in a prompt; use join([a, b])'),
        ("{{ 9 ** 9 ** 9 }}", '"**" is not allowed in a prompt'),
        ("{{ 9 // 2 }}", '"//" is not allowed in a prompt'),
        ("{% for x in y recursive %}{% endfor %}", "a loop cannot call itself"),
        ("{% include inputs.x %}", "a file is included by its plain name"),
        ("{% include 'x' ignore missing %}", "a file is included by its plain name"),
        ("{% include 'x' without context %}", "a file is included by its plain name"),
        ("{% include 'x' %}", "there is no folder to include from"),
        ("{% if %}", 'expected an expression, got "end of statement block"'),
        ("{{ x", 'unexpected end of template, expected "end of print statement"'),
        ("{{ " + "(" * 5000 + " }}", "this prompt is nested too deep"),
        ("{{ " + "not " * 60 + "x }}", "this prompt has too many parts, or they are nested too deep"),
        ("{{ x }}" * (MAX_TAGS + 1), f'a prompt has at most {MAX_TAGS} "{{{{ }}}}"'),
        ("x" * (MAX_TEXT + 1), f"a prompt has at most {MAX_TEXT} characters"),
    ],
)
def test_what_is_not_allowed_is_refused_when_it_is_loaded(text: str, message: str) -> None:
    with pytest.raises(PromptError) as raised:
        parsed(text)

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
def test_references_lists_the_names_that_are_read(text: str, expected: list[str]) -> None:
    actual = [f"{'.'.join(one.chain)}{'?' if one.optional else ''}" for one in parsed(text).references]

    assert actual == expected


def test_references_know_their_line_and_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "x.md").write_text("\n{{ b }}\n", "utf-8")
    prompt = parsed("{{ a }}\n{% include 'sub/x.md' %}{% include 'sub/x.md' %}\n{{ a }}", tmp_path)

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
def test_a_file_that_may_not_be_included_is_refused(tmp_path: Path, name: str, message: str) -> None:
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
        parsed(f"{{% include '{name}' %}}", folder)

    assert raised.value.message == message


def test_the_bounds_themselves_are_allowed(tmp_path: Path) -> None:
    for number in range(MAX_INCLUDES):
        include = f"{{% include 'x{number + 1}.md' %}}" if number + 1 < MAX_INCLUDES else "end"
        (tmp_path / f"x{number}.md").write_text(include, "utf-8")

    assert render(parsed("{% include 'x0.md' %}", tmp_path), {}) == "end"
    assert len(render(parsed("x" * MAX_TEXT), {})) == MAX_TEXT


def test_a_prompt_that_is_no_file_has_no_name() -> None:
    assert render(parse_prompt("{{ a }}", folder=None, name=""), {"a": 1}) == "1"
    with pytest.raises(PromptError) as raised:
        render(parse_prompt("x\n{{ a }}", folder=None, name=""), {})

    assert (raised.value.file, raised.value.line) == ("", 2)
