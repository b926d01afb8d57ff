"""Shared by the commands: which project, which run, and how lines reach a terminal."""

from __future__ import annotations

import functools
import locale
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO, TypeAlias

import click

from podium.app.paths import has_runs, project_of_file, project_root, user_dir
from podium.frontends.cli.output import say
from podium.frontends.cli.safe_terminal import COLOURS
from podium.frontends.cli.shell_completion import complete_open_run, complete_run, complete_workflow

if TYPE_CHECKING:
    from podium.app.author.load import LoadedWorkflow
    from podium.app.project import Project
    from podium.app.run.cost_history import History
    from podium.core.model import Workflow
    from podium.core.payloads import Chosen
    from podium.views.text.terminal import Paint, Tone

LOOK_S: Final = 0.2
"""How long a follower waits before it looks again."""

Command: TypeAlias = "Callable[..., int]"


def in_project(
    *,
    run: Literal["none", "optional", "required"] = "none",
    open_only: bool = False,
    create: bool = False,
    waiting: Literal["answer", "value"] | None = None,
    then: str = "",
    then_optional: bool = False,
) -> Callable[[Command], Command]:
    """Pass a command the project around the current folder as `project`, and the run that was named as `run`.

    A run is named by its id, by a prefix of it, or as @2 for the second newest; without a name the newest is meant.
    With `open_only` the Tab key offers only runs that have not ended. With `waiting`, the run that waits for a person
    is meant if none is named. With `then`, the argument that follows the run, the run may be left out before it. That argument
    is needed unless `then_optional`.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def call(**arguments: Any) -> int:
            with opened_project(create=create) as project:
                if then:
                    _move_to(then, project, arguments, is_optional=then_optional)
                if waiting is not None and arguments["run"] is None:
                    arguments["run"] = project.commands.waiting_run(for_value=waiting == "value")
                if run != "none":
                    arguments["run"] = project.run(arguments["run"]).run
                return command(project=project, **arguments)

        if run == "none":
            return call
        completes = complete_open_run if open_only else complete_run
        return click.argument("run", required=run == "required", shell_complete=completes)(call)

    return decorate


def _move_to(then: str, project: Project, arguments: dict[str, Any], *, is_optional: bool) -> None:
    """Without a run, the first word belongs to the argument after it."""
    # Imported here, as in `opened_project`: its imports take time.
    from podium.app.project import LATEST

    first, rest = arguments["run"], arguments[then]
    is_pair = isinstance(rest, tuple) and first is not None and "=" in first
    if rest and not is_pair:
        return
    heads = project.runtime.heads() if first is not None else ()
    if (
        not first
        or first.startswith("@")
        or first in LATEST
        or any(head.run.startswith(first) for head in heads)
    ):
        if is_optional:
            return
        parameters = click.get_current_context().command.params
        missing = next(each for each in parameters if each.name == then)
        raise click.MissingParameter(param=missing, param_type="argument")
    if is_optional and first[0].isdigit():
        return  # An id that does not exist: names of steps begin with a letter.
    arguments[then] = (first, *rest) if isinstance(rest, tuple) else first
    arguments["run"] = None


def in_project_of_file(command: Command) -> Command:
    """Pass a command the workflow of the file that was named, as `definition`, and its project.

    The file is read once, before the folder of a project without runs is created: a refused command leaves nothing.
    """

    @functools.wraps(command)
    def call(*, file: Path, **arguments: Any) -> int:
        # Imported here: most commands read no workflow.
        from podium.app.author.load import load_workflow
        from podium.app.values import parse_settings

        root = project_of_file(file)
        if root != project_root(Path.cwd()):
            say(f"in {root}", err=True)
        agents = tuple(agent_setting(pair) for pair in arguments.pop("roles", ()))
        settings, sandbox = (*arguments.pop("settings", ()), *agents), arguments.get("sandbox")
        definition = load_workflow(
            file, user_dir=user_dir(), project=root, settings=parse_settings(settings, sandbox=sandbox)
        )
        with opened_project(root, create=True) as project:
            return command(project=project, definition=definition, **arguments)

    return click.argument("file", type=click.Path(path_type=Path), shell_complete=complete_workflow)(call)


def agent_setting(pair: str) -> str:
    """`--role reviewer=codex` is `--set roles.reviewer.agent=codex`."""
    role, sign, agent = pair.partition("=")
    if not (role and sign and agent):
        raise click.BadParameter(f"{pair!r} is not ROLE=AGENT", param_hint="--role")
    return f"roles.{role}.agent={agent}"


@contextmanager
def opened_project(root: Path | None = None, *, create: bool = False) -> Iterator[Project]:
    """The project around the current folder, or the one with this root."""
    from podium.wiring import open_project

    project = open_project(root or project_root(Path.cwd()), user_dir=user_dir(), create=create)
    try:
        yield project
    finally:
        project.close()


def wait() -> None:
    time.sleep(LOOK_S)


def is_colourful(stream: TextIO) -> bool:
    """https://no-color.org; TERM=dumb cannot show any."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def can_show(stream: TextIO, text: str) -> bool:
    """Whether the stream and the locale have these characters; with LANG=C they have only ASCII."""
    try:
        text.encode(stream.encoding or "ascii")
        text.encode("ascii" if _is_plain_locale(os.environ) else locale.getencoding() or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _is_plain_locale(env: Mapping[str, str]) -> bool:
    """Whether LANG=C counts: Python replaces that locale by C.UTF-8 and says so in LC_CTYPE (PEP 538)."""
    replaced = env.get("LC_CTYPE", "") in ("", "C.UTF-8")
    return env.get("LANG") in ("C", "POSIX") and replaced and not env.get("LC_ALL")


def terminal_width() -> int | None:
    """The width to which messages on stdout are cut; None in a pipe or a file, where nothing is cut."""
    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else None


def painter(stream: TextIO | None = None) -> Paint:
    colourful = is_colourful(sys.stdout if stream is None else stream)

    def paint(text: str, tone: Tone) -> str:
        return f"\x1b[{COLOURS[tone]}m{text}\x1b[0m" if colourful and text else text

    return paint


def planned_choices(root: Path, definition: LoadedWorkflow) -> tuple[Chosen, ...]:
    """The agents that steps with `agent: auto` would get if a run started now, without exploring."""
    from podium.core.queries.steps import all_steps

    if not any(step.settings.candidates for _, step, _ in all_steps(definition.workflow)):
        return ()
    from podium.app.choosing.choose import choose_agents
    from podium.app.run.start import RunSource, prepare_run
    from podium.app.values import new_id

    with opened_project(root) as project:
        prepared = prepare_run(project, new_id(), definition.workflow, RunSource(file=str(definition.file)))
        return choose_agents(project, prepared.host, definition.workflow, prepared.host.now(), explores=False)


def stored_history(root: Path, workflow: Workflow) -> History:
    """What calls of earlier runs used; empty for a project without runs."""
    if not has_runs(root):
        return {}
    with opened_project(root) as project:
        return project.queries.history(workflow)
