"""Keeps modules of a project out of this process: Podium imports most of its own only when they are needed.

An agent's work may have landed by then, and a folder such as `src` in PYTHONPATH comes before the standard library.
"""

# pathlib is left to the commands that need it.
# ruff: noqa: PTH100, PTH109, PTH110, PTH120

from __future__ import annotations

import os
import sys

import podium

MARKS = (".git", ".podium")


def leave_out_project() -> None:
    """Import nothing from now on that PYTHONPATH or the current folder would add from the project around that folder."""
    try:
        here = os.getcwd()
    except OSError:
        return  # The folder has been removed; the command reports it.
    added = {here, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))}
    root = _root(here)
    own = os.path.dirname(os.path.dirname(os.path.abspath(podium.__file__)))

    def is_left_out(folder: str) -> bool:
        place = os.path.abspath(folder)
        return (folder or here) in added and place != own and f"{place}/".startswith(f"{root}/")

    sys.path[:] = [folder for folder in sys.path if not is_left_out(folder)]


def _root(folder: str) -> str:
    """As `project_of`, without the modules that it needs."""
    above = [folder]
    while above[-1] != os.path.dirname(above[-1]):
        above.append(os.path.dirname(above[-1]))
    marked = (parent for mark in MARKS for parent in above if os.path.exists(f"{parent}/{mark}"))
    return next(marked, folder)
