"""`podium demo`: a scripted team repairs a small project."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

import anyio
import click

from podium.app.author.demo import WORKFLOW, set_up, test_command
from podium.app.paths import user_dir
from podium.app.run.start import RunRequest
from podium.frontends.cli.foreground import Foreground, is_terminal, send_command
from podium.frontends.cli.output import say, tell_run
from podium.views.text.next_steps import Hint
from podium.views.text.terminal import hint_lines, no_paint
from podium.wiring import open_project


@click.command("demo", short_help="Watch a scripted team repair a small project.")
@click.option("--ask", is_flag=True, help="Ask you for the approval at this terminal.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    help="Folder for the project (default: a temporary one).",
)
@click.option("--json", "as_json", is_flag=True, help="Print the run as JSON at the end.")
def command(ask: bool, folder: Path | None, as_json: bool) -> int:
    """Create a small git repository with a failing test and let a scripted team repair it.

    The agents' answers are scripted. Workspaces, the test gate, feedback, reviews, the approval and the landing
    are real. Needs no key and no network.
    """
    place = Path(tempfile.mkdtemp(prefix="podium-demo-")) if folder is None else folder.absolute()
    place.mkdir(parents=True, exist_ok=True)
    if any(place.iterdir()):
        raise click.UsageError(f"{place} is not empty")
    set_up(place)
    tests, runner = test_command()
    project = open_project(place, user_dir=user_dir(), create=True)
    request = RunRequest(definition=project.load(place / WORKFLOW), inputs={"tests": tests})
    started = project.commands.start(request)
    _talk(f"A project with a failing test: {place}")
    _talk(f"Its gate is a real {runner}; the sandbox in force is {started.host.sandboxes.default.level!r}.")
    if started.host.sandboxes.bubblewrap_problem:
        _talk(f"A stronger sandbox would need bubblewrap: {started.host.sandboxes.bubblewrap_problem}.")
    _talk("The team is scripted. Its first attempt forgets something, and the gate notices.\n")
    asks = ask and is_terminal()
    with Foreground(project, started.run, asks=asks) as display:
        driving = partial(project.commands.drive, started.run, park=not asks, observer=display.observer)
        code = display.finish(anyio.run(driving), hints=asks)
    if not asks:
        _talk(
            f"\nNow a person decides. The demo approves for you, as this would: podium approve {started.run}\n"
        )
        answer = project.commands.approval(started.run, by="demo")
        code = send_command(project, started.run, answer.message, done=str(answer))
    if as_json:
        tell_run(project, started.run)
    project.close()
    _look_around(place, started.run)
    return code


def _look_around(place: Path, run: str) -> None:
    _talk(f"\nLook around:  cd {place}")
    # After `make demo` the program is in a folder of the clone, and not on the PATH.
    podium = "podium" if shutil.which("podium") else shlex.quote(str(Path(sys.argv[0]).absolute()))
    hints = (
        Hint(f"{podium} show {run}", "every step, its attempts and what they cost"),
        Hint(f"{podium} logs {run} implement", "the gate's output for the first attempt"),
        Hint(f"{podium} diff {run}", "the change that landed"),
    )
    width = shutil.get_terminal_size().columns if sys.stderr.isatty() else None
    for line in hint_lines(hints, no_paint, indent="  ", width=width):
        _talk(line)


def _talk(text: str) -> None:
    say(text, err=True)
