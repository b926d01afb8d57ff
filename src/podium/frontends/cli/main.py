"""The `podium` command: lazy subcommands, one place where errors become messages and exit codes.

A subcommand's module is imported only when it is used, so that `podium --help` stays fast.
"""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from types import ModuleType
from typing import Final, NoReturn

import click

from podium import __version__
from podium.errors import EXIT_CANCELLED, PodiumError, disk_fault
from podium.frontends.cli.streams import let_go, open_streams

COMMANDS: Final = {
    "demo": "Watch a scripted team repair a small project, for real.",
    "init": "Write a first workflow for this project.",
    "run": "Run a workflow.",
    "resume": "Carry on a run that was parked, paused, interrupted or killed.",
    "rerun": "Do a step of a run again, in a new run that takes the rest over.",
    "fork": "Begin a run that shares the past of another up to a step.",
    "watch": "Run a workflow again when files change, or once per new file.",
    "run-step": "Try one step of a workflow, apart from all runs.",
    "validate": "Check workflow files and name every mistake by line.",
    "resolve": "Print a workflow as it stands after templates and configuration.",
    "convert": "Print a file of another format as a native one.",
    "graph": "Show the steps of a workflow and where they lead.",
    "plan": "Forecast calls, tokens, cost and time of a workflow.",
    "simulate": "Rehearse a workflow without agents, network or money.",
    "prompt": "Print what an agent would be told at a step, or was told in a run.",
    "test": "Test workflows with scripted or recorded agents.",
    "runs": "List the runs of this project, the newest first.",
    "show": "Show a run: its steps, what it waits for, what to do next.",
    "events": "Print the events of a run, or follow them.",
    "logs": "Print what agents and commands were told and said.",
    "costs": "Show what runs have cost, by agent, role, step or day.",
    "diff": "Show what a run or a step has changed.",
    "apply": "Land the work of a run that left it on its own ref.",
    "inbox": "List all open questions, with the command that answers each.",
    "approve": "Say yes to what a run asks.",
    "reject": "Say no to what a run asks, with the reason.",
    "answer": "Answer a question that wants a value.",
    "guide": "Give the agents of a run a hint for their next step.",
    "signal": "Tell a run that what it waits for has happened.",
    "pause": "Let a run come to rest after what is running now.",
    "cancel": "End a run; its `finally` steps still run.",
    "serve": "Carry parked runs on when they are ready.",
    "roles": "List, show, check and install roles.",
    "agents": "List the agents: what is installed, and how each logs in.",
    "doctor": "Check that the agents can work here, and that a workflow would run.",
    "gc": "Delete old runs, after showing which.",
    "export": "Write a run into a folder that a stranger can check.",
    "verify": "Check that the log of a run, or an exported folder, is whole and unaltered.",
    "schema": "Print the JSON Schema of a kind of file, or of what --json prints.",
}
GROUPS: Final = {
    "author": frozenset("init validate resolve convert graph plan simulate prompt test schema roles".split()),
    "run": frozenset("demo run resume rerun fork watch run-step serve".split()),
    "control": frozenset("approve reject answer guide signal pause cancel apply inbox".split()),
    "inspect": frozenset("runs show events logs costs diff export verify gc agents doctor".split()),
}
"""The folder in which the module of a command is."""
LOOKS: Final = frozenset({"runs", "show", "events", "logs", "costs", "diff", "inbox", "schema"})
"""They only print, so they have done their work when their reader has seen enough."""


class LazyGroup(click.Group):
    """Knows its commands by name and help line; imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = _imported(module_of(cmd_name))
        command: click.Command = module.command
        return command

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # The reader of our output has gone (`podium ... | head`). Not left to click, which ends with 1 for it.
            let_go()
            return 0 if ctx.invoked_subcommand in LOOKS else EXIT_CANCELLED

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def module_of(command: str) -> str:
    (group,) = (group for group, names in GROUPS.items() if command in names)
    return f"podium.frontends.cli.{group}.{command.replace('-', '_')}"


def _imported(name: str) -> ModuleType:
    """What a module makes while it is imported stays, so looking for garbage in it is lost time, then and later."""
    if name in sys.modules:
        return sys.modules[name]
    gc.disable()
    try:
        return import_module(name)
    finally:
        gc.freeze()
        gc.enable()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="podium")
def podium() -> None:
    """Run teams of AI coding agents from one YAML file, and verify what they did."""


def main() -> NoReturn:
    open_streams()
    if any(stream is not None and stream.isatty() for stream in (sys.stdout, sys.stderr)):
        # Imported here: pipes need none of it.
        from podium.frontends.cli.safe_terminal import guard_terminals

        guard_terminals()
    try:
        code = podium.main(prog_name="podium", standalone_mode=False)
    except PodiumError as error:
        _end(error)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(EXIT_CANCELLED)
    except OSError as error:
        fault = disk_fault(error)
        if fault is None:
            raise
        _end(fault)
    sys.exit(code if isinstance(code, int) else 0)


def _end(error: PodiumError) -> NoReturn:
    # Imported here: most calls have nothing to complain about.
    from podium.frontends.cli.output import complain

    complain(error)
    sys.exit(error.exit_code)
