"""Finds and reads the sources of a workflow: its templates, configuration files and roles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from podium.fast_dataclass import dataclass
from podium.files.inside import MAX_TEXT_FILE, read_file
from podium.files.project_paths import STATE_DIR
from podium.files.project_root import nested_config_dirs, project_of
from podium.workflow.dialects.detect import to_native
from podium.workflow.merge.extends import TemplateChain, read_chain
from podium.workflow.merge.role_files import read_roles
from podium.workflow.merge.role_inheritance import Layer
from podium.workflow.merge.switches import BEFORE_LANDING
from podium.workflow.problems import Problem
from podium.workflow.prompts.partials import OwnPartial, read_partials
from podium.workflow.source.files import (
    SHIPPED,
    Tree,
    display_name,
    is_inside,
    is_prompt_file,
    leads_outside,
    read_tree,
)
from podium.workflow.source.nodes import Node, SourceLocation, fields, node_from_value, text, without_keys

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
    """Everything that is merged, in ascending precedence."""

    project: Path
    chain: tuple[Node, ...] = ()
    """The templates and the workflow; empty if one of them could not be read."""
    shipped: Node = NOTHING
    bounds: tuple[Node, ...] = ()
    """The configuration files of the user, the project and its parts around the file, as far as they exist."""
    command_line: Node | None = None
    """The keys set on the command line."""
    layers: tuple[Layer, ...] = ()
    """The roles, by the folder or file that defines them."""
    role_names: frozenset[str] = frozenset()
    """Every available role, including those that were not read."""
    texts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """The files that roles name as their `system`, by path."""
    partials: tuple[OwnPartial, ...] = ()
    """The user's and the project's own versions of prompt parts."""
    paths: tuple[Path, ...] = ()
    """All files that were read, for a fingerprint or `podium watch`."""
    problems: tuple[Problem, ...] = ()


def with_layer(sources: Sources, roles: Layer) -> Sources:
    """The sources with roles that no file defines."""
    if not roles:
        return sources
    names = sources.role_names | roles.keys()
    return replace(sources, layers=(*sources.layers, roles), role_names=names)


def gather(
    path: Path,
    *,
    project_root: Path | None = None,
    user_dir: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Sources:
    """`user_dir` is the user's own folder, usually ~/.config/podium; `overrides` are keys set on the command line."""
    base = None if path.is_absolute() else Path.cwd()
    path = path.absolute()
    project = (project_root or project_of(path.parent)).absolute()
    if not is_inside(path, project):
        hint = f"the project is {display_name(project, base)}"
        message = f'"{display_name(path, base)}" leaves the project'
        return Sources(project, problems=(Problem(display_name(path, base), 1, 1, 24, message, hint),))
    config_folders = config_dirs(project, user_dir, path.parent)
    folders = [home / "templates" for home in reversed(config_folders)]
    chain = read_chain(path, project=project, folders=folders, base=base)
    configs = [_read_configuration(home, base) for home in config_folders]
    command_line = node_from_value(overrides, COMMAND_LINE) if overrides else None
    return _with_roles(
        chain, configs, command_line, config_folders=config_folders, project=project, base=base
    )


def gather_roles(project: Path, *, user_dir: Path | None = None, base: Path | None = None) -> Sources:
    """The sources of a workflow in the folder `base` that could use any role, that is, all roles."""
    config_folders = config_dirs(project, user_dir, project if base is None else base)
    chain = TemplateChain((node_from_value(ANY_ROLE, NOWHERE),), ())
    # Without `git`, which adds steps: there is no workflow here, only the roles that one could use.
    trees = [_read_configuration(home, base) for home in config_folders]
    configs = [replace(tree, node=without_keys(tree.node or NOTHING, "git")) for tree in trees]
    return _with_roles(chain, configs, None, config_folders=config_folders, project=project, base=base)


def config_dirs(project: Path, user_dir: Path | None, folder: Path) -> tuple[Path, ...]:
    """The folders with configuration, roles, templates and partials, in ascending precedence.

    A part of a project may have such a folder of its own.
    """
    users = [user_dir] if user_dir is not None else []
    return (SHIPPED, *users, project / STATE_DIR, *nested_config_dirs(project, folder))


def _read_configuration(home: Path, base: Path | None) -> Tree:
    """The configuration in a folder; empty if the folder has none."""
    path = home / (DEFAULTS if home == SHIPPED else "config.yaml")
    if not path.is_file():
        return Tree(path, NOTHING)
    tree = read_tree(path, base)
    return tree if home == SHIPPED else to_native(tree, "configuration")


def _with_roles(
    chain: TemplateChain,
    configs: Sequence[Tree],
    command_line: Node | None,
    *,
    config_folders: Sequence[Path],
    project: Path,
    base: Path | None,
) -> Sources:
    settings = [tree.node or NOTHING for tree in configs]
    nearer = (*chain.nodes, *([command_line] if command_line is not None else []))
    inline = [_inline_roles(root) for root in (*settings, *nearer)]
    users = (*nearer, *map(_only_breaker, settings), *_steps_of_switches(chain))
    roles = read_roles([home / "roles" for home in config_folders], users, inline, base)
    files_and_inline = [layer for pair in zip(roles.folders, inline, strict=False) for layer in pair]
    layers = (*files_and_inline, *inline[len(config_folders) :])
    trees = [tree for tree in (*configs, *roles.trees) if tree.node is not NOTHING]
    partials = read_partials(config_folders[1:], project, base)
    return Sources(
        project,
        chain=chain.nodes,
        shipped=settings[0],
        bounds=tuple(node for node in settings[1:] if node.value),
        command_line=command_line,
        layers=layers,
        role_names=roles.names,
        texts=_system_texts(layers, project),
        partials=partials.own,
        paths=(*chain.paths, *(tree.path for tree in trees), *(own.path for own in partials.own)),
        problems=(
            *chain.problems,
            *(problem for tree in trees for problem in tree.problems),
            *partials.problems,
        ),
    )


def _inline_roles(root: Node) -> Layer:
    return fields(fields(root).get("roles"))


def _steps_of_switches(chain: TemplateChain) -> Iterator[Node]:
    """A stand-in for the steps that switches may add, because only roles that something names are read."""
    if any("switches" in fields(file) for file in chain.nodes):
        yield node_from_value({"steps": dict(BEFORE_LANDING)}, NOWHERE)


def _only_breaker(config: Node) -> Node:
    """The part of a configuration that uses roles in every workflow; the roles it defines are read only when used."""
    return replace(config, value={key: node for key, node in fields(config).items() if key == "breaker"})


def _system_texts(layers: Sequence[Layer], project: Path) -> Mapping[str, str]:
    named = {text(fields(role).get("system")) for layer in layers for role in layer.values()}
    texts = {}
    for name in sorted(name for name in named if name is not None and is_prompt_file(name)):
        if not leads_outside(name, project) and (project / name).is_file():
            texts[name] = read_file(project / name, MAX_TEXT_FILE).decode("utf-8", "replace")
    return MappingProxyType(texts)
