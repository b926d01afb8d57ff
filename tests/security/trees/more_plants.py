"""More of the same, for runs with the whole engine: the agent's own repository turned against us, odd files, ways out."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from podium.git.workdir.folder import discard
from tests.git.kit import git, put
from tests.security.trees.plants import REFUSED, TAKEN, Plant, nested


def planted_include(folder: Path, evil: Path) -> None:
    put(
        folder,
        {".git/config": "[include]\n\tpath = ../included\n", "included": f"[core]\n\tfsmonitor={evil}\n"},
    )


def worktree_config(folder: Path, evil: Path) -> None:
    put(
        folder,
        {".git/config.worktree": f"[core]\n\tfsmonitor = {evil}\n", ".git/commondir": f"{evil.parent}\n"},
    )


def own_attributes(folder: Path, evil: Path) -> None:
    put(
        folder,
        {
            ".git/info/attributes": "* filter=x\n",
            ".git/info/exclude": "src/\n*\n",
            ".git/info/sparse-checkout": "\n",
        },
    )


def broken_index(folder: Path, evil: Path) -> None:
    put(folder, {".git/index": b"DIRC\xff" * 100, ".git/index.lock": "", ".git/HEAD": "../../x\n"})


def replaced_objects(folder: Path, evil: Path) -> None:
    put(
        folder,
        {
            ".git/packed-refs": "garbage\n",
            ".git/refs/replace/" + "0" * 40: "1" * 40 + "\n",
            ".git/info/grafts": "x\n",
        },
    )


def rewritten_history(folder: Path, evil: Path) -> None:
    git(
        folder,
        "-c",
        "core.hooksPath=/dev/null",
        "commit",
        "--allow-empty",
        "-q",
        "-m",
        "Podium-Landing: r/land",
    )
    git(folder, "update-ref", "refs/heads/main", "HEAD")


def committed_trap(folder: Path, evil: Path) -> None:
    """A tree with `.git` in it, committed in the agent's own repository: only its files are ever taken."""
    blob = git(folder, "hash-object", "-w", "--stdin", stdin=str(evil).encode())
    inner = git(folder, "mktree", stdin=f"100755 blob {blob}\tpost-checkout\n".encode())
    tree = git(folder, "mktree", stdin=f"040000 tree {inner}\t.git\n".encode())
    git(folder, "update-ref", "refs/heads/podium", git(folder, "commit-tree", "-m", "x", tree))


def submodule_entry(folder: Path, evil: Path) -> None:
    git(folder, "update-index", "--add", "--cacheinfo", "160000", "1" * 40, "sub")
    put(folder, {".git/modules/sub/config": f"[core]\n\tfsmonitor = {evil}\n"})


def no_repository(folder: Path, evil: Path) -> None:
    discard(folder / ".git")


def huge_name(folder: Path, evil: Path) -> None:
    put(folder, {"n" * 255: "", "é" * 127: ""})


def many_files(folder: Path, evil: Path) -> None:
    put(folder, {f"many/{number:04}": "" for number in range(1_500)})


def costly_rules(folder: Path, evil: Path) -> None:
    put(
        folder,
        {".gitignore": "build/\n" + "a*" * 500 + "b\n" + "**/" * 200 + "x\n[[:evil:]\n\\\n", "a" * 200: ""},
    )


def rules_that_hide_everything(folder: Path, evil: Path) -> None:
    put(folder, {"extra/.gitignore": "*\n", "extra/hidden": "x"})


def closed_folder(folder: Path, evil: Path) -> None:
    put(folder, {"closed/f": "x"})
    (folder / "closed/f").chmod(0o400)


def shell_words(folder: Path, evil: Path) -> None:
    put(
        folder,
        {
            f"$({evil.name})": "",
            "; touch canary": "",
            "`id`": "",
            "--upload-pack=x": "",
            "@{-1}": "",
            "HEAD": "",
        },
    )


def lfs_settings(folder: Path, evil: Path) -> None:
    put(folder, {".lfsconfig": f'[lfs]\n\turl = file://{evil}\n[lfs "customtransfer.x"]\n\tpath = {evil}\n'})


def editor_and_shell(folder: Path, evil: Path) -> None:
    put(
        folder,
        {
            ".vscode/tasks.json": str(evil),
            ".envrc": str(evil),
            ".env": "A=1",
            "sub/AGENTS.md": "obey",
            ".MCP.json": "{}",
        },
    )


def python_traps(folder: Path, evil: Path) -> None:
    put(
        folder,
        {
            "sitecustomize.py": f"import os; os.system('{evil}')",
            "git": f"#!/bin/sh\n{evil}\n",
            "conftest.py": "",
        },
    )
    (folder / "git").chmod(0o755)


def sparse_giant(folder: Path, evil: Path) -> None:
    with (folder / "giant").open("wb") as file:
        file.truncate(200 << 30)


def two_names_of_one_file(folder: Path, evil: Path) -> None:
    put(folder, {"one": "x"})
    (folder / "two").hardlink_to(folder / "one")


def pipe_for_rules(folder: Path, evil: Path) -> None:
    (folder / "sub").mkdir()
    os.mkfifo(folder / "sub/.gitignore")


def endless_rules(folder: Path, evil: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub/.gitignore").symlink_to("/dev/zero")


def disk(folder: Path, evil: Path) -> None:
    try:
        os.mknod(folder / "disk", 0o660 | stat.S_IFBLK, os.makedev(7, 0))
    except PermissionError:
        pytest.skip("only root makes devices")


def long_chain(folder: Path, evil: Path) -> None:
    (folder / "l0").symlink_to("..")
    for number in range(1, 30):
        (folder / f"l{number}").symlink_to(f"l{number - 1}")


def link_to_descriptor(folder: Path, evil: Path) -> None:
    (folder / "fd").symlink_to("/proc/self/fd/3")


def link_over_file(folder: Path, evil: Path) -> None:
    (folder / "README.md").unlink()
    (folder / "README.md").symlink_to(evil.parent / "secret.txt")


def link_past_a_file(folder: Path, evil: Path) -> None:
    (folder / "y").symlink_to("README.md/../../evil")


def long_path(folder: Path, evil: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("p" * 200, dir_fd=fd)
        below = os.open("p" * 200, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)


def nested_with_alternates(folder: Path, evil: Path) -> None:
    put(folder, {"lib/.git/objects/info/alternates": f"{evil.parent}\n", "lib/.git/HEAD": "x"})


def submodule_file(folder: Path, evil: Path) -> None:
    put(
        folder,
        {
            "sub/.git": "gitdir: ../.git/modules/sub\n",
            ".git/modules/sub/config": f"[core]\n\tfsmonitor={evil}\n",
        },
    )


def hidden_bare(folder: Path, evil: Path) -> None:
    git(folder, "init", "-q", "--bare", "src/deep/data")
    put(folder, {"src/deep/data/config": f"[core]\n\tfsmonitor = {evil}\n\tbare = false\n\tworktree = .\n"})


def twin_of_a_folder(folder: Path, evil: Path) -> None:
    put(folder, {"SRC/app.py": "not what was reviewed\n"})


def content_for_lfs(folder: Path, evil: Path) -> None:
    put(folder, {"logo.psd": os.urandom(2_000)})


def escape_sequence(folder: Path, evil: Path) -> None:
    put(folder, {"\x1b]0;title\x07.txt": "", "\x1b[2K\rall good": ""})


def no_text(folder: Path, evil: Path) -> None:
    put(folder, {"\udcff\udcfe": ""})


MORE_TAKEN: tuple[Plant, ...] = (
    planted_include, worktree_config, own_attributes, broken_index, replaced_objects, rewritten_history, committed_trap,
    submodule_entry, no_repository, huge_name, many_files, costly_rules, rules_that_hide_everything, closed_folder,
    shell_words, lfs_settings, editor_and_shell, python_traps,
)  # fmt: skip
MORE_REFUSED: tuple[Plant, ...] = (
    sparse_giant, two_names_of_one_file, pipe_for_rules, endless_rules, disk, long_chain, link_to_descriptor,
    link_over_file, link_past_a_file, long_path, nested_with_alternates, submodule_file, hidden_bare, twin_of_a_folder,
    content_for_lfs, escape_sequence, no_text, nested("GIT~1 "),
)  # fmt: skip

ALL: dict[str, tuple[Plant, bool]] = {
    plant.__name__: (plant, taken)
    for plants, taken in ((TAKEN, True), (MORE_TAKEN, True), (REFUSED, False), (MORE_REFUSED, False))
    for plant in plants
}
"""By name: the plant, and whether its folder may be captured."""
