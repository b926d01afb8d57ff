"""`podium acp`: the workflows of a project as an agent in an editor."""

from __future__ import annotations

import asyncio
import sys
from importlib.util import find_spec
from pathlib import Path

import click

from podium.errors import ConfigurationError
from podium.frontends.cli.shell_completion import complete_workflow


@click.command("acp", short_help="Use workflows as an agent in an editor.")
@click.argument("file", required=False, type=click.Path(path_type=Path), shell_complete=complete_workflow)
@click.option(
    "--may-answer", is_flag=True, help="Let the editor answer what runs ask, by its permission dialog."
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
            code="not_installed",
        )
    if sys.stdin.isatty():
        raise ConfigurationError(
            "`podium acp` is started by an editor, which speaks to it on standard input",
            hint="docs/how-to/use-podium-in-an-editor.md says what to write into its settings",
        )
    # Imported here: the library takes seconds, and the checks above need none of it.
    from podium.frontends.editor.agent import serve_editor

    asyncio.run(serve_editor(file, may_answer=may_answer))
    return 0
