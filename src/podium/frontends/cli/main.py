"""The `podium` command: lazy subcommands, one place where errors become messages and exit codes.

A subcommand's module is imported only when it is used, so that `podium --help` stays fast.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Final, NoReturn

import click

from podium import __version__
from podium.errors import EXIT_CANCELLED, PodiumError

COMMANDS: Final = {
    "validate": "Check workflow files and name every mistake by line.",
    "resolve": "Print a workflow as it stands after templates and configuration.",
    "graph": "Show the steps of a workflow and where they lead.",
    "simulate": "Rehearse a workflow without agents, network or money.",
    "schema": "Print the JSON Schema of the file format, for editors.",
}


class LazyGroup(click.Group):
    """Knows its commands by name and help line; imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"podium.frontends.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="podium")
def podium() -> None:
    """Run teams of AI coding agents from one YAML file, and verify what they did."""


def main() -> NoReturn:
    try:
        code = podium.main(prog_name="podium", standalone_mode=False)
    except PodiumError as error:
        _complain(error.message, error.hint)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(EXIT_CANCELLED)
    except BrokenPipeError:
        # The reader of our output has gone (`podium ... | head`): nothing is left to be said to it.
        sys.stderr.close()
        sys.exit(0)
    sys.exit(code if isinstance(code, int) else 0)


def _complain(message: str, hint: str | None) -> None:
    click.echo(message, err=True)
    if hint:
        click.echo(f"  hint: {hint}", err=True)
