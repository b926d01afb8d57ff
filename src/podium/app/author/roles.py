"""The roles that a workflow of this project could use: which there are, what each comes to, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from podium.adapters.agents.registry import agent_types
from podium.app.author.load import Checked
from podium.app.author.role_packs import installed_packs
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.files.project_paths import ProjectPaths
from podium.workflow.gather import LoadOptions, context_of
from podium.workflow.lint.check import check
from podium.workflow.merge.merge import merge
from podium.workflow.merge.role_inheritance import lineage
from podium.workflow.merge.sources import NOWHERE, Sources, config_dirs, gather_roles
from podium.workflow.problems import Problem, did_you_mean, in_order, mistakes
from podium.workflow.source.files import display_name, is_prompt_file
from podium.workflow.source.nodes import Node, fields, node_from_value, plain, text

LAYERS_OF_A_HOME: Final = 2
"""The files of its folder, and what its configuration says under `roles`."""
SECTIONS: Final = ("description", "system")
"""Without them a role has nothing to say about who plays and how."""


@dataclass(frozen=True, slots=True)
class RoleListing:
    name: str
    description: str
    agent: str | None
    extends: str | None
    origin: str
    """Whose it is: shipped, user or project; the nearest that says anything about it."""
    files: tuple[str, ...]
    """Every place that had a part in it, the most distant first."""
    pack: str | None = None
    """The installed pack that it comes from."""
    version: str | None = None
    author: str | None = None


@dataclass(frozen=True, slots=True)
class RoleDetails:
    """A role in full."""

    name: str
    node: Node

    @property
    def value(self) -> Any:
        return plain(self.node)

    @property
    def origins(self) -> dict[str, list[str]]:
        """By key (`context.include.0`), the places that a value was made of."""
        return {
            ".".join(map(str, path)): [
                str(place) for place in dict.fromkeys((*node.other_places, node.place))
            ]
            for path, node in _leaves(self.node, ())
        }


def list_roles(project: Path, *, user_dir: Path | None = None) -> tuple[RoleListing, ...]:
    sources = _sources(project, user_dir)
    roles = _effective(sources)
    homes = config_dirs(project, user_dir, Path.cwd())
    names = ("shipped", *(["user"] if user_dir is not None else []))
    names += ("project",) * (len(homes) - len(names))
    owners = tuple(name for name in names for _ in range(LAYERS_OF_A_HOME))
    packs = {role: pack for home in homes for pack in installed_packs(home) for role in pack["roles"]}
    listed = (_listed(name, node, sources, owners) for name, node in sorted(roles.items()))
    return tuple(_with_pack(role, packs.get(role.name, {})) for role in listed)


def _with_pack(role: RoleListing, pack: Mapping[str, Any]) -> RoleListing:
    return replace(role, pack=pack.get("name"), version=pack.get("version"), author=pack.get("author"))


def show_role(name: str, project: Path, *, user_dir: Path | None = None) -> RoleDetails:
    sources = _sources(project, user_dir)
    merged = merge(sources)
    roles = fields(fields(merged.root).get("roles"))
    if name not in roles:
        hint = did_you_mean(name, roles) or "`podium roles list` names all"
        raise ConfigurationError(f'role "{name}" not found', hint=hint)
    wrong = [problem for problem in merged.problems if f'role "{name}"' in problem.message]
    if wrong:
        raise mistakes(wrong)
    return RoleDetails(name, roles[name])


def check_roles(project: Path, *, user_dir: Path | None = None) -> Checked:
    """Every mistake of every role, as if a workflow used all of them; and roles that lack a section (R080)."""
    sources = _sources(project, user_dir)
    names = sorted(sources.role_names)
    steps = {f"play_{name}": {"role": name, "prompt": "-", "needs": []} for name in names}
    file = {"podium": 1, "name": "all_roles", "steps": steps}
    whole = replace(sources, chain=(node_from_value(file, NOWHERE),))
    here = ProjectPaths(project).state_dir / "roles"
    gathered = context_of(LoadOptions(agent_types(), project=project, user_dir=user_dir), here, whole)
    problems = [*gathered.problems, *([] if gathered.context is None else check(gathered.context))]
    problems += _lacking(_effective(sources))
    # Problems without a file are about the steps that were made up so that every role is used.
    return Checked(
        Path(display_name(here, Path.cwd())), in_order(problem for problem in problems if problem.file)
    )


def _lacking(roles: Mapping[str, Node]) -> Iterator[Problem]:
    for name, node in roles.items():
        for key in SECTIONS:
            if not text(fields(node).get(key)):
                yield Problem(*node.place, 21, f'role "{name}" has no {key}', warning=True)


def _sources(project: Path, user_dir: Path | None) -> Sources:
    return gather_roles(project, user_dir=user_dir, base=Path.cwd())


def _effective(sources: Sources) -> Mapping[str, Node]:
    return fields(fields(merge(sources).root).get("roles"))


def _listed(name: str, node: Node, sources: Sources, owners: tuple[str, ...]) -> RoleListing:
    nearest = max(at for at in range(len(owners)) if name in sources.layers[at])
    line = lineage(name, sources.layers, sorted(sources.role_names)).nodes
    keys = fields(node)
    return RoleListing(
        name=name,
        description=text(keys.get("description")) or "",
        agent=text(keys.get("agent")),
        extends=text(fields(sources.layers[nearest][name]).get("extends")),
        origin=owners[nearest],
        files=tuple(dict.fromkeys((*(part.place.file for part in line), *_persona_files(line)))),
    )


def _persona_files(line: Sequence[Node]) -> Iterator[str]:
    """The files that hold the text of a role."""
    names = (text(fields(part).get("system")) for part in line)
    return (name for name in names if name is not None and is_prompt_file(name))


def _leaves(node: Node, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Node]]:
    value = node.value
    inner: list[tuple[str | int, Node]] = []
    if isinstance(value, Mapping):
        inner = list(value.items())
    elif isinstance(value, tuple):
        inner = list(enumerate(value))
    if not inner:
        yield path, node
    for key, child in inner:
        yield from _leaves(child, (*path, key))
