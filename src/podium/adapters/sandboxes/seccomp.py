"""A filter for system calls that namespaces do not contain: keys of the user's session, and wide doors into the kernel.

Found by trying: a key in the session keyring of whoever started Podium could be taken from within all namespaces, and
a socket of the kind by which a virtual machine talks to its host knows no network namespace. The rest is what
container engines refuse as well. Calls of another architecture, which would go round the numbers below, do not exist.
"""

from __future__ import annotations

import errno
import os
import platform
import struct
from functools import cache
from typing import Final

AF_VSOCK: Final = 40

_ARCHITECTURES: Final = {
    # The kernel's number of the architecture; socket(2); then the refused calls.
    "x86_64": (0xC000003E, 41, (248, 249, 250, 298, 321, 323, 425, 426, 427)),
    "aarch64": (0xC00000B7, 198, (217, 218, 219, 241, 280, 282, 425, 426, 427)),
}
"""add_key, request_key, keyctl, perf_event_open, bpf, userfaultfd, io_uring_setup, io_uring_enter, io_uring_register."""

_LOAD, _JUMP_EQUAL, _JUMP_FROM, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCH, _FIRST_ARGUMENT = 0, 4, 16
_X32: Final = 0x40000000
_ALLOW: Final = 0x7FFF0000
_ERRNO: Final = 0x00050000


def filter_file() -> int | None:
    """A descriptor from which bubblewrap reads the filter; None where this machine's calls have unknown numbers."""
    program = compiled(platform.machine())
    if program is None:
        return None
    handle = os.memfd_create("seccomp", os.MFD_CLOEXEC)
    os.write(handle, program)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


@cache
def compiled(machine: str) -> bytes | None:
    """For the kernel's own little machine: one accumulator, jumps forward only."""
    if machine not in _ARCHITECTURES:
        return None
    arch, socket, refused = _ARCHITECTURES[machine]
    calls = [_jump(_JUMP_EQUAL, call, there=len(refused) - place + 3) for place, call in enumerate(refused)]
    return b"".join(
        (
            _word(_LOAD, _ARCH),
            _jump(_JUMP_EQUAL, arch, there=1),
            _word(_RETURN, _ERRNO | errno.ENOSYS),
            _word(_LOAD, _NUMBER),
            _jump(_JUMP_FROM, _X32, there=len(refused) + 4),
            *calls,
            _jump(_JUMP_EQUAL, socket, there=0, otherwise=2),
            _word(_LOAD, _FIRST_ARGUMENT),
            _jump(_JUMP_EQUAL, AF_VSOCK, there=1),
            _word(_RETURN, _ALLOW),
            _word(_RETURN, _ERRNO | errno.EPERM),
        )
    )


def _word(code: int, value: int) -> bytes:
    return struct.pack("=HBBI", code, 0, 0, value)


def _jump(code: int, value: int, *, there: int, otherwise: int = 0) -> bytes:
    """So many instructions on if it is so, and so many if not."""
    return struct.pack("=HBBI", code, there, otherwise, value)
