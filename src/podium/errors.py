"""The errors that a user can act on, and their exit codes.

    PodiumError                  expected; shown without a traceback
    +-- ConfigurationError   2   the file or the call is wrong; nothing has started
    +-- PathViolation        3   a path leaves the project
    +-- AgentError           1   an agent failed
    +-- NotApproved          1   the reviewer did not approve within the allowed turns
    +-- DiskFault            1   the disk is full, broken or read-only; the run can be resumed afterwards
    +-- RunFailed            *   a run that had to pass did not; the code is that of the run

Any other exception is a bug in Podium and keeps its traceback.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
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
    code: str = "failed"
    """The kind of error as a word for programs; `podium schema --of error` lists them."""
    problems: tuple[Mapping[str, object], ...] = ()
    """The mistakes of files that the message lists, each with its place; by data/schemas/problems.json."""

    def __init__(self, message: str, *, hint: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if code is not None:
            self.code = code


class ConfigurationError(PodiumError):
    exit_code = EXIT_CONFIGURATION
    code = "configuration"


class PathViolation(PodiumError):
    exit_code = EXIT_PATH
    code = "path"


class AgentError(PodiumError):
    """Raised only by the Python API; a run has an outcome for this and no exception."""

    code = "agent"


class ModelNotFoundError(AgentError):
    """Raised only by the Python API: the server of an agent does not have its model."""

    code = "model"


class NotApproved(PodiumError):
    """Raised only by the Python API, and only on request, because the last version is also a result."""


WorkflowError = PodiumError
ApprovalTimeoutError = NotApproved
"""The names that programs with a loop of a writer and a reviewer usually give to these two."""


class DiskFault(PodiumError):
    """The disk failed. A workflow cannot handle this: the process ends, and the run can be resumed."""

    code = "disk"


_DISK_ERRORS: Final = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "a file has reached its maximum size",
    errno.EIO: "the disk failed",
    errno.EROFS: "the disk is read-only",
}
_FILE_ERRORS: Final = frozenset(
    {errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP}
)


def disk_fault(error: BaseException) -> DiskFault | None:
    """The disk fault that caused an error; None if it has another cause."""
    if not isinstance(error, OSError) or error.errno not in _DISK_ERRORS:
        return None
    place = f": {error.filename}" if error.filename else ""
    return DiskFault(
        f"{_DISK_ERRORS[error.errno]}{place} ({error.strerror})", hint="fix the disk, then run: podium resume"
    )


def os_fault(error: OSError) -> PodiumError | None:
    """What a person can act on: a fault of the disk, or a file that cannot be used; None if it is our bug."""
    if error.errno in _FILE_ERRORS and error.filename:
        return ConfigurationError(f"{_text(error.filename)}: {error.strerror}", code="unreadable")
    return disk_fault(error)


def _text(name: str | bytes | int) -> str:
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)


class RunFailed(PodiumError):
    """Raised only by the Python API, for a run with `check`."""

    def __init__(self, message: str, *, run: str, status: str, exit_code: int | None, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.run = run
        self.status = status
        self.exit_code = EXIT_FAILED if exit_code is None else exit_code
