"""What a hostile agent may leave in its folder: traps that would run, and what may not become part of a tree.

Each plant is given the folder, which is also the current one when an agent's process runs it, and a program that
makes a canary file if anybody ever starts it. TAKEN are harmless as data, REFUSED are not.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from podium.git.workdir.folder import discard
from tests.git.kit import put

Plant = Callable[[Path, Path], None]
"""Folder of the agent, path of a program that makes the canary."""


def hooks(folder: Path, evil: Path) -> None:
    for name in (
        "pre-commit",
        "post-checkout",
        "reference-transaction",
        "post-index-change",
        "fsmonitor-watchman",
    ):
        put(folder, {f".git/hooks/{name}": f"#!/bin/sh\n{evil}\n"})
        (folder / ".git/hooks" / name).chmod(0o755)


def git_config(folder: Path, evil: Path) -> None:
    text = f"""[core]\n\tfsmonitor = {evil}\n\tsshCommand = {evil}\n\tpager = {evil}\n\teditor = {evil}
\thooksPath = .githooks\n\talternateRefsCommand = {evil}\n[filter "x"]\n\tclean = {evil}\n\tsmudge = {evil}
\tprocess = {evil}\n\trequired = true\n[diff]\n\texternal = {evil}\n[diff "x"]\n\ttextconv = {evil}\n\tcommand = {evil}
[merge "x"]\n\tdriver = {evil}\n[gpg]\n\tprogram = {evil}\n[credential]\n\thelper = {evil}\n"""
    put(folder, {".git/config": text, ".gitattributes": "* filter=x diff=x merge=x\n", ".gitconfig": text})
    put(folder, {".githooks/pre-commit": f"#!/bin/sh\n{evil}\n"})


def git_file(folder: Path, evil: Path) -> None:
    discard(folder / ".git")
    put(folder, {"repo/config": f"[core]\n\tfsmonitor = {evil}\n", ".git": "gitdir: repo\n"})


def git_link(folder: Path, evil: Path) -> None:
    discard(folder / ".git")
    (folder / ".git").symlink_to(evil.parent)


def alternates(folder: Path, evil: Path) -> None:
    put(folder, {".git/objects/info/alternates": f"{evil.parent}\n"})


def agent_config(folder: Path, evil: Path) -> None:
    put(
        folder,
        {
            ".claude/settings.json": "{}",
            ".github/workflows/x.yml": f"run: {evil}\n",
            ".husky/pre-commit": str(evil),
        },
    )


def odd_names(folder: Path, evil: Path) -> None:
    put(
        folder,
        {
            "$(touch x)": "",
            "-c": "",
            "--": "",
            "é": "",
        },
    )
    put(
        folder,
        {
            ":(glob)**": "",
            "C:": "",
            "aux.txt": "",
            "trailing. ": "",
            "gitx~1": "",
            ".gitx": "",
            ".gi\u0300t": "",
        },
    )


def module_file(folder: Path, evil: Path) -> None:
    put(folder, {".gitmodules": f'[submodule "x"]\n\tpath = x\n\turl = ext::{evil}\n'})


def setuid(folder: Path, evil: Path) -> None:
    put(folder, {"tool": "#!/bin/sh\n"})
    (folder / "tool").chmod(0o6755)


def inner_links(folder: Path, evil: Path) -> None:
    (folder / "loop").symlink_to("loop")
    (folder / "inside").symlink_to("src/../src/./app.py")
    (folder / "dangling").symlink_to("no/such/place")


TAKEN: tuple[Plant, ...] = (
    hooks, git_config, git_file, git_link, alternates, agent_config, odd_names, module_file, setuid, inner_links,
)  # fmt: skip


def nested(name: str) -> Plant:
    def plant(folder: Path, evil: Path) -> None:
        put(folder, {f"lib/{name}/config": f"[core]\n\tfsmonitor = {evil}\n"})

    plant.__name__ = f"folder {name!r}"
    return plant


def nested_file(folder: Path, evil: Path) -> None:
    put(folder, {"lib/.git": f"gitdir: {evil.parent}\n"})


def nested_link(folder: Path, evil: Path) -> None:
    (folder / "src/.git").symlink_to("../lib")


def top_spelling(folder: Path, evil: Path) -> None:
    put(folder, {".GIT/config": ""})


def bare(folder: Path, evil: Path) -> None:
    put(
        folder,
        {
            "lib/HEAD": "ref: refs/heads/x\n",
            "lib/objects/x": "",
            "lib/refs/x": "",
            "lib/config": f"[core]\n\tfsmonitor={evil}\n",
        },
    )


def bare_top(folder: Path, evil: Path) -> None:
    put(folder, {"HEAD": "ref: refs/heads/x\n", "objects/x": "", "refs/x": ""})


def pipe(folder: Path, evil: Path) -> None:
    os.mkfifo(folder / "src/pipe")


def pipe_in_place(folder: Path, evil: Path) -> None:
    (folder / "src/app.py").unlink()
    os.mkfifo(folder / "src/app.py")


def unix_socket(folder: Path, evil: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        old = Path.cwd()
        os.chdir(folder)
        try:
            listener.bind("sock")
        finally:
            os.chdir(old)


def device(folder: Path, evil: Path) -> None:
    try:
        os.mknod(folder / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")


def hard_link(folder: Path, evil: Path) -> None:
    (folder / "stolen").hardlink_to(evil.parent / "secret.txt")


def hard_link_in_place(folder: Path, evil: Path) -> None:
    (folder / "README.md").unlink()
    (folder / "README.md").hardlink_to(evil.parent / "secret.txt")


def absolute_link(folder: Path, evil: Path) -> None:
    (folder / "out").symlink_to(evil.parent / "secret.txt")


def upward_link(folder: Path, evil: Path) -> None:
    (folder / "src/out").symlink_to("../../evil/secret.txt")


def link_chain(folder: Path, evil: Path) -> None:
    (folder / "e").mkdir()
    (folder / "e/up").symlink_to("..")
    (folder / "y").symlink_to("e/up/../evil/secret.txt")


def link_over_folder(folder: Path, evil: Path) -> None:
    discard(folder / "src")
    (folder / "src").symlink_to(evil.parent)


def proc_link(folder: Path, evil: Path) -> None:
    (folder / "magic").symlink_to("/proc/self/root/etc/passwd")


def module_link(folder: Path, evil: Path) -> None:
    (folder / ".GitModules").symlink_to("README.md")


def link_into_git(folder: Path, evil: Path) -> None:
    (folder / "hooks").symlink_to("src/../.GIT/hooks")


def line_break(folder: Path, evil: Path) -> None:
    put(folder, {"src/new\nline": ""})


def backslash(folder: Path, evil: Path) -> None:
    put(folder, {"a\\b/c": ""})


def turned_around(folder: Path, evil: Path) -> None:
    put(folder, {"src/\u202egpj.sh": ""})


def twin_by_case(folder: Path, evil: Path) -> None:
    put(folder, {"readme.MD": "not what was reviewed\n"})


def twin_folder_by_spelling(folder: Path, evil: Path) -> None:
    put(folder, {"caf\u00e9/a": "", "cafe\u0301": ""})


def deep(folder: Path, evil: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=fd)
        below = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)


SPELLINGS = (
    ".git", ".GIT", ".Git", ".gIt", "git~1", "GIT~1", ".git ", ".git.", ".git. .", ".git\\x", ".git:x",
    ".git::$INDEX_ALLOCATION", ".g\u200cit", ".git\ufeff", "\u200e.g\u202ai\u206ft",
)  # fmt: skip
REFUSED: tuple[Plant, ...] = (
    *(nested(name) for name in SPELLINGS),
    nested_file, nested_link, top_spelling, bare, bare_top, pipe, pipe_in_place, unix_socket, device, hard_link,
    hard_link_in_place, absolute_link, upward_link, link_chain, link_over_folder, proc_link, module_link, deep,
    link_into_git, line_break, backslash, turned_around, twin_by_case, twin_folder_by_spelling,
)  # fmt: skip
