"""A script, not a module: puts on limits, given as number=value up to `--`, and becomes the command that follows."""

import os
import resource
import sys

if __name__ == "__main__":  # pragma: no cover (test_limits.py runs it as what it is)
    end = sys.argv.index("--")
    for pair in sys.argv[1:end]:
        number, value = map(int, pair.split("="))
        resource.setrlimit(number, (value, value))
    os.execv(sys.argv[end + 1], sys.argv[end + 1 :])  # noqa: S606 - to become the command is its purpose
