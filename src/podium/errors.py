"""The errors a person can act on, and the exit code each one means.

    PodiumError                  expected; shown without a traceback
    +-- ConfigurationError   2   the file or the call is wrong; nothing has started
    +-- PathViolation        3   a path leaves the project
    +-- AgentError           1   an agent could not do what was asked of it
    +-- NotApproved          1   the turns were used up and the reviewer was not content
    +-- DiskFault            1   the disk is full, broken or read-only; a run goes on when it is not
    +-- RunFailed            *   a run that had to pass has ended otherwise; the code is that of the run

Whatever else is raised is a bug of ours and keeps its traceback.
"""

from __future__ import annotations

import errno
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


class DiskFault(PodiumError):
    """Nothing that a workflow could answer to: the process ends, and the run stays as it is."""


_OF_THE_DISK: Final = {
    errno.ENOSPC: "there is no room left on the disk",
    errno.EDQUOT: "there is no room left within the quota",
    errno.EFBIG: "a file may not grow any further",
    errno.EIO: "the disk failed",
    errno.EROFS: "the disk cannot be written to",
}


def disk_fault(error: BaseException) -> DiskFault | None:
    """The fault of the disk behind an error, or None."""
    if not isinstance(error, OSError) or error.errno not in _OF_THE_DISK:
        return None
    place = f": {error.filename}" if error.filename else ""
    return DiskFault(
        f"{_OF_THE_DISK[error.errno]}{place} ({error.strerror})", hint="mend that, then go on: podium resume"
    )


class RunFailed(PodiumError):
    """As above, for who runs a workflow with `check`."""

    def __init__(self, message: str, *, run: str, status: str, exit_code: int | None, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.run = run
        self.status = status
        self.exit_code = EXIT_FAILED if exit_code is None else exit_code
