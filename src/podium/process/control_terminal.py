"""A script, not a module: makes its stdin the controlling terminal of its session, then becomes the command after it."""

import fcntl
import os
import sys
import termios

if __name__ == "__main__":  # pragma: no cover (test_terminal.py runs it as a script)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606 - its purpose is to become the command
