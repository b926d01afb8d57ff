"""Where the programs of Rust are, whatever the home of the user is."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path


@cache
def cargo_folder() -> Path:
    """The folder of cargo itself: the one on PATH may be a program that chooses a version by files in the home."""
    cargo = Path(shutil.which("cargo") or "/usr/bin/cargo")
    if shutil.which("rustup") is None:
        return cargo.parent
    done = subprocess.run(
        ("rustup", "which", "cargo"),
        env={**os.environ, **rustup_homes()},
        capture_output=True,
        text=True,
        check=True,
    )
    return Path(done.stdout.strip()).parent


def rustup_homes() -> dict[str, str]:
    """Where rustup keeps its programs: beside itself, in the home for which it was installed."""
    cargo_home = Path(shutil.which("cargo") or "/none/none/none").parents[1]
    return {
        "CARGO_HOME": os.environ.get("CARGO_HOME", str(cargo_home)),
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(cargo_home.parent / ".rustup")),
    }
