"""An image for tests, made without a registry: folders and links only, into which the programs of the host are mounted."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from functools import cache
from pathlib import Path

from podium.adapters.sandboxes.container import ENGINES
from podium.ports.sandbox import Mount

IMAGE = "localhost/podium-tests:1"
FOLDERS = ("usr", "etc", "proc", "sys", "dev", "tmp", "run", "var", "var/tmp", "root", "home")
LINKS = ("bin", "sbin", "lib", "lib64")


def python_mounts() -> tuple[Mount, ...]:
    places = dict.fromkeys((Path("/usr"), Path(sys.base_prefix), Path(sys.prefix)))
    return tuple(Mount(place, place) for place in places)


@cache
def made_image() -> str:
    """Its name; or why there is none, in brackets."""
    if os.geteuid():
        return "(containers of ordinary users are not tested)"
    engine = next((program for program in ENGINES if program.exists()), None)
    if engine is None:
        return "(neither podman nor docker is installed)"
    made = subprocess.run(
        (str(engine), "import", "-", IMAGE), input=_archive(), capture_output=True, check=False
    )
    return IMAGE if made.returncode == 0 else f"({made.stderr.decode().strip()})"


def _archive() -> bytes:
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        for name in FOLDERS:
            folder = tarfile.TarInfo(name)
            # As in images that people use: runc gives fresh space the mode of the folder it covers.
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name.endswith("tmp") else 0o755
            archive.addfile(folder)
        for name in LINKS:
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, f"usr/{name}"
            archive.addfile(link)
    return tar.getvalue()
