"""The user's project: whether git leaves Podium's own folder alone."""

from __future__ import annotations

import sys

import click

from podium.app.paths import IGNORED
from podium.app.project import Office
from podium.git.trees.ignore import is_ignored, parse_rules


def offer_ignore_lines(office: Office, *, yes: bool) -> None:
    """Once, at the first run in a repository: without the lines every `git status` shows our files."""
    if not (office.project / ".git").exists() or _is_ignored(office):
        return
    said = office.state_dir / "said"
    if said.exists():
        return
    said.touch()
    path = office.project / ".gitignore"
    if yes or (
        sys.stdin.isatty() and click.confirm(f"Add .podium/* to {path.name}?", default=True, err=True)
    ):
        old = path.read_text("utf-8") if path.exists() else ""
        lines = "".join(f"{line}\n" for line in IGNORED)
        path.write_text(old + ("" if old.endswith("\n") or not old else "\n") + lines, "utf-8")
        click.echo(f"added .podium/* to {path.name}", err=True)
    else:
        click.echo(
            f"hint: add .podium/* to {path.name}, so that git leaves the records of runs alone", err=True
        )


def _is_ignored(office: Office) -> bool:
    texts = [office.project / ".gitignore", office.project / ".git/info/exclude"]
    content = b"\n".join(path.read_bytes() for path in texts if path.is_file())
    rules = {"": parse_rules(content)}
    return is_ignored("", ".podium", is_folder=True, rules=rules) or is_ignored(
        ".podium", "podium.db", is_folder=False, rules=rules
    )
