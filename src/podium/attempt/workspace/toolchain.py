"""Toolchain folders that are not part of a tree, such as .venv: which of them a workspace may use.

A virtual environment with an editable install of the project always imports the user's files, so a gate that used it
would judge the user's tree instead of the captured one. Unless the workspace is mounted in the project's place
(bubblewrap, container), such an environment is not linked, and a command that would use it is refused.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from podium.errors import PodiumError
from podium.files import bounded_json
from podium.files.inside import resolved
from podium.ports.sandbox import SandboxLevel
from podium.process.host_programs import path_without

VENVS: Final = (".venv", "venv")
MODULES: Final = "node_modules"
FOLDERS: Final = (*VENVS, MODULES)
_ENVIRONMENTS: Final = ("pyvenv.cfg", "conda-meta")
"""What a virtual environment has."""
MOUNTS_IN_PLACE: Final[frozenset[SandboxLevel]] = frozenset({"bubblewrap", "container"})

# Programs that look for an environment by themselves, or start others that do.
STARTERS: Final = frozenset(
    "bash dash fish hatch invoke just ksh make nox pdm pipenv poetry pre-commit sh task tox uv uvx xargs zsh env".split()
)
_MAX_BYTES: Final = 1 << 20


class EditableInstall(PodiumError):
    """A command would test the user's files instead of the captured ones."""


def find_toolchain(project: Path, path: str) -> tuple[str, ...]:
    """The toolchain folders at the top of the project and the virtual environments of PATH in it, relative to it.

    Called before the first step works, because a step in the project itself could create such a folder.
    """
    on_path = (
        os.path.relpath(venv, project) for venv in _venvs(project, path) if venv.is_relative_to(project)
    )
    names = dict.fromkeys((*FOLDERS, *on_path))
    return tuple(name for name in names if name != "." and can_be_lent(project, name))


def can_be_lent(project: Path, name: str) -> bool:
    """Whether a folder of the project is a toolchain, or a link of the user to one.

    A step that works in the project itself may have made a link to any folder of the user, which a sandbox would show.
    """
    place = project / name
    if any((project / above).is_symlink() for above in Path(name).parents[:-1]):
        return False
    if not place.is_symlink():
        return place.is_dir()
    target = Path(resolved(str(place)))
    if place.name == MODULES:
        return target.name == MODULES and target.is_dir()
    return any((target / mark).exists() for mark in _ENVIRONMENTS)


def path_outside(project: Path, path: str, toolchain: Iterable[str]) -> str:
    """PATH without the folders in the project, where an agent could put a program, except those of the toolchain."""
    roots = (str(project), resolved(str(project)))
    allowed = (
        f"{root}/{name}/{folder}" for root in roots for name in toolchain for folder in ("bin", ".bin")
    )
    return path_without(roots, path, allowed)


def toolchain_folders(
    project: Path,
    toolchain: Iterable[str],
    level: SandboxLevel,
    is_tracked: Callable[[str], bool],
    folder: str = "",
) -> tuple[str, ...]:
    """Toolchain folders for a workspace, relative to the project; without mounts, those with an editable install are left out."""
    place = folder.strip("/").removeprefix("./").removeprefix(".")
    names = dict.fromkeys((*toolchain, *(f"{place}/{name}" for name in FOLDERS if place)))
    return tuple(
        name
        for name in names
        if not is_tracked(name)
        and can_be_lent(project, name)
        and (level in MOUNTS_IN_PLACE or not is_editable(project / name, project))
    )


def link(source: Path, target: Path) -> None:
    """Links one folder; packages that npm links to folders of the project are linked to those of the workspace.

    Through a plain link `node_modules/pkg -> ../packages/pkg` would lead back to the user's files.
    """
    if source.name == MODULES and any(_inner_links(source)):
        _mirror(source, target)
    else:
        target.symlink_to(source)


def _inner_links(modules: Path) -> Iterator[Path]:
    own = Path(os.path.realpath(modules))
    for entry in (*modules.iterdir(), *modules.glob("@*/*")):
        if entry.is_symlink() and not Path(os.path.realpath(entry)).is_relative_to(own):
            yield entry


def _mirror(source: Path, target: Path) -> None:
    target.mkdir()
    for entry in source.iterdir():
        place = target / entry.name
        if entry.is_symlink() and not entry.readlink().is_absolute():
            place.symlink_to(entry.readlink())
        elif entry.is_dir() and not entry.is_symlink() and entry.name.startswith((".bin", "@")):
            _mirror(entry, place)
        else:
            place.symlink_to(entry)


def check_editable(
    project: Path, level: SandboxLevel, argv: Sequence[str], env: Mapping[str, str], text: str = ""
) -> None:
    """Raises EditableInstall if this command would import the project from the user's folder. `text` is its script."""
    if level in MOUNTS_IN_PLACE:
        return
    for venv in _venvs(project, env.get("PATH", "")):
        if is_editable(venv, project) and _would_use(venv, project, argv, env, text):
            raise EditableInstall(
                f'"{argv[0]}" would use {_shown(venv, project)}, in which this project is installed as editable: it '
                f"would test your own files, not the captured ones (sandbox level: {level})",
                hint="install bubblewrap so that the captured tree appears at the project's path, or install the "
                "project without -e, or only its dependencies",
            )


def without_editable(project: Path, level: SandboxLevel, path: str) -> str:
    """PATH without environments that have an editable install of the project."""
    if level in MOUNTS_IN_PLACE:
        return path
    bad = {str(venv / "bin") for venv in _venvs(project, path) if is_editable(venv, project)}
    if not bad:
        return path or os.defpath
    folders = path.split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if os.path.normpath(folder) not in bad) or os.defpath


def _venvs(project: Path, path: str) -> Iterator[Path]:
    """The virtual environments of the project and of PATH."""
    for file in _config_files(str(project), path):
        # Strings, and `access` first, because this runs twice for every command and most of these files do not exist.
        if os.access(file, os.F_OK) and os.path.isfile(file):  # noqa: PTH113
            yield Path(file).parent


@lru_cache(maxsize=64)
def _config_files(project: str, path: str) -> tuple[str, ...]:
    """Where the pyvenv.cfg of each possible environment would be."""
    on_path = (os.path.dirname(os.path.normpath(folder)) for folder in path.split(os.pathsep) if folder)  # noqa: PTH120
    venvs = dict.fromkeys((*(f"{project}/{name}" for name in VENVS), *on_path))
    return tuple(f"{venv}/pyvenv.cfg" for venv in venvs)


def _would_use(venv: Path, project: Path, argv: Sequence[str], env: Mapping[str, str], text: str) -> bool:
    bin_folder = str(venv / "bin")
    program = shutil.which(argv[0], path=env.get("PATH", "")) or argv[0]
    if os.path.normpath(program).startswith(bin_folder + os.sep):
        return True
    mentions = re.compile(rf"(?:^|[^\w.-])(?:{re.escape(_shown(venv, project))}|{re.escape(str(venv))})/")
    if any(mentions.search(word) for word in (*argv, text)):
        return True
    on_path = bin_folder in (os.path.normpath(part) for part in env.get("PATH", "").split(os.pathsep) if part)
    return Path(argv[0]).name in STARTERS and (on_path or venv.parent == project)


def _shown(venv: Path, project: Path) -> str:
    return str(venv.relative_to(project)) if venv.is_relative_to(project) else str(venv)


def is_editable(venv: Path, project: Path) -> bool:
    """Whether an environment imports anything from the project's own files."""
    root = Path(os.path.realpath(project))
    return any(
        _is_editable(packages, packages.stat().st_mtime_ns, root, venv)
        for packages in sorted(venv.glob("lib*/python*/site-packages"))
    )


# Cached because it runs for every command; an installation changes the mtime of the folder, which is part of the key.
@lru_cache(maxsize=64)
def _is_editable(packages: Path, _changed: int, root: Path, venv: Path) -> bool:
    return any(_points_into(path, root, venv) for path in sorted(packages.iterdir()))


def _points_into(path: Path, root: Path, venv: Path) -> bool:
    if path.suffix in (".pth", ".egg-link"):
        return any(_is_own(line.strip(), root, venv, path.parent) for line in _text(path).splitlines())
    if path.name.startswith("__editable__") and path.suffix == ".py":
        return str(root) in _text(path)
    if path.suffix == ".dist-info":
        return _is_direct(path / "direct_url.json", root)
    return False


def _is_own(line: str, root: Path, venv: Path, folder: Path) -> bool:
    """Whether a line of a .pth file adds a folder of the project; lines of code do not."""
    if not line or line.startswith(("#", "import ", "import\t")):
        return False
    place = Path(os.path.realpath(folder / line))
    return place.is_relative_to(root) and not place.is_relative_to(os.path.realpath(venv))


def _is_direct(path: Path, root: Path) -> bool:
    try:
        data = bounded_json.loads(_text(path))
        editable = bool(data["dir_info"]["editable"])
        place = unquote(urlsplit(data["url"]).path)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False
    return editable and Path(os.path.realpath(place)).is_relative_to(root)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
