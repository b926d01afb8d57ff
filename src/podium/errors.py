"""The errors a person can act on, and the exit code each one means.

    PodiumError                  expected; shown without a traceback
    +-- ConfigurationError   2   the file or the call is wrong; nothing has started
    +-- PathViolation        3   a path leaves the project
    +-- AgentError           1   an agent could not do what was asked of it
    +-- NotApproved          1   the turns were used up and the reviewer was not content

Whatever else is raised is a bug of ours and keeps its traceback.
"""

from __future__ import annotations

from typing import Final

EXIT_PASSED: Final = 0
EXIT_FAILED: Final = 1
EXIT_CONFIGURATION: Final = 2
EXIT_PATH: Final = 3
EXIT_REJECTED: Final = 4
EXIT_LIMITED: Final = 5
EXIT_WAITING: Final = 6
EXIT_TIMED_OUT: Final = 124
EXIT_CANCELLED: Final = 130


class PodiumError(Exception):
    exit_code: int = EXIT_FAILED

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ConfigurationError(PodiumError):
    exit_code = EXIT_CONFIGURATION


class PathViolation(PodiumError):
    exit_code = EXIT_PATH


class AgentError(PodiumError):
    """For callers of the Python API: a run has no exception for this, it has an outcome."""


class NotApproved(PodiumError):
    """As above; only who asks for it gets it, since a last version is a result too."""
