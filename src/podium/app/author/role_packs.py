"""Roles from elsewhere: read from a file, a folder or a git repository, checked, copied, and written down.

Rule: nothing of a pack is run or followed; it is text until a workflow uses it. What it could run is shown first.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path, PurePosixPath
from typing import Any, Final

from podium.app.author.version_ranges import satisfies
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.files import atomic
from podium.files.inside import read_file
from podium.workflow.context import problem_at
from podium.workflow.dialects.detect import to_native
from podium.workflow.dialects.translation import name_of
from podium.workflow.merge.merge import Merged
from podium.workflow.merge.sources import gather_roles
from podium.workflow.merge.step_nodes import nested_parts
from podium.workflow.problems import Problem, mistakes
from podium.workflow.schema.file import Role
from podium.workflow.schema.reader import read
from podium.workflow.schema.scalars import NAME
from podium.workflow.source.files import is_prompt_file, tree_from_document
from podium.workflow.source.nodes import Node, fields, items, plain, text
from podium.workflow.source.yaml import MAX_BYTES, load

MANIFEST: Final = "pack.yaml"
REGISTRY_KEYS: Final = ("name", "version", "author", "dependencies")
RECORD: Final = "installed.json"
_REMOTE: Final = re.compile(r"[a-z][a-z0-9+.-]*://|[\w.-]+@[\w.-]+:")


@dataclass(frozen=True, slots=True)
class PackRole:
    name: str
    description: str
    content: bytes
    requires: tuple[str, ...]
    """The roles it extends or has judge its work."""
    commands: tuple[str, ...]
    """What its gates run."""
    permissions: tuple[str, ...] = ()
    """What it says about sandbox, network and tools, of itself and of its gates."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """What a file of the registry says about itself: name, version, author, dependencies."""

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True, slots=True)
class Pack:
    name: str
    version: str | None
    source: str
    commit: str | None
    roles: tuple[PackRole, ...]
    requires: Mapping[str, str]
    """What it needs besides its own roles, and the file each was found in."""
    author: str | None = None


def open_pack(source: str, *, home: Path, project: Path, user_dir: Path | None, replace: bool) -> Pack:
    """A pack that can be installed; raises with everything that prevents it."""
    files, commit = _files(source)
    roles = _roles(files, source)
    # A file of the registry is a pack of one role and says itself what a manifest says.
    about = read_manifest(files) or (roles[0].about if len(roles) == 1 else {})
    if not replace:
        _refuse_other_content(roles, home / "roles")
    needs = {name: "" for role in roles for name in role.requires}
    needs |= _ranges(about.get("requires")) | _ranges(about.get("dependencies"))
    for role in roles:
        needs |= _ranges(role.about.get("dependencies"))
    return Pack(
        name=str(about.get("name") or PurePosixPath(source.partition("#")[0]).stem),
        version=None if about.get("version") is None else str(about["version"]),
        source=source,
        commit=commit,
        roles=roles,
        requires=_requires(roles, needs, home, project, user_dir),
        author=None if about.get("author") is None else str(about["author"]),
    )


def install(pack: Pack, home: Path) -> tuple[Path, ...]:
    folder = home / "roles"
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for role in pack.roles:
        atomic.write(folder / f"{role.name}.yaml", role.content, fsync=False, mode=0o644)
        written.append(folder / f"{role.name}.yaml")
    record = folder / RECORD
    packs = [*(other for other in installed_packs(home) if other["name"] != pack.name), pack_data(pack)]
    text = json.dumps({"packs": packs}, indent=2) + "\n"
    atomic.write(record, text.encode(), fsync=False, mode=0o644)
    return (*written, record)


def installed_packs(home: Path) -> list[dict[str, Any]]:
    """What was installed into a folder of roles, as `pack_data` wrote it."""
    record = home / "roles" / RECORD
    return json.loads(record.read_text("utf-8"))["packs"] if record.exists() else []


def pack_data(pack: Pack) -> dict[str, Any]:
    return {
        "name": pack.name,
        "version": pack.version,
        "author": pack.author,
        "source": pack.source,
        "commit": pack.commit,
        "roles": {role.name: role.sha256 for role in pack.roles},
        "requires": dict(pack.requires),
    }


def _files(source: str) -> tuple[dict[str, bytes], str | None]:
    """The YAML files of a pack by path, and the commit they come from."""
    address, _, ref = source.partition("#")
    path = Path(source)
    if path.is_file():
        return {path.name: read_file(path, MAX_BYTES)}, None
    if path.is_dir() and not (path / "HEAD").is_file():
        names = [file.relative_to(path).as_posix() for file in sorted(path.rglob("*.yaml"))]
        return {name: read_file(path / name, MAX_BYTES) for name in names if _is_of_pack(name)}, None
    if not Path(address).is_dir() and not _REMOTE.match(address):
        raise ConfigurationError(f"{source} does not exist", hint="name a file, a folder or a git URL")
    from podium.git.branches.fetch import fetch_files

    fetched = fetch_files(address, ref or "HEAD", accept=_is_of_pack, limit=MAX_BYTES)
    return fetched.files, fetched.commit


def _is_of_pack(path: str) -> bool:
    """Roles lie at the top or in roles/."""
    return path.endswith(".yaml") and PurePosixPath(path).parent.as_posix() in (".", "roles")


def read_manifest(files: Mapping[str, bytes]) -> Mapping[str, Any]:
    """What pack.yaml says; nothing where there is none."""
    content = files.get(MANIFEST)
    value = {} if content is None else load(content.decode("utf-8", "replace"), name=MANIFEST).value
    types = {
        "name": str, "version": str, "author": str, "description": str, "requires": list, "dependencies": list,
    }  # fmt: skip
    if not isinstance(value, dict) or value.keys() - types.keys():
        raise ConfigurationError(f"{MANIFEST} is not a map of {', '.join(types)}")
    for key, kind in types.items():
        if key in value and not isinstance(value[key], kind):
            raise ConfigurationError(f'{MANIFEST}: "{key}" must be {"text" if kind is str else "a list"}')
    return value


def _roles(files: Mapping[str, bytes], source: str) -> tuple[PackRole, ...]:
    in_folder = {path: content for path, content in files.items() if path.startswith("roles/")}
    chosen = in_folder or {path: content for path, content in files.items() if path != MANIFEST}
    if not chosen:
        raise ConfigurationError(f"{source} has no roles", hint="roles are *.yaml files, or lie in roles/")
    problems: list[Problem] = []
    roles = [_role(path, content, problems) for path, content in sorted(chosen.items())]
    if problems:
        raise mistakes(problems)
    return tuple(roles)


def _role(path: str, content: bytes, problems: list[Problem]) -> PackRole:
    written_tree = tree_from_document(load(content.decode("utf-8", "replace"), name=path), Path(path))
    tree = to_native(written_tree, "role")
    is_foreign = tree is not written_tree
    about = {} if written_tree.node is None or not is_foreign else plain(written_tree.node)
    name = PurePosixPath(path).stem
    name = name_of(str(about.get("name") or name)) if is_foreign else name
    if not NAME.fullmatch(name):
        problems.append(
            Problem(path, 1, 1, 6, f'"{name}" is not a name', "write small letters, digits and _")
        )
    problems.extend(problem for problem in tree.problems if not problem.warning)
    if tree.node is None:
        return PackRole(name, "", content, (), ())
    problems.extend(_role_problems(tree.node))
    return PackRole(
        name=name,
        description=text(fields(tree.node).get("description")) or "",
        content=content,
        requires=tuple(sorted(_named(tree.node) - {name})),
        commands=tuple(_commands(tree.node)),
        permissions=tuple(_permissions(tree.node)),
        about={key: about[key] for key in REGISTRY_KEYS if key in about},
    )


def _role_problems(node: Node) -> Iterator[Problem]:
    role = Merged(node)
    for fault in read(Role, role.value, source=role.source).faults:
        yield problem_at(role.origin, fault)
    keys = fields(node)
    for key in ("system", "prompt"):
        if is_prompt_file(text(keys.get(key)) or ""):
            message = f'"{key}" is a file, which a pack cannot bring along'
            yield Problem(*keys[key].place, 20, message, "write its text into the role")


def _named(role: Node) -> set[str]:
    keys = fields(role)
    judges = [name for gate in items(keys.get("gates")) for name in items(fields(gate).get("review"))]
    return {name for node in (keys.get("extends"), *judges) if (name := text(node))}


def _commands(role: Node) -> Iterator[str]:
    for gate in items(fields(role).get("gates")):
        command = fields(gate).get("run")
        if command is not None:
            value = plain(command)
            yield " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _permissions(role: Node) -> Iterator[str]:
    for part in (role, *nested_parts(role)):
        of_gate = "" if part is role else " (gate)"
        for key in ("sandbox", "network", "tools"):
            if (value := fields(part).get(key)) is not None:
                yield f"{key}: {json.dumps(plain(value), ensure_ascii=False)}{of_gate}"


def _refuse_other_content(roles: tuple[PackRole, ...], folder: Path) -> None:
    others = [
        role.name
        for role in roles
        if (path := folder / f"{role.name}.yaml").exists() and path.read_bytes() != role.content
    ]
    if others:
        raise ConfigurationError(
            f"{folder} has other roles of these names: {', '.join(others)}",
            hint="--replace takes the new ones",
        )


def _ranges(entries: Any) -> dict[str, str]:
    """Required names with ranges of versions: entries are names, or maps with a name and a version."""
    if not isinstance(entries, list):
        return {}
    pairs = [
        (each.get("name"), each.get("version")) if isinstance(each, dict) else (each, "") for each in entries
    ]
    return {str(name): str(range_ or "") for name, range_ in pairs}


def _requires(
    roles: tuple[PackRole, ...], needs: Mapping[str, str], home: Path, project: Path, user_dir: Path | None
) -> dict[str, str]:
    own = {role.name for role in roles}
    sources = gather_roles(project, user_dir=user_dir, base=Path.cwd())
    places = {name: node.place.file for layer in sources.layers for name, node in layer.items()}
    agents = {
        name for layer in (sources.shipped, *sources.bounds) for name in fields(fields(layer).get("agents"))
    }
    packs = installed_packs(home)
    required = {name: _role_name(name, places) for name in needs}
    lacking = sorted(
        name
        for name, role in required.items()
        if role not in own | places.keys() | agents and name not in {pack["name"] for pack in packs}
    )
    if lacking:
        raise ConfigurationError(
            f"the pack needs roles that are not there: {', '.join(lacking)}", hint="install those first"
        )
    for name, range_ in needs.items():
        _check_version(name, required[name], range_, packs)
    return {role: places[role] for role in sorted({*required.values()} - own) if role in places}


def _role_name(name: str, role_names: Collection[str]) -> str:
    """The role that a name of the registry means: `base-reviewer` is the shipped `reviewer`."""
    native = name if name in role_names else name_of(name)
    base = native.removeprefix("base_")
    return base if native not in role_names and base in role_names else native


def _check_version(name: str, role: str, range_: str, packs: Sequence[Mapping[str, Any]]) -> None:
    """Only what was installed has a version; roles of the project and shipped ones satisfy every range."""
    versions = [pack["version"] for pack in packs if pack["name"] == name or role in pack["roles"]]
    if range_ and versions and (versions[-1] is None or not satisfies(versions[-1], range_)):
        raise ConfigurationError(
            f"the pack needs {name} {range_}, but {versions[-1] or 'a pack without a version'} is installed",
            hint="install another version first",
        )
