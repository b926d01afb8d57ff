"""Offers the lines of .gitignore that keep Podium's records out of git."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from podium.app.paths import IGNORED
from podium.app.project import Project
from podium.files import atomic
from podium.files.project_paths import STATE_DIR
from podium.frontends.cli.output import say
from podium.git.trees.ignore import MAX_BYTES, is_ignored, parse_rules


def offer_ignore_lines(project: Project, *, yes: bool) -> None:
    """Once, at the first run in a repository; without the lines, every `git status` shows our files."""
    if not (project.root / ".git").exists() or _is_ignored(project):
        return
    marker = project.paths.state_dir / "said"
    if marker.exists():
        return
    marker.touch()
    path = project.root / ".gitignore"
    if yes or (
        sys.stdin.isatty() and click.confirm(f"Add .podium/* to {path.name}?", default=True, err=True)
    ):
        _add_lines(path.resolve())
        say(f"added .podium/* to {path.name}", err=True)
    else:
        click.echo(
            f"hint: add .podium/* to {path.name}, so that git leaves the records of runs alone", err=True
        )


def _add_lines(path: Path) -> None:
    """Append the lines by a whole-file write: a crash must not leave half of the user's file."""
    old, mode = (path.read_bytes(), path.stat().st_mode & 0o777) if path.exists() else (b"", 0o644)
    lines = "".join(f"{line}\n" for line in IGNORED).encode()
    atomic.write(path, old + (b"" if old.endswith(b"\n") or not old else b"\n") + lines, mode=mode)


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_BYTES)


def _is_ignored(project: Project) -> bool:
    texts = [project.root / ".gitignore", project.root / ".git/info/exclude"]
    content = b"\n".join(_beginning(path) for path in texts if path.is_file())
    rules = {"": parse_rules(content)}
    return is_ignored("", STATE_DIR, is_folder=True, rules=rules) or is_ignored(
        STATE_DIR, "podium.db", is_folder=False, rules=rules
    )
