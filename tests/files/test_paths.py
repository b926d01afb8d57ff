"""No path leaves the project, and a refused path was never opened."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from podium.errors import EXIT_PATH, PathViolation
from podium.files.inside import Mode, inside, open_inside, resolved
from tests.files.tricks import LEXICAL, LINKED, SPECIAL, plant

TRICKS = {**LEXICAL, **LINKED}
CAN_MAKE_DEVICES = os.geteuid() == 0

# A hook cannot be removed, so there is only one, and it records only while enabled.
_opened: list[str] = []
_listening = threading.local()


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and getattr(_listening, "on", False):
        _opened.append(str(arguments[0]))


@pytest.fixture(scope="module", autouse=True)
def _listen() -> None:
    sys.addaudithook(_hook)


@contextmanager
def opened() -> Iterator[list[str]]:
    _opened.clear()
    _listening.on = True
    try:
        yield _opened
    finally:
        _listening.on = False


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # The path of a socket must be short, and pytest's folders are deep.
    monkeypatch.chdir(tmp_path)
    return tmp_path / plant(Path())


def test_there_are_at_least_eighty_tricks() -> None:
    assert len(TRICKS) >= 80


def test_the_audit_hook_records_an_open(root: Path) -> None:
    with opened() as seen:
        (root / "file").read_bytes()

    assert seen == [str(root / "file")]


@pytest.mark.parametrize("trick", TRICKS)
def test_a_trick_is_refused_with_exit_3_and_nothing_is_opened(trick: str, root: Path) -> None:
    for mode in ("rb", "wb", "xb"):
        with opened() as seen, pytest.raises(PathViolation) as caught:
            open_inside(root, TRICKS[trick], mode)
        assert seen == []
        assert caught.value.exit_code == EXIT_PATH
    with opened() as seen, pytest.raises(PathViolation):
        inside(root, TRICKS[trick])
    assert seen == []
    assert (root.parent / "secret").read_text("ascii") == "secret"


@pytest.mark.parametrize("kind", [kind for kind in SPECIAL if kind != "a_device" or CAN_MAKE_DEVICES])
@pytest.mark.parametrize("mode", ["rb", "wb"])
def test_only_regular_files_are_opened(kind: str, mode: Mode, root: Path) -> None:
    """A pipe without a reader must not block either."""
    if kind == "a_device":
        os.mknod(root / SPECIAL[kind], 0o20666, os.makedev(1, 3))

    with pytest.raises(PathViolation, match="not a regular file"):
        open_inside(root, SPECIAL[kind], mode)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("file", "file"),
        ("./file", "file"),
        ("src//file", "src/file"),
        ("src/", "src"),
        (".", ""),
        ("inner", "src/file"),
        ("inner_folder/file", "src/file"),
        ("not/there/yet", "not/there/yet"),
        ("file/below", "file/below"),
        ("..file", "..file"),
        ("a..b/c.", "a..b/c."),
        ("100%", "100%"),
        ("50%25.txt", "50%25.txt"),
        ("grün/日本語.txt", "grün/日本語.txt"),
        (".gitignore", ".gitignore"),
        (".github/workflows/ci.yaml", ".github/workflows/ci.yaml"),
        ("name:with:colons", "name:with:colons"),
        ("with space", "with space"),
        ("-rf", "-rf"),
    ],
)
def test_a_valid_path_is_accepted(path: str, place: str, root: Path) -> None:
    assert inside(root, path) == root / place


def test_the_root_itself_can_be_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "shortcut").symlink_to(root)

    assert inside(tmp_path / "shortcut", "file") == root / "file"


def test_files_are_read_and_written_and_folders_are_created(root: Path) -> None:
    with open_inside(root, "inner", "rb") as file:
        assert file.read() == b"fine"
    with open_inside(root, "new/deep/file", "xb") as file:
        file.write(b"one")
    with open_inside(root, "new/deep/file", "wb") as file:
        file.write(b"2")

    assert (root / "new/deep/file").read_bytes() == b"2"


@pytest.mark.parametrize(
    ("path", "mode", "error"),
    [
        ("missing", "rb", FileNotFoundError),
        ("missing/file", "rb", FileNotFoundError),
        ("file/below", "rb", NotADirectoryError),
        ("file/below", "wb", NotADirectoryError),
        ("file", "xb", FileExistsError),
    ],
)
def test_an_ordinary_error_is_not_a_path_violation(
    path: str, mode: Mode, error: type[OSError], root: Path
) -> None:
    with pytest.raises(error):
        open_inside(root, path, mode)


def test_the_folder_itself_cannot_be_opened(root: Path) -> None:
    with pytest.raises(PathViolation, match="the folder itself"):
        open_inside(root, ".", "rb")


def test_a_file_with_a_second_hard_link_is_not_written(root: Path) -> None:
    os.link(root.parent / "secret", root / "twin")

    with pytest.raises(PathViolation, match="second hard link"):
        open_inside(root, "twin", "wb")
    assert (root.parent / "secret").read_text("ascii") == "secret"
    with open_inside(root, "twin", "rb") as file:
        assert file.read() == b"secret"


@pytest.mark.parametrize(("path", "planted"), [("src/file", "src"), ("src/file", "src/file")])
def test_a_link_planted_between_check_and_open_is_not_followed(path: str, planted: str, root: Path) -> None:
    """The audit hook is the attacker: it acts when the root is opened, after all checks."""
    struck: list[str] = []

    def strike(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and str(arguments[0]) == str(root) and not struck:
            struck.append(planted)
            (root / planted).rename(root / "aside")
            (root / planted).symlink_to(root.parent / "outside" / ("secret" if "/" in planted else ""))

    sys.addaudithook(strike)

    with pytest.raises(PathViolation):
        open_inside(root, path, "rb")
    assert struck == [planted]


def test_a_path_is_resolved_as_the_standard_library_does(tmp_path: Path) -> None:
    folder = tmp_path / "real" / "inner"
    folder.mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "further").symlink_to(tmp_path / "link" / "inner")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "broken").symlink_to("nowhere/else")
    names = (
        "real",
        "link",
        "link/inner",
        "link/inner/..",
        "further",
        "circle/x",
        "broken",
        "missing/../real",
    )

    for path in (*(str(tmp_path / name) for name in names), "/proc/self/cwd", "."):
        assert resolved(path) == os.path.realpath(path), path
