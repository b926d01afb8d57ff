"""The `podium` command: lazy subcommands, one place where errors become messages and exit codes.

A subcommand's module is imported only when it is used, so that `podium --help` stays fast.
"""

from __future__ import annotations

import gc
import resource
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final, NoReturn

import click

from podium import __version__
from podium.errors import EXIT_CANCELLED, PodiumError, os_fault
from podium.frontends.cli.import_path import leave_out_project
from podium.frontends.cli.streams import end_process, let_go, open_streams

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS: Final = {
    "demo": "Watch a scripted team repair a small project.",
    "init": "Write a first workflow for this project.",
    "run": "Run a workflow.",
    "start-task": "Run the project's workflow for a task in words.",
    "resume": "Resume a parked, paused, interrupted, killed or failed run.",
    "take": "Do the next attempt of a step yourself, in the agent's own program.",
    "raise": "Raise the limit that ended a run, and continue it.",
    "rerun": "Run a step again in a new run that reuses all other results.",
    "fork": "Start a new run from a step of an earlier run.",
    "watch": "Run a workflow whenever files change, or once per new file.",
    "run-step": "Run a single step and discard the result.",
    "validate": "Check workflow files and report every mistake by line.",
    "resolve": "Print the workflow with templates and configuration applied.",
    "convert": "Convert a file of another format to the native format.",
    "graph": "Draw the steps of a workflow and their routes.",
    "plan": "Forecast the calls, tokens, cost and time of a workflow.",
    "simulate": "Simulate a workflow without agents, network or cost.",
    "prompt": "Print the prompt of a step, or one that a run sent.",
    "context": "Show which files are packed into the prompt of a step, and why.",
    "deps": "Show which components import each other, and which needs are missing.",
    "test": "Test workflows with scripted or recorded agents.",
    "top": "Watch all runs in the terminal and decide there.",
    "runs": "List the runs of this project, newest first.",
    "show": "Show a run: its steps, open questions and next commands.",
    "events": "Print the events of a run, or follow them.",
    "logs": "Print the prompts, answers and output of a run.",
    "costs": "Show the cost of runs by agent, role, step or day.",
    "diff": "Show the changes of a run or a step.",
    "apply": "Merge a finished run's changes into a branch.",
    "complete-task": "Merge the work of a task after looking at its verdicts.",
    "inbox": "List open questions with the command that answers each.",
    "approve": "Approve what a run is waiting for.",
    "reject": "Reject what a run is waiting for, with a reason.",
    "answer": "Answer a question with a value.",
    "notify": "Show or test the channels that tell people about runs.",
    "passkeys": "List or remove the passkeys that approve with presence.",
    "guide": "Send guidance to the agents of a run.",
    "signal": "Send a signal that a run is waiting for.",
    "jump": "Return a running run to an earlier step.",
    "pause": "Pause a run after its active attempts finish.",
    "cancel": "Cancel a run; its `finally` steps still run.",
    "serve": "Resume parked runs when they are due.",
    "ui": "Open the pages of this project in the browser.",
    "mcp": "Give your own assistant tools for the runs of this project.",
    "acp": "Use workflows as an agent in an editor.",
    "worker": "Perform attempts of runs on a cluster.",
    "metrics": "Show success, quality, cost and time of agents and roles over many runs.",
    "history": "Check, rebuild, copy and export what metrics are made from.",
    "compare": "Compare workflows on a suite of cases, with intervals and a budget.",
    "memory": "List, show, edit and delete what runs remember.",
    "roles": "List, show, check and install roles.",
    "agents": "List agents: what is installed, and how each logs in.",
    "doctor": "Check that agents and workflows can run on this machine.",
    "gc": "Delete old runs after listing them.",
    "report": "Write a run as one HTML page, or as Markdown for a pull request.",
    "export": "Export a run as a folder that anyone can verify offline.",
    "verify": "Verify that a run's log or an export is complete and unaltered.",
    "schema": "Print the JSON Schema of a file kind or of --json output.",
}
GROUPS: Final = {
    "author": frozenset(
        "init validate resolve convert graph plan simulate prompt context deps test schema roles".split()
    ),
    "run": frozenset(
        "demo run start-task resume take raise rerun fork watch run-step serve worker ui mcp acp".split()
    ),
    "control": frozenset(
        "approve reject answer guide signal jump pause cancel apply complete-task inbox notify passkeys".split()
    ),
    "inspect": frozenset(
        "runs top show events logs costs diff report export verify gc agents doctor memory history metrics compare".split()
    ),
}
"""The folder in which the module of a command is."""
MODULES: Final = {"raise": "raise_limit"}
"""Commands whose name is a word of Python."""
ALIASES: Final = {"analyze-deps": "deps"}
"""Other names of commands, which are not listed."""
HEADINGS: Final = {
    "Every day": "init run show approve resume",
    "Start": "demo start-task rerun fork run-step watch serve",
    "Watch": "ui top runs logs events",
    "Decide": "inbox reject answer apply complete-task take raise guide signal jump pause cancel notify passkeys",
    "Look back": "diff costs report metrics compare history memory export verify",
    "Write and check workflows": "validate plan simulate test graph deps prompt context resolve convert roles schema",
    "Assistants and editors": "mcp acp",
    "Agents and the machine": "agents doctor worker gc",
}
"""What `podium --help` lists, in this order."""
OTHER_WORDS: Final = {
    **dict.fromkeys(("status", "info", "state"), "show"),
    **dict.fromkeys(("list", "ls", "ps"), "runs"),
    **dict.fromkeys(("stop", "kill", "abort"), "cancel"),
    **dict.fromkeys(("continue", "retry", "restart"), "resume"),
    **dict.fromkeys(("start", "exec", "execute"), "run"),
    **dict.fromkeys(("check", "lint"), "validate"),
    **dict.fromkeys(("merge", "land"), "apply"),
    "tail": "logs",
    "cost": "costs",
    "questions": "inbox",
}
"""What other tools call a command."""
READ_ONLY_COMMANDS: Final = frozenset(
    {"runs", "show", "events", "logs", "costs", "diff", "inbox", "schema", "metrics"}
)
"""They only print, so a reader that closes the pipe early is not an error."""


class LazyGroup(click.Group):
    """Knows its commands by name and help line; imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        cmd_name = ALIASES.get(cmd_name, cmd_name)
        if cmd_name not in COMMANDS:
            return None
        module = _imported(module_of(cmd_name))
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in COMMANDS or args[0] in ALIASES or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        # Imported here: most calls name a command that exists.
        from podium.workflow.problems import nearest

        word = args[0] if args[0] in OTHER_WORDS else nearest(args[0], (*COMMANDS, *OTHER_WORDS))
        meant = OTHER_WORDS.get(word or "", word)
        suggestion = f" Did you mean '{meant}'?" if meant else ""
        raise click.UsageError(f"No such command '{args[0]}'.{suggestion}", ctx)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # The reader of our output has gone (`podium ... | head`). Not left to click, which ends with 1 for it.
            let_go()
            return 0 if ctx.invoked_subcommand in READ_ONLY_COMMANDS else EXIT_CANCELLED

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names and help lines without importing a command; click's own way would import all of them."""
        from click.shell_completion import CompletionItem

        names = [name for name in COMMANDS if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=COMMANDS[name]) for name in names), *options]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, names in HEADINGS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, COMMANDS[name]) for name in names.split()])


def module_of(command: str) -> str:
    (group,) = (group for group, names in GROUPS.items() if command in names)
    return f"podium.frontends.cli.{group}.{MODULES.get(command, command.replace('-', '_'))}"


def _imported(name: str) -> ModuleType:
    """What a module makes while it is imported stays, so looking for garbage in it is lost time, then and later."""
    if name in sys.modules:
        return sys.modules[name]
    gc.disable()
    try:
        return import_module(name)
    finally:
        gc.freeze()
        # Records of events and states refer to no circles. With Python's own thresholds, a tenth of the time in which a
        # long log is read would go into looking for some.
        gc.set_threshold(300_000, 20)
        gc.enable()


@click.group(
    cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="podium")
@click.pass_context
def podium(context: click.Context) -> None:
    """Run teams of AI coding agents from one YAML file, and verify what they did.

    Without a command: what runs in this project, what waits for you, the last results, and what to do next.
    """
    if context.invoked_subcommand is None:
        _imported("podium.frontends.cli.project_status").print_status()


def main() -> NoReturn:
    """The process of the command, from its first line to its end."""
    try:
        run_command()
    except SystemExit as ended:
        if not isinstance(ended.code, int):
            raise
        end_process(ended.code)


def run_command() -> NoReturn:
    """Run the command that was typed and raise SystemExit with its code."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # A dump contains the environment and its secrets.
    leave_out_project()
    open_streams()
    if any(stream is not None and stream.isatty() for stream in (sys.stdout, sys.stderr)):
        # Imported here: pipes need none of it.
        from podium.frontends.cli.safe_terminal import guard_terminals

        guard_terminals()
    try:
        code = podium.main(prog_name="podium", standalone_mode=False)
    except Exception as error:  # noqa: BLE001  # reported, or raised again with its traceback
        _end(error)
    except KeyboardInterrupt:
        _end(click.Abort())
    sys.exit(code if isinstance(code, int) else 0)


def _end(error: Exception) -> NoReturn:
    """Report an error in words on stderr, with --json also as a document on stdout, and exit by the table of codes."""
    # Imported here: most calls have nothing to complain about.
    from podium.frontends.cli.output import complain, tell_error

    if isinstance(error, OSError):
        error = os_fault(error) or error
    if wants_json(sys.argv[1:]):
        try:
            tell_error(error)
        except BrokenPipeError:
            let_go()
    match error:
        case PodiumError():
            complain(error)
            sys.exit(error.exit_code)
        case click.ClickException():
            error.show()
            sys.exit(error.exit_code)
        case click.Abort():
            sys.exit(EXIT_CANCELLED)
        case _:
            raise error


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether --json was typed. Read from the words, because a usage error ends the parsing before the option counts."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options
