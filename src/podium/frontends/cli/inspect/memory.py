"""`podium memory`: what runs have kept for later runs."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click

from podium.app.paths import project_root
from podium.core.types import Millis
from podium.errors import ConfigurationError
from podium.frontends.cli.output import say, table, tell_data
from podium.frontends.cli.shell_completion import complete_memory, complete_memory_file
from podium.views.format import iso
from podium.views.plain import visible

JSON: Final = click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object; its schema: podium schema --of memory."
)


@click.group("memory", short_help="List, show, edit and delete what runs remember.")
def command() -> None:
    """List, show, edit and delete the memories of this project: text that runs keep for later runs.

    A step uses one with `memory: NAME`. What its agents wrote is merged here when the run has passed. Where two runs
    changed the same lines, the earlier text stays and the other is beside it as FILE.conflict-RUN.
    """


@command.command("list")
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object; its schema: podium schema --of memories."
)
def list_command(as_json: bool) -> int:
    """List the memories with their size and the number of open conflicts."""
    from podium.app.memories import summaries

    memories = summaries(_root())
    if as_json:
        rows = [{**asdict(each), "changed_at": iso(Millis(each.at_s * 1000))} for each in memories]
        tell_data({"memories": [{k: v for k, v in row.items() if k != "at_s"} for row in rows]})
        return 0
    if not memories:
        say("no memory here yet; a step creates one with memory: NAME", err=True)
        return 0
    table(
        ("memory", "files", "bytes", "conflicts", "changed"),
        [
            (
                visible(each.name),
                str(each.files),
                f"{each.bytes}{' (over the limit)' if each.over_limit else ''}",
                str(each.conflicts or "-"),
                iso(Millis(each.at_s * 1000)),
            )
            for each in memories
        ],
    )
    return 0


@command.command("show")
@click.argument("name", shell_complete=complete_memory)
@click.argument("file", required=False, shell_complete=complete_memory_file)
@JSON
def show_command(name: str, file: str | None, as_json: bool) -> int:
    """Print the files of the memory NAME, or only FILE. What looks like a secret is removed."""
    from podium.app.memories import open_file, open_memory

    memory = open_memory(_root(), name)
    if file is not None:
        open_file(memory, file)
    paths = list(memory.contents) if file is None else [file]
    if as_json:
        files = [{"path": path, "text": memory.text(path)} for path in paths]
        tell_data({"name": name, "commit": memory.stored.commit, "files": files})
        return 0
    for path in paths:
        if file is None:
            click.echo(f"== {visible(path)}")
        text = visible(memory.text(path))
        click.echo(text, nl=not text.endswith("\n"))
    return 0


@command.command("edit")
@click.argument("name", shell_complete=complete_memory)
@click.argument("file", shell_complete=complete_memory_file)
@click.option("--delete", "removes", is_flag=True, help="Remove the file.")
@JSON
def edit_command(name: str, file: str, removes: bool, as_json: bool) -> int:
    """Edit FILE of the memory NAME in your editor, or replace it with what stdin has. Both may be new.

    The change is stored only if no run has changed the memory in the meantime, and only if the memory stays within
    200 files and 1 MB. A run that has already used the memory keeps the version that it has.
    """
    from podium.app.memories import start_edit, store_file

    root = _root()
    memory = start_edit(root, name)
    before = memory.contents.get(file, b"").decode("utf-8")
    text = None if removes else _new_text(before)
    if text == before and file in memory.contents:
        commit = memory.stored.commit
        say("nothing was changed", err=True)
    else:
        commit = store_file(root, memory, file, text)
    if as_json:
        files = [] if text is None else [{"path": file, "text": text}]
        tell_data({"name": name, "commit": commit, "files": files})
    return 0


@command.command("delete")
@click.argument("name", shell_complete=complete_memory)
@click.option("--yes", is_flag=True, help="Delete without asking.")
@JSON
def delete_command(name: str, yes: bool, as_json: bool) -> int:
    """Delete the memory NAME with all its versions.

    A run that has changed it and passes later stores its own side of each changed file again, as FILE.conflict-RUN.
    """
    from podium.app.memories import delete, open_memory

    root = _root()
    memory = open_memory(root, name)
    question = f'Delete the memory "{name}" with {len(memory.contents)} files?'
    asks = not as_json and sys.stdin.isatty()
    if not yes and not (asks and click.confirm(question, default=False, err=True)):
        raise ConfigurationError(
            "nothing was deleted", hint="pass --yes to delete it", code="needs_confirmation"
        )
    delete(root, name)
    if as_json:
        tell_data({"name": name, "commit": None, "files": []})
    return 0


def _new_text(before: str) -> str:
    if not sys.stdin.isatty():
        return sys.stdin.read()
    edited = click.edit(before, extension=".md")
    return before if edited is None else edited


def _root() -> Path:
    return project_root(Path.cwd())
