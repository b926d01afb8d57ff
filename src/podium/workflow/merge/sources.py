"""Finds and reads what a workflow stands on: its templates, the configuration files, the roles it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from podium.core.fast_dataclass import dataclass
from podium.files.project_paths import STATE_DIR
from podium.workflow.dialects.detect import to_native
from podium.workflow.merge.extends import Chain, read_chain
from podium.workflow.merge.role_files import read_roles
from podium.workflow.merge.role_inheritance import Layer
from podium.workflow.problems import Problem
from podium.workflow.prompts.partials import Own, read_partials
from podium.workflow.source.files import (
    SHIPPED,
    Tree,
    display_name,
    is_inside,
    is_prompt_file,
    leads_outside,
    read_tree,
)
from podium.workflow.source.nodes import Node, SourceLocation, fields, node_from_value, text
from podium.workflow.source.project_root import nested_config_dirs, project_of

DEFAULTS: Final = "defaults.yaml"
COMMAND_LINE: Final = SourceLocation("command line", 1, 1)
NOWHERE: Final = SourceLocation("", 1, 1)
NOTHING: Final = Node(MappingProxyType({}), NOWHERE, NOWHERE)
ANY_ROLE: Final = MappingProxyType(
    {
        "podium": 1,
        "name": "any_role",
        "inputs": {"role": "string"},
        "steps": {"play": {"role": "${{ inputs.role }}", "prompt": "-"}},
    }
)


@dataclass(frozen=True, slots=True)
class Sources:
    """Everything in the order in which it is laid over each other, the most distant first."""

    project: Path
    chain: tuple[Node, ...] = ()
    """The templates and the workflow; empty if one of them could not be read."""
    shipped: Node = NOTHING
    bounds: tuple[Node, ...] = ()
    """The configuration of the user, of the project and of its parts around the file, as far as there is one."""
    typed: Node | None = None
    """What the command line says."""
    layers: tuple[Layer, ...] = ()
    """The roles, by who defines them."""
    role_names: frozenset[str] = frozenset()
    """Every role there is, also those that were not read."""
    texts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """The files that roles name as their `system`, by path."""
    partials: tuple[Own, ...] = ()
    """Parts of prompts in the words of the user or of the project."""
    paths: tuple[Path, ...] = ()
    """All files of the language that were read, for a fingerprint or a watch."""
    problems: tuple[Problem, ...] = ()


def gather(
    path: Path,
    *,
    project_root: Path | None = None,
    user_dir: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Sources:
    """`user_dir` is the user's own folder, usually ~/.config/podium; `overrides` are keys typed for this run."""
    base = None if path.is_absolute() else Path.cwd()
    path = path.absolute()
    project = (project_root or project_of(path.parent)).absolute()
    if not is_inside(path, project):
        hint = f"the project is {display_name(project, base)}"
        message = f'"{display_name(path, base)}" leaves the project'
        return Sources(project, problems=(Problem(display_name(path, base), 1, 1, 24, message, hint),))
    homes = homes_of(project, user_dir, path.parent)
    folders = [home / "templates" for home in reversed(homes)]
    chain = read_chain(path, project=project, folders=folders, base=base)
    configs = [_configuration(home, base) for home in homes]
    typed = node_from_value(overrides, COMMAND_LINE) if overrides else None
    return _with_roles(chain, configs, typed, homes=homes, project=project, base=base)


def gather_roles(project: Path, *, user_dir: Path | None = None, base: Path | None = None) -> Sources:
    """What a workflow in the folder `base` stands on in which any role could be played: all of them."""
    homes = homes_of(project, user_dir, project if base is None else base)
    chain = Chain((node_from_value(ANY_ROLE, NOWHERE),), ())
    configs = [_configuration(home, base) for home in homes]
    return _with_roles(chain, configs, None, homes=homes, project=project, base=base)


def homes_of(project: Path, user_dir: Path | None, folder: Path) -> tuple[Path, ...]:
    """From the most distant to the nearest; each has its configuration, its roles, its templates and its partials.

    A part of a project, in whose folder a file is, may have a home of its own.
    """
    users = [user_dir] if user_dir is not None else []
    return (SHIPPED, *users, project / STATE_DIR, *nested_config_dirs(project, folder))


def _configuration(home: Path, base: Path | None) -> Tree:
    """What a home sets; a home without a configuration sets nothing."""
    path = home / (DEFAULTS if home == SHIPPED else "config.yaml")
    return to_native(read_tree(path, base), "configuration") if path.is_file() else Tree(path, NOTHING)


def _with_roles(
    chain: Chain,
    configs: Sequence[Tree],
    typed: Node | None,
    *,
    homes: Sequence[Path],
    project: Path,
    base: Path | None,
) -> Sources:
    settings = [tree.node or NOTHING for tree in configs]
    nearer = (*chain.nodes, *([typed] if typed is not None else []))
    inline = [_inline_roles(root) for root in (*settings, *nearer)]
    users = (*nearer, *map(_only_breaker, settings))
    roles = read_roles([home / "roles" for home in homes], users, inline, base)
    files_and_inline = [layer for pair in zip(roles.folders, inline, strict=False) for layer in pair]
    layers = (*files_and_inline, *inline[len(homes) :])
    trees = [tree for tree in (*configs, *roles.trees) if tree.node is not NOTHING]
    shelf = read_partials(homes[1:], project, base)
    return Sources(
        project,
        chain=chain.nodes,
        shipped=settings[0],
        bounds=tuple(node for node in settings[1:] if node.value),
        typed=typed,
        layers=layers,
        role_names=roles.known,
        texts=_texts(layers, project),
        partials=shelf.own,
        paths=(*chain.paths, *(tree.path for tree in trees), *(own.path for own in shelf.own)),
        problems=(
            *chain.problems,
            *(problem for tree in trees for problem in tree.problems),
            *shelf.problems,
        ),
    )


def _inline_roles(root: Node) -> Layer:
    return fields(fields(root).get("roles"))


def _only_breaker(config: Node) -> Node:
    """The part of a configuration that uses roles for every workflow; those it defines wait until one is used."""
    return replace(config, value={key: node for key, node in fields(config).items() if key == "breaker"})


def _texts(layers: Sequence[Layer], project: Path) -> Mapping[str, str]:
    named = {text(fields(role).get("system")) for layer in layers for role in layer.values()}
    found = {}
    for name in sorted(name for name in named if name is not None and is_prompt_file(name)):
        if not leads_outside(name, project) and (project / name).is_file():
            found[name] = (project / name).read_text("utf-8")
    return MappingProxyType(found)
