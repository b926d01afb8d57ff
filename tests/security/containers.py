"""Images for tests, made without a registry.

One has folders and links only, and the programs of the host are mounted into it. The other has Python and a few programs,
for workflows that run through the real command.
"""

from __future__ import annotations

import atexit
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from podium.adapters.sandboxes.container import ENGINES
from podium.git.workdir.folder import give_ownership
from podium.ports.sandbox import Mount
from tests.security.kit import ORDINARY, as_ordinary_user

IMAGE = "localhost/podium-tests:1"
PYTHON_IMAGE = "localhost/podium-tests-python:1"
PROGRAMS = ("sh", "bash", "cat", "echo", "env", "ls", "sleep", "true")
LEFT_OUT = (
    "test",
    "idlelib",
    "tkinter",
    "lib2to3",
    "ensurepip",
    "site-packages",
    "__pycache__",
    "turtledemo",
    "pydoc_data",
)
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
    return _made(engine, IMAGE, lambda _: None)


@cache
def made_python_image() -> str:
    """The same for the image with Python. Its files do not depend on the tests, so it is made once on a machine."""
    if made_image() != IMAGE:
        return made_image()
    engine = next(program for program in ENGINES if program.exists())
    there = subprocess.run((str(engine), "image", "inspect", PYTHON_IMAGE), capture_output=True, check=False)
    return PYTHON_IMAGE if there.returncode == 0 else _made(engine, PYTHON_IMAGE, _put_python)


@cache
def ordinary_storage() -> str:
    """The settings by which containers of the ordinary user find the image with Python; or why not, in brackets."""
    podman = next((program for program in ENGINES if program.name == "podman" and program.exists()), None)
    if podman is None:
        return "(podman is not installed)"
    folder = Path(tempfile.mkdtemp(prefix="podium-images-"))
    atexit.register(_remove_storage, folder)
    text = (
        f'[storage]\ndriver = "overlay"\ngraphroot = "{folder}/images"\nrunroot = "{folder}/run"\n'
        '[storage.options.overlay]\nignore_chown_errors = "true"\n'
    )
    (folder / ".config/containers").mkdir(parents=True)
    (folder / ".config/containers/storage.conf").write_text(text)
    give_ownership(folder, None if os.geteuid() else (ORDINARY, ORDINARY))
    done = subprocess.run(
        as_ordinary_user(str(podman), "import", "-", PYTHON_IMAGE),
        input=_archive(_put_python),
        env={"HOME": str(folder), "PATH": os.defpath},
        capture_output=True,
        check=False,
    )
    return text if done.returncode == 0 else f"({done.stderr.decode().strip()})"


def _remove_storage(folder: Path) -> None:
    subprocess.run(
        as_ordinary_user("podman", "unshare", "rm", "-rf", f"{folder}/images", f"{folder}/run"),
        env={"HOME": str(folder), "PATH": os.defpath},
        capture_output=True,
        check=False,
    )
    shutil.rmtree(folder, ignore_errors=True)


def _made(engine: Path, name: str, put: Callable[[tarfile.TarFile], None]) -> str:
    command = (str(engine), "import", "-", name)
    made = subprocess.run(command, input=_archive(put), capture_output=True, check=False)
    return name if made.returncode == 0 else f"({made.stderr.decode().strip()})"


def _put_python(archive: tarfile.TarFile) -> None:
    """Python with its standard library and a few programs of the host, with the libraries that they load."""
    python = Path(sys.executable).resolve()
    library = Path(os.__file__).parent
    programs = [Path("/usr/bin") / name for name in PROGRAMS]
    for program in programs:
        archive.add(program.resolve(), str(program)[1:])
    archive.add(python, str(python)[1:])
    link = tarfile.TarInfo("usr/bin/python3")
    link.type, link.linkname = tarfile.SYMTYPE, str(python)
    archive.addfile(link)
    archive.add(library, str(library)[1:], filter=lambda entry: None if _is_left_out(entry.name) else entry)
    extensions = (library / "lib-dynload").glob("*.so")
    for path in sorted(_libraries((python, *programs, *extensions))):
        archive.add(path.resolve(), str(Path("/usr") / str(path)[1:] if path.parts[1] in LINKS else path)[1:])


def _is_left_out(name: str) -> bool:
    parts = Path(name).parts
    return any(part in LEFT_OUT or part.startswith("config-") for part in parts)


def _libraries(programs: Iterable[Path]) -> set[Path]:
    done = subprocess.run(("ldd", *map(str, programs)), capture_output=True, check=False)
    words = done.stdout.decode().split()
    return {Path(word) for word in words if word.startswith("/") and not word.endswith(":")}


def _archive(put: Callable[[tarfile.TarFile], None]) -> bytes:
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
        put(archive)
    return tar.getvalue()
