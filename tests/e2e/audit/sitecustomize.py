"""Loaded by an interpreter that finds it on its path: writes down every file that is opened."""

import os
import sys

LOG = os.open(os.environ["AUDIT_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


def hook(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
        path = os.path.abspath(os.fsdecode(arguments[0]))  # noqa: PTH100 - resolve() would follow links
        os.write(LOG, path.encode("utf-8", "surrogateescape") + b"\0")


sys.addaudithook(hook)
