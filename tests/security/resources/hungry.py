"""Runs inside a sandbox: uses as much of one thing as it gets, and does not give up when it is refused."""

import mmap
import os
import sys
import threading
import time

PIECE = b"x" * (1 << 20)
MAIN = os.getpid()
ENDS = time.monotonic() + 40.0
"""By then it ends by itself, with everything it started: a test that fails must not stop the machine."""


def hungry() -> bool:
    return time.monotonic() < ENDS


def refused() -> None:
    """It tries again, but leaves the processor to others."""
    time.sleep(0.05)


def fork() -> None:
    while hungry():
        try:
            os.fork()
        except OSError:
            refused()


def sessions() -> None:
    while hungry():
        try:
            if os.fork() == 0:
                os.setsid()
        except OSError:
            refused()


def orphans() -> None:
    """The parent of each process ends a moment later."""
    while hungry():
        try:
            if os.fork() and os.fork() and os.getpid() != MAIN:
                time.sleep(0.02)
                os._exit(0)
        except OSError:
            refused()


def threads() -> None:
    while hungry():
        try:
            threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
        except RuntimeError:
            refused()


def shell() -> None:
    """The well-known one; each of its processes waits for two more."""
    os.execvp("bash", ["bash", "-c", "b() { [ $SECONDS -gt 30 ] || b | b & }; b; sleep 30"])


def fill(path: str) -> None:
    with open(path, "wb", buffering=0) as file:
        while hungry():
            try:
                file.write(PIECE)
            except OSError:
                refused()


def files_of(size: int, folder: str = ".") -> None:
    for number in range(10**6):
        with open(os.path.join(folder, f"file{number}"), "wb") as file:
            file.write(b"x" * size)


def folders() -> None:
    for number in range(10**5):
        os.mkdir(f"folder{number}")


def links() -> None:
    """Names without a file of their own, in many folders, because a file has only so many names."""
    for number in range(10**5):
        os.makedirs(f"names{number // 50}", exist_ok=True)
        os.symlink("nothing", f"names{number // 50}/{number}")


def deleted() -> None:
    """Files that no folder shows."""
    opened = []
    for number in range(10**5):
        opened.append(open(f"gone{number}", "wb", buffering=0))  # noqa: SIM115 - it has to stay open
        os.unlink(f"gone{number}")
        for _ in range(8):
            opened[-1].write(PIECE)


def mapped() -> None:
    """Files that no folder and no descriptor shows."""
    views = []
    for number in range(10**5):
        with open(f"gone{number}", "w+b") as file:
            file.truncate(8 << 20)
            views.append(mmap.mmap(file.fileno(), 8 << 20))
        os.unlink(f"gone{number}")
        for offset in range(0, 8 << 20, len(PIECE)):
            views[-1][offset : offset + len(PIECE)] = PIECE


def unreadable() -> None:
    """Files in a folder that cannot be listed."""
    os.mkdir("hidden")
    os.chmod("hidden", 0o300)
    files_of(8 << 20, "hidden")


def deep() -> None:
    """Files at the end of a path that is too long to be opened."""
    for _ in range(60):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
    files_of(8 << 20)


def sparse() -> None:
    with open("sparse", "wb") as file:
        file.truncate(1 << 40)


def devices() -> None:
    """Files in /dev, which is in memory as well."""
    fill("/dev/file")


HUNGER = {
    "fork": fork,
    "sessions": sessions,
    "orphans": orphans,
    "threads": threads,
    "shell": shell,
    "large_file": lambda: fill("large"),
    "large_file_at_home": lambda: fill(os.path.join(os.environ["HOME"], "large")),
    "large_file_in_tmpdir": lambda: fill(os.path.join(os.environ["TMPDIR"], "large")),
    "files_of_some_size": lambda: files_of(8 << 20),
    "small_files": lambda: files_of(1),
    "empty_files": lambda: files_of(0),
    "folders": folders,
    "links": links,
    "deleted": deleted,
    "mapped": mapped,
    "unreadable": unreadable,
    "deep": deep,
    "sparse": sparse,
    "tmp": lambda: fill("/tmp/large"),
    "var_tmp": lambda: fill("/var/tmp/large"),
    "run": lambda: fill("/run/large"),
    "shm": lambda: fill("/dev/shm/large"),
    "files_in_tmp": lambda: files_of(0, "/tmp"),
    "files_in_shm": lambda: files_of(0, "/dev/shm"),
    "devices": devices,
}

if __name__ == "__main__":
    HUNGER[sys.argv[1]]()
