"""What `podium validate` suggests for a name that does not exist."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from podium.frontends.cli.main import podium

HEAD = "podium: 1\nname: w\n"
STEPS = "steps:\n  a: {run: [echo, hi]}\n  c: {agent: claude, prompt: hi}\n  r: {review: reviewer, of: c}\n"


def hint_of(folder: Path, text: str, message: str) -> str:
    """The hint below the mistake with this message."""
    file = folder / "w.yaml"
    file.write_text(HEAD + text)
    done = CliRunner().invoke(podium, ["validate", str(file)], standalone_mode=False)
    assert done.return_value == 2, done.output
    lines = done.stdout.splitlines()
    [place] = [number for number, line in enumerate(lines) if line.endswith(message)]
    following = lines[place + 1 : place + 2]
    return following[0].strip() if following and following[0].startswith("  hint: ") else ""


@pytest.mark.parametrize(
    ("read", "hint"),
    [
        ("steps.a.stdout", "write output or text"),
        ("steps.a.returncode", "write exit_code"),
        ("steps.a.status", "write outcome"),
        ("steps.c.response", "write output or text"),
        ("steps.c.patch", "write diff or files"),
        ("steps.r.approved", "write verdict or outcome"),
        ("steps.r.comments", "write findings"),
        ("steps.c.outptu", 'did you mean "output"?'),
        ("run.zzz", "its fields: base, branch, date, id, name, number, usd"),
    ],
)
def test_a_field_that_does_not_exist_is_answered_with_one_that_does(
    tmp_path: Path, read: str, hint: str
) -> None:
    """Also where another tool calls the field by this name."""
    owner, _, name = read.rpartition(".")
    text = f'{STEPS}  z: {{run: [echo, "${{{{ {read} }}}}"]}}\n'
    assert hint_of(tmp_path, text, f'{owner} has no field "{name}"') == f"hint: {hint}"


def test_long_lists_of_fields_are_cut(tmp_path: Path) -> None:
    text = f'{STEPS}  z: {{run: [echo, "${{{{ steps.a.zzz }}}}"]}}\n'
    assert hint_of(tmp_path, text, 'steps.a has no field "zzz"').endswith("tests and 3 more")


@pytest.mark.parametrize(
    ("read", "message", "hint"),
    [
        ("inputs.x", 'inputs has no "x"', "declare it: inputs: {x: string}"),
        ("vars.x", "vars.x is never set", "give it a first value: vars: {x: 0}"),
        (
            "steps.c.output.x",
            'steps.c.output is text and has no field "x"',
            "output: {schema: ...} declares its fields",
        ),
    ],
)
def test_a_value_that_was_not_declared_is_answered_with_how_to_declare_it(
    tmp_path: Path, read: str, message: str, hint: str
) -> None:
    text = f'{STEPS}  z: {{run: [echo, "${{{{ {read} }}}}"]}}\n'
    assert hint_of(tmp_path, text, message) == f"hint: {hint}"


@pytest.mark.parametrize(
    ("step", "message", "hint"),
    [
        (
            "agent: claude, prompt: hi, output: {x: int}",
            '"output" has an unknown key "x"',
            "its keys: schema, choice, file, files, folder",
        ),
        (
            'run: "true", sandbox: {net: none}',
            '"sandbox" has an unknown key "net"',
            "its keys: level, image, memory, cpu, processes, disk, files, scratch",
        ),
        ('run: "true", foo: 1', 'step "z" has an unknown key "foo"', ""),
        ('run: "true", env: {A: 1}', '"env" must be a list', "write it in brackets: [a, b]"),
    ],
)
def test_an_unknown_key_of_a_short_block_is_answered_with_all_keys(
    tmp_path: Path, step: str, message: str, hint: str
) -> None:
    """A step has too many to list."""
    assert hint_of(tmp_path, f"steps:\n  z: {{{step}}}\n", message) == (f"hint: {hint}" if hint else "")
