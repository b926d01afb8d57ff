"""`podium roles`: list, show, check and install roles."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from podium.app.paths import project_root, user_dir
from podium.errors import ConfigurationError
from podium.files.project_paths import ProjectPaths
from podium.frontends.cli.output import say, table
from podium.frontends.cli.shell_completion import complete_role
from podium.views.plain import visible

if TYPE_CHECKING:
    from podium.app.author.roles import RoleListing


@click.group("roles", short_help="List, show, check and install roles.")
def command() -> None:
    """List, show, check and install the roles that workflows of this project can use.

    Roles are looked up in .podium/roles of the project, in the user's folder, and among the shipped ones. A
    role refines the one of the same name that is further away.
    """


@command.command("list")
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object; its schema: podium schema --of roles."
)
def list_command(as_json: bool) -> int:
    """List all roles with agent, origin and purpose."""
    from dataclasses import asdict

    from podium.app.author.roles import list_roles

    roles = list_roles(_project(), user_dir=user_dir())
    if as_json:
        click.echo(json.dumps({"roles": [asdict(role) for role in roles]}, indent=2))
        return 0
    rows = [
        (role.name, role.origin, _pack_of(role), role.agent or "-", visible(role.description))
        for role in roles
    ]
    table(("role", "from", "pack", "agent", "description"), rows)
    return 0


@command.command("show")
@click.argument("name", shell_complete=complete_role)
@click.option("--origin", is_flag=True, help="Annotate each key with the file and line it came from.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object; its schema: podium schema --of role."
)
def show_command(name: str, origin: bool, as_json: bool) -> int:
    """Print the role NAME with everything it inherits."""
    from podium.app.author.roles import show_role
    from podium.workflow.merge.merge import Merged
    from podium.workflow.merge.write_yaml import write_merged

    shown = show_role(name, _project(), user_dir=user_dir())
    if as_json:
        data = {"name": shown.name, "role": shown.value, "origins": shown.origins}
        click.echo(json.dumps(data, indent=2))
    else:
        click.echo(write_merged(Merged(shown.node), origin=origin), nl=False)
    return 0


@command.command("check")
@click.argument("personas", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--section",
    "sections",
    multiple=True,
    metavar="NAME",
    help="Heading that each persona file must have; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the problems as one JSON list.")
def check_command(personas: tuple[Path, ...], sections: tuple[str, ...], as_json: bool) -> int:
    """Check every role as if a workflow used it. Exit code 0 if all are valid, else 2.

    With PERSONAS, Markdown files or folders of them, these are listed and checked instead: each must have text, and
    the sections that --section names.
    """
    from podium.frontends.cli.output import tell_problems

    if personas:
        from podium.app.author.personas import check_personas

        return tell_problems(check_personas(personas, sections), as_json=as_json)
    if sections:
        raise ConfigurationError(
            "--section needs persona files", hint="podium roles check prompts/ --section NAME"
        )
    from podium.app.author.roles import check_roles

    return tell_problems((check_roles(_project(), user_dir=user_dir()),), as_json=as_json)


@command.command("install")
@click.argument("source")
@click.option("--user", "for_user", is_flag=True, help="For all projects of the user, not for this one.")
@click.option("--replace", is_flag=True, help="Also where a role of that name is there with another content.")
@click.option("--yes", is_flag=True, help="Install without asking.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object; its schema: podium schema --of role_pack."
)
def install_command(source: str, for_user: bool, replace: bool, yes: bool, as_json: bool) -> int:
    """Install the roles of SOURCE: a role file, a folder, or a git repository (URL, or URL#branch).

    A folder or repository may have a pack.yaml with name, version, author, description and requires, whose entries
    are names or {name, version: ">=1.0, <2"}. A role file with these keys is a pack by itself. Installed packs are listed in roles/installed.json with their versions and dependencies. The gates of a role run commands on
    your machine, so they are shown before you confirm, with its sandbox, network and tools. A role that
    weakens the sandbox is refused when it is used, unless the level is typed for the run.
    """
    from podium.app.author.role_packs import install, open_pack, pack_data

    project = _project()
    home = user_dir() if for_user else ProjectPaths(project).state_dir
    pack = open_pack(source, home=home, project=project, user_dir=user_dir(), replace=replace)
    author = f" by {visible(pack.author)}" if pack.author else ""
    say(f"{pack.name} {pack.version or '(no version)'}{author} from {pack.source}", err=True)
    for role in pack.roles:
        say(f"  {role.name}: {visible(role.description) or 'no description'}", err=True)
        for line in (*role.permissions, *(f"runs: {command}" for command in role.commands)):
            say(f"    {visible(line)}", err=True)
    question = "Install these roles?"
    if not yes and not (
        not as_json and sys.stdin.isatty() and click.confirm(question, default=False, err=True)
    ):
        if as_json:
            raise ConfigurationError(
                "nothing was installed", hint="pass --yes to install them", code="needs_confirmation"
            )
        say("nothing was installed; pass --yes to install them", err=True)
        return 0
    written = install(pack, home)
    if as_json:
        click.echo(json.dumps(pack_data(pack), indent=2))
        return 0
    for path in written:
        click.echo(str(path))
    return 0


def _pack_of(role: RoleListing) -> str:
    if role.pack is None:
        return "-"
    return visible(role.pack if role.version is None else f"{role.pack}@{role.version}")


def _project() -> Path:
    return project_root(Path.cwd())
