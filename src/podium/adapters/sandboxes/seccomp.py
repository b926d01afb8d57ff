"""A filter of system calls that namespaces do not restrict: the user's session keys, and risky kernel interfaces.

Tests showed that a key in the user's session keyring can be read from inside all namespaces, and that vsock sockets,
by which a virtual machine talks to its host, ignore network namespaces. Container engines refuse the other calls, too.
Calls of another architecture, which would bypass the numbers below, fail as unknown.
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
    # The kernel's number of the architecture, that of socket(2), and those of the refused calls.
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
    """A descriptor with the filter for bubblewrap; None if the call numbers of this machine are unknown."""
    program = compile_filter(platform.machine())
    if program is None:
        return None
    handle = os.memfd_create("seccomp", os.MFD_CLOEXEC)
    os.write(handle, program)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


@cache
def compile_filter(machine: str) -> bytes | None:
    """The filter as a BPF program: one accumulator, and only forward jumps."""
    if machine not in _ARCHITECTURES:
        return None
    arch, socket, refused = _ARCHITECTURES[machine]
    calls = [_jump(_JUMP_EQUAL, call, if_true=len(refused) - place + 3) for place, call in enumerate(refused)]
    return b"".join(
        (
            _instruction(_LOAD, _ARCH),
            _jump(_JUMP_EQUAL, arch, if_true=1),
            _instruction(_RETURN, _ERRNO | errno.ENOSYS),
            _instruction(_LOAD, _NUMBER),
            _jump(_JUMP_FROM, _X32, if_true=len(refused) + 4),
            *calls,
            _jump(_JUMP_EQUAL, socket, if_true=0, if_false=2),
            _instruction(_LOAD, _FIRST_ARGUMENT),
            _jump(_JUMP_EQUAL, AF_VSOCK, if_true=1),
            _instruction(_RETURN, _ALLOW),
            _instruction(_RETURN, _ERRNO | errno.EPERM),
        )
    )


def _instruction(code: int, value: int) -> bytes:
    return struct.pack("=HBBI", code, 0, 0, value)


def _jump(code: int, value: int, *, if_true: int, if_false: int = 0) -> bytes:
    """A conditional jump by a number of instructions."""
    return struct.pack("=HBBI", code, if_true, if_false, value)
