"""The page of the command line, from click's own description of it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from podium.frontends.cli.main import COMMANDS, podium
from tools.pages import markdown
from tools.pages.markdown import code, table

EXITS = (
    ("0", "done; of a command that carries a run on, and of `simulate`: it passed"),
    ("1", "the run failed"),
    ("2", "a file or a call is wrong; nothing has started"),
    ("3", "a path leaves the project"),
    ("4", "a person rejected or stopped it"),
    ("5", "a hard limit was reached"),
    ("6", "the run waits for a person or a signal, or is paused"),
    ("124", "its time ran out"),
    ("130", "cancelled; or the process was interrupted, and the run is not over"),
)

INTRO = """\
Results go to the standard output, remarks to the standard error. The user's own configuration, roles and templates
are looked for in `$XDG_CONFIG_HOME/podium`, or `~/.config/podium`."""


def page() -> str:
    context = click.Context(podium, info_name="podium")
    overview = [(f"[`podium {name}`](#podium-{name})", text) for name, text in COMMANDS.items()]
    return markdown.page(
        "Command line",
        INTRO,
        table(("command", "what it does"), overview),
        table(("option of every command", "meaning"), [("`-h`, `--help`", "Show its help and exit.")]),
        "`podium --version` prints the version.",
        *(part for name in COMMANDS for part in _command(context, name)),
        "## Exit codes",
        table(("code", "meaning"), EXITS),
        "[Exit codes](exit-codes.md) says what they mean for each command.",
    )


def _command(parent: click.Context, name: str) -> Iterator[str]:
    command = podium.get_command(parent, name)
    assert command is not None
    yield from _described(click.Context(command, info_name=name, parent=parent), "##")


def _described(context: click.Context, level: str) -> Iterator[str]:
    command = context.command
    yield f"{level} {context.command_path}"
    yield code(" ".join([context.command_path, *command.collect_usage_pieces(context)]))
    yield inspect.cleandoc(command.help or "").replace("<", "&lt;")
    rows = list(_options(command))
    if rows:
        yield table(("option", "value", "meaning"), rows)
    for name, inner in (command.commands if isinstance(command, click.Group) else {}).items():
        yield from _described(click.Context(inner, info_name=name, parent=context), f"{level}#")


def _options(command: click.Command) -> Iterator[tuple[str, str, str]]:
    for option in command.params:
        if isinstance(option, click.Option):
            names = ", ".join(map(code, option.opts))
            default = f" Default: {code(str(option.default))}." if _has_default(option) else ""
            yield names, _value(option), f"{option.help or ''}{default}".strip()


def _has_default(option: click.Option) -> bool:
    return not option.is_flag and isinstance(option.default, str | int)


def _value(option: click.Option) -> str:
    if option.is_flag:
        return ""
    if isinstance(option.type, click.Choice):
        return " or ".join(map(code, option.type.choices))
    if isinstance(option.type, click.IntRange):
        return f"a number from {option.type.min} to {option.type.max}"
    return (
        code(option.metavar)
        if option.metavar
        else {"path": "a path", "integer": "a number"}.get(option.type.name, "text")
    )
