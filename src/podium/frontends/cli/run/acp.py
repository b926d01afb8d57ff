"""`podium acp`: the workflows of a project as an agent in an editor."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from importlib.util import find_spec
from pathlib import Path

import click

from podium.app.inside_step import refuse_inside_step
from podium.app.paths import project_root
from podium.errors import ConfigurationError
from podium.files.project_paths import ProjectPaths
from podium.frontends.cli.shell_completion import complete_workflow


@click.command("acp", short_help="Use workflows as an agent in an editor.")
@click.argument("file", required=False, type=click.Path(path_type=Path), shell_complete=complete_workflow)
@click.option(
    "--may-answer", is_flag=True, help="Let the editor answer what runs ask, by its permission dialog."
)
@click.option(
    "--json",
    is_flag=True,
    expose_value=False,
    help="Print an error before the start as JSON, too; the protocol itself is JSON lines anyway.",
)
def command(file: Path | None, may_answer: bool) -> int:
    """Serve an editor on standard input and output, by the Agent Client Protocol.

    A prompt starts FILE, or the workflow that it names as /name; its text is the input `task`. The editor shows the
    steps, what each has changed, and what the run asks.
    """
    if find_spec("acp") is None:
        raise ConfigurationError(
            "`podium acp` needs a library that is not installed: agent-client-protocol",
            hint="pip install 'podium[mcp]'",
            code="extra_missing",
        )
    refuse_inside_step(ProjectPaths(project_root(Path.cwd())), "serve an editor")
    if sys.stdin.isatty() or not _is_connected():
        raise ConfigurationError(
            "`podium acp` is started by an editor, which talks to it over pipes on standard input and output",
            hint="docs/how-to/use-podium-in-an-editor.md says what to write into its settings",
        )
    # Imported here: the library takes seconds, and the checks above need none of it.
    from podium.frontends.editor.agent import serve_editor

    asyncio.run(serve_editor(file, may_answer=may_answer))
    return 0


def _is_connected() -> bool:
    """Whether both standard streams can be waited for, as those that an editor opens can; files cannot."""
    modes = [os.fstat(number).st_mode for number in (0, 1)]
    return not any(stat.S_ISREG(mode) or stat.S_ISDIR(mode) for mode in modes)
