"""What an agent can leave in its folder executes nothing on the host, reads nothing outside and writes nothing outside.

Every case plants its trap, is captured, and, where it may be captured, is checked out, compared, joined and landed as
well. A canary file would appear if anything that was planted had run (R175, C13, C14).
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from podium.git.capture import Captured, Refused
from podium.git.change import changes, diff
from podium.git.checkout import update
from podium.git.clone import clone
from podium.git.folder import discard
from podium.git.join import Joined, join
from podium.git.land import Landed, Landing, Prepared, land, prepare
from podium.git.repository import read_head
from tests.git.kit import SIGNED, Project, git, put

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
            "\udcff\udcfe": "",
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


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    program = tmp_path / "evil/run.sh"
    put(
        tmp_path, {"evil/run.sh": f"#!/bin/sh\ntouch {tmp_path}/canary\ncat\n", "evil/secret.txt": "SECRET\n"}
    )
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("plant", TAKEN, ids=lambda plant: plant.__name__)
def test_what_is_planted_never_runs_on_the_way_to_the_branch(
    project: Project, tmp_path: Path, evil: Path, plant: Plant
) -> None:
    if plant is inner_links:
        project.link()
    head = read_head(project.repository)
    assert head.commit is not None
    folder = project.spare / "work"
    snapshot = clone(project.repository, head.commit, folder)
    put(folder, {"src/app.py": "work\n"})
    plant(folder, evil)

    captured = project.capture(folder, snapshot)
    assert isinstance(captured, Captured), captured
    tree = captured.tree
    gate, gate_snapshot = project.checkout("gate", tree)
    assert project.taken(gate, gate_snapshot) == tree
    if plant not in (git_file, git_link, inner_links):
        plant(gate, evil)
    update(project.repository, gate_snapshot, gate, head.tree)
    update(project.repository, gate_snapshot, gate, tree)
    assert changes(project.repository, head.tree, tree)
    assert diff(project.repository, head.tree, tree, renames=True).text
    other = project.edited("other", {"src/other.py": "x\n"})
    joined = join(project.repository, fork=head.tree, onto=other, tree=tree)
    assert isinstance(joined, Joined)
    landing = Landing(
        run="r1", id="l1", branch="main", base=head.commit, start=head.tree, tree=joined.tree, how="squash",
        message="work", signature=SIGNED,
    )  # fmt: skip
    prepared = prepare(project.repository, landing)
    assert isinstance(prepared, Prepared)
    assert land(project.repository, prepared) == Landed(prepared.commit)
    assert (project.root / "src/app.py").read_text("utf-8") == "work\n"

    assert not (tmp_path / "canary").exists()
    assert not any(path == ".git" or path.startswith(".git/") for path in project.files(tree))
    assert git(project.root, "fsck", "--no-dangling") == ""
    for leftover in (folder, gate):
        discard(leftover)
        assert not leftover.exists()
    assert evil.exists()


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


@pytest.mark.parametrize("plant", REFUSED, ids=lambda plant: plant.__name__)
def test_what_reaches_outside_or_pretends_to_be_a_repository_is_refused(
    project: Project, tmp_path: Path, evil: Path, plant: Plant
) -> None:
    """R183, C14. The message names the path, so that it can be handed back to the agent as feedback."""
    project.link()
    folder, snapshot = project.checkout()
    plant(folder, evil)
    before = git(project.root, "count-objects")

    refused = project.capture(folder, snapshot)

    assert isinstance(refused, Refused)
    assert len(refused.faults) == 1
    assert "changed while" not in refused.faults[0].why
    assert git(project.root, "count-objects") == before
    assert not (tmp_path / "canary").exists()
    update(project.repository, snapshot, folder, project.tree())
    assert sorted(path.name for path in folder.iterdir()) == [
        ".gitignore",
        "README.md",
        "current",
        "run.sh",
        "src",
    ]
    assert (evil.parent / "secret.txt").read_text("utf-8") == "SECRET\n"


def test_what_is_ignored_is_not_even_looked_at(project: Project, evil: Path) -> None:
    """A virtual environment is full of links to the outside and hard links; it is ignored, so it harms nobody."""
    folder, snapshot = project.checkout()
    put(folder, {"build/.git/config": "", "x.log": ""})
    (folder / "build/python").symlink_to("/usr/bin/python3")
    os.mkfifo(folder / "build/pipe")
    (folder / "y.log").hardlink_to(evil)

    assert project.capture(folder, snapshot) == Captured(project.tree(), ("build/", "x.log", "y.log"))


def test_a_way_out_that_the_user_has_made_is_not_the_agents_fault(project: Project) -> None:
    (project.root / "cfg").symlink_to("/etc/app.conf")
    project.commit({})
    folder, snapshot = project.checkout()
    put(folder, {"README.md": "more\n"})
    assert isinstance(project.capture(folder, snapshot), Captured)

    (folder / "cfg").unlink()
    (folder / "cfg").symlink_to("/etc/passwd")
    assert isinstance(project.capture(folder, snapshot), Refused)

    (folder / "cfg").unlink()
    put(folder, {"cfg": "a file\n"})
    assert isinstance(project.capture(folder, snapshot), Captured)


def test_a_project_without_links_gets_none(project: Project) -> None:
    folder, snapshot = project.checkout()
    (folder / "a").symlink_to("README.md")

    refused = project.capture(folder, snapshot)

    assert isinstance(refused, Refused)
    assert refused.faults[0].path == "a"
    assert "this project has no links" in refused.faults[0].why


def test_names_that_the_user_chose_are_left_alone(project: Project) -> None:
    """The rules about names are for what an agent adds; the user's own files stay as they are."""
    project.commit({"new\nline": "1", "readme.md": "2", "a\\b": "3"})
    folder, snapshot = project.checkout()
    put(folder, {"new\nline": "more", "readme.md": "more", "src/x": ""})

    assert isinstance(project.capture(folder, snapshot), Captured)


def test_links_of_a_folder_that_is_gone_are_gone(project: Project) -> None:
    (project.root / "src/out").symlink_to("/etc/app.conf")
    project.commit({})
    folder, snapshot = project.checkout()
    discard(folder / "src")
    (folder / "src").symlink_to("run.sh")

    assert isinstance(project.capture(folder, snapshot), Captured)


def test_two_harmless_links_that_together_lead_out_do_not_join(project: Project) -> None:
    project.link()
    start = project.tree()
    folder, snapshot = project.checkout("a")
    (folder / "e").mkdir()
    (folder / "e/up").symlink_to("..")
    one = project.taken(folder, snapshot)
    folder, snapshot = project.checkout("b")
    (folder / "y").symlink_to("e/up/../evil")
    two = project.taken(folder, snapshot)

    joined = join(project.repository, fork=start, onto=one, tree=two)

    assert not isinstance(joined, Joined)
    assert joined.clashes[0].path == "y"


def test_a_tree_with_a_git_folder_in_it_is_not_checked_out(project: Project) -> None:
    blob = git(project.root, "hash-object", "-w", "--stdin", stdin=b"x")
    inner = git(project.root, "mktree", stdin=f"100644 blob {blob}\tconfig\n".encode())
    tree = git(project.root, "mktree", stdin=f"040000 tree {inner}\t.git\n".encode())

    with pytest.raises(Exception, match="git would take for its own"):
        project.checkout("bad", tree)  # type: ignore[arg-type]  # a tree by any other name
    assert not (project.spare / "bad").exists()
