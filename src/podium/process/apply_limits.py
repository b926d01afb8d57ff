"""A script, not a module: applies the limits given as number=value before `--`, then becomes the command after it."""

import os
import resource
import sys

if __name__ == "__main__":  # pragma: no cover (test_limits.py runs it as a script)
    end = sys.argv.index("--")
    for pair in sys.argv[1:end]:
        number, value = map(int, pair.split("="))
        resource.setrlimit(number, (value, value))
    os.execv(sys.argv[end + 1], sys.argv[end + 1 :])  # noqa: S606 - its purpose is to become the command
