"""Refuses commands that decide about runs when a process of a step gives them.

The sandbox is the first lock: a step does not see the project's store. This is the second one, for steps without a
sandbox: the marker of the run is looked for in the environment of the process and of all its ancestors, so that
removing it from one environment does not help.
"""

from __future__ import annotations

import os

from podium.errors import ConfigurationError
from podium.process.procfs import has_marked_ancestor


def refuse_inside_step(command: str) -> None:
    """Raises if a process of a step, or one that it has started, gives a command that only people may give."""
    if has_marked_ancestor(os.getpid()):
        raise ConfigurationError(
            f"podium {command} was refused: a process of a step cannot start, answer, steer or land runs",
            hint="end the step and say in its answer what a person should decide",
            code="inside_step",
        )
