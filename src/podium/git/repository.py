"""The user's repository: its folders, its HEAD, uncommitted files, and the refs that Podium keeps in it.

Trees are read and written through a separate git folder (`store`) that uses the objects of the user's repository, so
that the user's settings, attributes, hooks and merge drivers do not affect trees. Refs, branches and the work tree are
accessed through the user's git folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import quote

from podium.core.types import Tree
from podium.errors import ConfigurationError, PodiumError
from podium.fast_dataclass import dataclass
from podium.files.project_paths import STATE_DIR
from podium.git.command import MARKER, Answer, Git, GitError, discover, run, text
from podium.git.trees.ignore import Rule, parse_rules
from podium.git.trees.objects import HashName, Objects, write
from podium.process.host_programs import keep_out

REFS: Final = "refs/podium"

# Files are exact bytes: no conversion of line ends, keywords, encodings or filters for agents, gates and merges.
NEUTRAL_ATTRIBUTES: Final = "* -text -ident !eol !filter !working-tree-encoding !merge !diff\n"


_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Not part of a message, which an agent may have written: `git log` prints them on a terminal as they are."""


@dataclass(frozen=True, slots=True)
class Repository:
    root: Path
    """The top of the user's work tree."""
    git_dir: Path
    """The git folder of this work tree, with its index and HEAD."""
    common_dir: Path
    """The folder with the refs and settings; differs from git_dir only in a linked work tree."""
    objects: Objects
    store: Path
    marker: str = MARKER


@dataclass(frozen=True, slots=True)
class Head:
    branch: str | None
    """None if no branch is checked out (detached)."""
    commit: str | None
    """None if the branch has no commit yet."""
    tree: Tree


@dataclass(frozen=True, slots=True)
class Person:
    name: str
    email: str


@dataclass(frozen=True, slots=True)
class Signature:
    """The author, committer and time of a commit; all explicit, so that the same work gives the same commit id."""

    author: Person
    committer: Person
    at_s: int


def find(folder: Path, store: Path, marker: str = MARKER) -> Repository | None:
    """The repository that contains a folder of the user; None outside git. Creates the store if necessary.

    The marker identifies the run in the environment of every git process that it starts.
    """
    keep_out(folder)
    answer = discover(
        folder, "--is-inside-work-tree", "--show-object-format", "--absolute-git-dir",
        "--path-format=absolute", "--git-common-dir", "--git-path", "objects", "--show-toplevel",
    )  # fmt: skip
    if answer.code:
        if "not a git repository" in answer.err:
            return None
        raise _unusable(folder, answer)
    lines = os.fsdecode(answer.out).split("\n")
    if len(lines) != 7:
        raise ConfigurationError(
            f"{folder!s:.200} has a line break in its path, which git output cannot represent"
        )
    _, hash_name, git_dir, common_dir, objects, root, _ = lines
    assert hash_name in ("sha1", "sha256"), hash_name
    hash_: HashName = "sha256" if hash_name == "sha256" else "sha1"
    make_store(store, hash_)
    return Repository(
        Path(root), Path(git_dir), Path(common_dir), Objects(Path(objects), hash_), store, marker
    )


def _unusable(folder: Path, answer: Answer) -> PodiumError:
    if "must be run in a work tree" in answer.err:
        return ConfigurationError(f"{folder} is in a repository without a work tree")
    return GitError(f"git cannot use the repository of {folder}: {answer.err.strip()}")


def make_store(store: Path, hash_name: HashName) -> None:
    for name in ("refs", "objects", "info"):
        (store / name).mkdir(parents=True, exist_ok=True)
    version = "0" if hash_name == "sha1" else "1\n[extensions]\n\tobjectFormat = sha256"
    write_whole(
        store / "config", f"[core]\n\tbare = true\n\tfilemode = true\n\trepositoryformatversion = {version}\n"
    )
    write_whole(store / "info/attributes", NEUTRAL_ATTRIBUTES)
    write_whole(store / "HEAD", "ref: refs/heads/none\n")


def write_whole(path: Path, content: str) -> None:
    if path.exists() and path.read_text("utf-8") == content:
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(content)
    Path(temporary).replace(path)


def trees(repository: Repository) -> Git:
    """Commands that only read and write objects."""
    return Git(repository.store, objects=repository.objects.folder, marker=repository.marker)


def refs(repository: Repository) -> Git:
    """Commands about refs and history."""
    return Git(repository.common_dir, marker=repository.marker)


def personal(repository: Repository, index: Path | None = None) -> Git:
    """Commands on the user's work tree, with the user's settings."""
    return Git(repository.git_dir, None, repository.root, index, "personal", repository.marker)


def read_head(repository: Repository) -> Head:
    git = Git(repository.git_dir, marker=repository.marker)
    name = run(git, "symbolic-ref", "--quiet", "HEAD", codes=(0, 1)).out.decode().strip()
    branch = name.removeprefix("refs/heads/") or None
    commit = commit_of(git, "HEAD")
    return Head(branch, commit, tree_of(repository, commit))


def find_head(repository: Repository, name: str) -> Head | None:
    """A branch, tag or commit by name, as if it were checked out; None if there is none."""
    git = refs(repository)
    branch = commit_of(git, f"refs/heads/{name}")
    commit = branch or commit_of(git, name)
    return None if commit is None else Head(name if branch else None, commit, tree_of(repository, commit))


def commit_of(git: Git, ref: str) -> str | None:
    answer = run(
        git, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", codes=(0, 1)
    )
    return answer.out.decode().strip() or None


def tree_of(repository: Repository, commit: str | None) -> Tree:
    """The tree of a commit; the empty tree for None."""
    if commit is None:
        return Tree(write(repository.objects, "tree", b""))
    return _tree_of(repository, commit)


# The tree of a commit never changes, and every attempt asks for that of the run's first commit.
@lru_cache(maxsize=64)
def _tree_of(repository: Repository, commit: str) -> Tree:
    return Tree(text(refs(repository), "rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}"))


def has_tree(repository: Repository, tree: Tree) -> bool:
    """Whether the tree exists; git removes objects that no ref reaches."""
    return run(trees(repository), "cat-file", "-e", f"{tree}^{{tree}}", codes=(0, 1, 128)).code == 0


def has_commit(repository: Repository, commit: str) -> bool:
    return commit_of(refs(repository), commit) is not None


def read_uncommitted(repository: Repository) -> tuple[str, ...]:
    """Paths in the user's work tree or index that differ from HEAD or are new, without ignored files and Podium's own."""
    out = run(
        personal(repository), "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames",
        "--ignore-submodules=dirty",
    ).out  # fmt: skip
    paths = [os.fsdecode(record[3:]) for record in out.split(b"\0")[:-1]]
    return tuple(path for path in paths if path.split("/")[0] != STATE_DIR)


def read_changed(repository: Repository, paths: Sequence[str]) -> tuple[str, ...]:
    """Those of the paths that are not committed as they are in the user's work tree: changed, new or ignored."""
    if not paths:
        return ()
    out = run(
        personal(repository), "--literal-pathspecs", "status", "--porcelain=v1", "-z", "--untracked-files=all",
        "--no-renames", "--ignored=matching", "--", *paths,
    ).out  # fmt: skip
    # An ignored folder is named instead of what is in it, with a slash at its end.
    changed = tuple(os.fsdecode(record[3:]) for record in out.split(b"\0")[:-1])
    folders = tuple(path for path in changed if path.endswith("/"))
    return tuple(path for path in paths if path in changed or path.startswith(folders))


def read_ignored(repository: Repository) -> tuple[str, ...]:
    """Untracked paths in the user's work tree that git ignores; a folder includes everything in it."""
    out = run(
        personal(repository), "status", "--porcelain=v1", "-z", "--untracked-files=normal", "--no-renames",
        # Not `ls-files --ignored --directory`, which also names a folder that holds ignored files only.
        "--ignored=matching", "--ignore-submodules=all",
    ).out  # fmt: skip
    paths = (record[3:] for record in out.split(b"\0") if record.startswith(b"!! "))
    return tuple(os.fsdecode(path.removesuffix(b"/")) for path in paths)


def tree_with_uncommitted(repository: Repository) -> Tree:
    """HEAD with the user's uncommitted files, written through a copy of the index; the user's index is not changed."""
    with tempfile.TemporaryDirectory(dir=repository.store) as folder:
        index = Path(folder) / "index"
        if (repository.git_dir / "index").exists():
            # Keep its times: git uses them to detect files that changed at the moment the index was written.
            shutil.copy2(repository.git_dir / "index", index)
        git = personal(repository, index)
        # A nested repository is listed with a trailing slash; it is not part of the tree.
        paths = [path for path in read_uncommitted(repository) if not path.endswith("/")]
        stdin = b"".join(os.fsencode(path) + b"\0" for path in paths)
        if stdin:
            run(git, "update-index", "--add", "--remove", "--replace", "-z", "--stdin", stdin=stdin)
        return Tree(text(git, "write-tree"))


def read_outer_rules(repository: Repository) -> tuple[Rule, ...]:
    """The ignore rules outside .gitignore files: the user's info/exclude, and Podium's own folder."""
    exclude = repository.common_dir / "info/exclude"
    own = exclude.read_bytes() if exclude.is_file() else b""
    return parse_rules(own + f"\n/{STATE_DIR}/\n".encode())


def read_person(repository: Repository) -> Person | None:
    """The user's name and email in the git configuration; None if they are not set."""
    git = personal(repository)
    name, email = (
        os.fsdecode(run(git, "config", "--get", key, codes=(0, 1)).out).strip()
        for key in ("user.name", "user.email")
    )
    return Person(name, email) if name and email else None


def write_commit(
    repository: Repository, tree: Tree, *, parents: tuple[str, ...], message: str, signature: Signature
) -> str:
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    for role, person in (("author", signature.author), ("committer", signature.committer)):
        lines.append(f"{role} {_clean(person.name)} <{_clean(person.email)}> {signature.at_s} +0000")
    content = "\n".join(lines) + "\n\n" + _CONTROLS.sub("", message).rstrip("\n") + "\n"
    return write(repository.objects, "commit", content.encode("utf-8", "replace"))


def _clean(name: str) -> str:
    return "".join(sign for sign in name if sign.isprintable() and sign not in "<>").strip() or "unknown"


def attempt_ref(run_id: str, step: str, attempt: int) -> str:
    """The ref of an attempt; the address is one component, because git cannot have both refs `a` and `a/1`."""
    return f"{REFS}/{component(run_id)}/{component(step) or '-'}/{attempt}"


def component(name: str) -> str:
    """A name as one component of a ref; characters that git refuses, and dots, are written as %xx."""
    raw = name.encode("utf-8", "surrogateescape")
    plain = quote(raw, safe="@+,=!#()").replace(".", "%2E").replace("~", "%7E")
    if len(plain) <= 200:
        return plain
    # A file name has at most 255 bytes, and the address of a step in nested loops may be longer.
    return f"{plain[:150]}+{hashlib.sha256(raw).hexdigest()[:24]}"


def keep(repository: Repository, ref: str, commit: str) -> None:
    """Point one of our refs at a commit, so that git gc keeps it; idempotent."""
    run(refs(repository), "update-ref", ref, commit)


def clear_locks(repository: Repository, run_id: str) -> tuple[Path, ...]:
    """Remove locks on a run's refs that a killed git left behind; only the owner of the run may call this."""
    folder = repository.common_dir / REFS / component(run_id)
    locks = tuple(sorted(folder.rglob("*.lock")))
    for lock in locks:
        lock.unlink(missing_ok=True)
    return locks


def make_repository(folder: Path) -> None:
    """Make a repository with one commit of all files in a folder, which Podium alone has written, ignored ones included."""
    git = Git(folder / ".git", work_tree=folder)
    run(git, "init", "--quiet", "--initial-branch=main", str(folder))
    person = ("-c", "user.name=podium", "-c", "user.email=podium@localhost")
    run(git, "add", "--all", "--force", ".")
    run(git, *person, "commit", "--quiet", "--no-verify", "--allow-empty", "--message=Start")
