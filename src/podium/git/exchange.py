"""Carries objects and branches between repositories by way of a repository that all of them reach, the exchange.

Objects travel under refs named by their own ids, so two processes that performed the same attempt cannot replace each
other's work. A branch moves in the exchange only from the commit that it was seen at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final

from podium.errors import ConfigurationError, PodiumError
from podium.git.command import Answer, Git, GitError, run
from podium.git.repository import REFS, Repository, component, refs

OBJECTS: Final = "!objects"
HEADS: Final = "refs/heads/"
LANDED: Final = ("landed", "landed-from")
BATCH: Final = 200
"""How many refs one command names."""
REJECTED: Final = ("stale info", "[rejected]", "[remote rejected]", "atomic push failed")


class ExchangeFault(PodiumError):
    """The exchange cannot be reached, or refused; it is worth another try."""

    code = "exchange"


def clone(url: str, folder: Path) -> Git:
    """A bare repository in this folder that follows the exchange; made if it is not there."""
    git = Git(folder, surroundings="personal")
    if (folder / "HEAD").is_file():
        return git
    names = _names_of(_talk(Git(folder.parent, surroundings="personal"), "ls-remote", url))
    format_ = "sha256" if any(len(name) == 64 for name in names.values()) else "sha1"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    run(git, "init", "--quiet", "--bare", f"--object-format={format_}")
    run(git, "config", "remote.origin.url", url)
    return git


def add_checkout(git: Git, folder: Path, commit: str) -> None:
    """Check a commit out into a folder of its own."""
    if (folder / ".git").is_file():
        return
    run(git, "worktree", "prune")
    run(git, "worktree", "add", "--quiet", "--force", "--detach", str(folder), commit)


def remove_checkout(git: Git, folder: Path) -> None:
    run(git, "worktree", "remove", "--force", "--force", str(folder), codes=(0, 128))


def missing(git: Git, names: Iterable[str]) -> tuple[str, ...]:
    """Those of these objects that the repository does not have."""
    stdin = "".join(f"{name}\n" for name in names).encode()
    if not stdin:
        return ()
    lines = run(git, "cat-file", "--batch-check=%(objectname)", stdin=stdin).out.decode().splitlines()
    return tuple(line.removesuffix(" missing") for line in lines if line.endswith(" missing"))


def bring(git: Git, url: str, run_id: str) -> None:
    """Fetch all objects of a run."""
    name = f"{REFS}/{component(run_id)}/{OBJECTS}/*"
    _talk(git, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", url, f"+{name}:{name}")


def hand_over(git: Git, url: str, run_id: str, names: Collection[str]) -> None:
    """Push these objects with everything that they reach; those that the repository lacks are left out."""
    absent = frozenset(missing(git, names))
    present = [name for name in dict.fromkeys(names) if name not in absent]
    for start in range(0, len(present), BATCH):
        specs = (_object_spec(run_id, name) for name in present[start : start + BATCH])
        _push(git, url, *specs)


def _object_spec(run_id: str, name: str) -> str:
    return f"{name}:{REFS}/{component(run_id)}/{OBJECTS}/{name}"


def bring_branches(git: Git, url: str, run_id: str) -> dict[str, str]:
    """Make the branches, and what is recorded about landings of a run, those of the exchange; returns the branches."""
    own = (f"{REFS}/{component(run_id)}/{kind}/*" for kind in LANDED)
    specs = (f"+{name}:{name}" for name in (f"{HEADS}*", *own))
    _talk(git, "fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", url, *specs)
    return branches_of(git)


def branches_of(git: Git) -> dict[str, str]:
    return _listed(git, HEADS)


def hand_over_branches(git: Git, url: str, run_id: str, before: Mapping[str, str]) -> bool:
    """Move the branches that differ from `before`, all or none; False if one has moved in the exchange meanwhile."""
    after = branches_of(git)
    changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    own = [name for kind in LANDED for name in _listed(git, f"{REFS}/{component(run_id)}/{kind}/")]
    if not changed and not own:
        return True
    leases = (f"--force-with-lease={name}:{before.get(name, '')}" for name in changed)
    specs = (f"{name if name in after else ''}:{name}" for name in changed)
    answer = _ask(git, *_PUSH, "--atomic", *leases, url, *specs, *(f"+{name}:{name}" for name in own))
    if answer.code == 0:
        return True
    if any(word in answer.err + answer.out.decode() for word in REJECTED):
        return False
    raise _fault(url, answer)


def publish_start(
    repository: Repository, url: str, run_id: str, names: Collection[str], branch: str, commit: str
) -> None:
    """Hand over what a run starts from; a branch that the exchange lacks is made there."""
    git, name = network(repository), f"{HEADS}{branch}"
    hand_over(git, url, run_id, names)
    if not branch or _has(git, url, name):
        return
    try:
        _push(git, url, f"{commit}:{name}")
    except ExchangeFault:
        # Of several runs that start at once, one makes the branch.
        if not _has(git, url, name):
            raise


def _has(git: Git, url: str, name: str) -> bool:
    return name in _names_of(_talk(git, "ls-remote", url, name))


def discard(git: Git, url: str, run_id: str) -> None:
    """Remove a run's objects from the exchange; what it landed, and the record of that, stay."""
    name = f"{REFS}/{component(run_id)}/{OBJECTS}/"
    names = list(_names_of(_talk(git, "ls-remote", url, f"{name}*")))
    for start in range(0, len(names), BATCH):
        _push(git, url, *(f":{each}" for each in names[start : start + BATCH]))


def network(repository: Repository) -> Git:
    """Commands that reach the exchange, with the user's logins."""
    return Git(repository.common_dir, surroundings="personal", marker=repository.marker)


def exchange_of(repository: Repository, chosen: str | None) -> str:
    """The address of the exchange: as chosen, or of the remote `podium`, or of `origin`."""
    if chosen:
        path = Path(chosen)
        return str(path.absolute()) if path.is_dir() else chosen
    for name in ("podium", "origin"):
        answer = run(refs(repository), "config", "--get", f"remote.{name}.url", codes=(0, 1))
        if answer.code == 0:
            return exchange_of(repository, answer.out.decode().strip())
    raise ConfigurationError(
        "workers need a git repository that they and this machine reach, and none is known",
        hint="git init --bare FOLDER, and: git remote add podium FOLDER   or pass --exchange URL",
    )


def check_exchange(repository: Repository, url: str) -> str:
    """Why the exchange cannot be reached from here; empty if it can."""
    try:
        _talk(network(repository), "ls-remote", "--heads", url)
    except ExchangeFault as error:
        return error.message
    return ""


def read_blob(git: Git, name: str) -> bytes:
    return run(git, "cat-file", "blob", name).out


def _listed(git: Git, prefix: str) -> dict[str, str]:
    out = run(git, "for-each-ref", "--format=%(refname) %(objectname)", prefix).out.decode()
    return dict(line.split(" ", 1) for line in out.splitlines())


def _names_of(answer: Answer) -> dict[str, str]:
    """The objects of the listed refs by name."""
    words = (line.split("\t", 1) for line in answer.out.decode().splitlines())
    return {name: value for value, name in words}


_PUSH: Final = (
    "push", "--porcelain", "--no-follow-tags", "--no-verify", "--recurse-submodules=no", "--no-signed",
)  # fmt: skip


def _push(git: Git, url: str, *specs: str) -> None:
    answer = _ask(git, *_PUSH, url, *specs)
    if answer.code:
        raise _fault(url, answer)


def _talk(git: Git, *args: str) -> Answer:
    answer = _ask(git, *args)
    if answer.code:
        raise _fault(next((arg for arg in args if "/" in arg), args[0]), answer)
    return answer


def _ask(git: Git, *args: str) -> Answer:
    try:
        return run(git, *args, codes=(0, 1, 128))
    except GitError as error:
        raise ExchangeFault(error.message, hint=error.hint) from error


def _fault(url: str, answer: Answer) -> ExchangeFault:
    text = answer.err.strip() or answer.out.decode("utf-8", "replace").strip()
    return ExchangeFault(f"the exchange {url} does not work: {text}")
