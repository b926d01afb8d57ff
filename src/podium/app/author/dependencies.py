"""Which components of a project depend on each other by their imports, and the `needs` that a file lacks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from podium.app.author.components_of_file import NamedComponents, read_components
from podium.attempt.prompt.code_files import CodeFiles
from podium.attempt.prompt.tree_files import files_of
from podium.context.components import Dependencies, analyze, by_folder, by_globs, reachable
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.files.atomic import write
from podium.git.repository import tree_of
from podium.workflow.source.edit import add_to_list
from podium.workflow.source.yaml import load as load_yaml

if TYPE_CHECKING:
    from podium.attempt.host import Host


class Need(NamedTuple):
    """A need that a file lacks."""

    component: str
    need: str
    reason: str


@dataclass(frozen=True, slots=True)
class DependencyReport:
    dependencies: Dependencies
    named: NamedComponents | None
    """None for components that are folders."""
    needs: tuple[Need, ...]
    """What can be added to the file without a circle."""
    circular: tuple[Need, ...]
    """What would close a circle of needs, or ask for a component of a later phase."""
    notes: tuple[str, ...]


def report_dependencies(
    host: Host, *, file: Path | None, depth: int | None, user_dir: Path
) -> DependencyReport:
    """Reads the commit that a run would start from; outside of git the folder."""
    named = None if file is None or depth is not None else read_components(file, user_dir=user_dir)
    tree = None if host.repository is None else tree_of(host.repository, host.base_commit)
    with host.open_facts() as cache:
        code = CodeFiles(files_of(host, tree), cache, ())
        graph = code.graph()
        paths = [path for path in code.candidates if code.facts([path])[path].language]
    if named is None:
        components = by_folder(paths, depth or 1)
    else:
        components = by_globs(paths, named.touches, named.needs, named.waits)
    dependencies = analyze(components, graph)
    needs, circular = ((), ()) if named is None else _needs(dependencies, named)
    return DependencyReport(dependencies, named, tuple(needs), tuple(circular), tuple(code.notes))


def _needs(dependencies: Dependencies, named: NamedComponents) -> tuple[list[Need], list[Need]]:
    """The edge with the most imports first, so that of a circle the weakest edge is left out."""
    before = {name: [*named.needs.get(name, ()), *named.waits.get(name, ())] for name in named.touches}
    added: list[Need] = []
    circular: list[Need] = []
    for edge in sorted(dependencies.missing, key=lambda each: (each.kind != "load", -len(each.imports))):
        first = edge.imports[0]
        need = Need(edge.source, edge.target, f"{first.source}:{first.line} imports {first.module}")
        if edge.target in reachable(before, edge.source):
            continue
        if edge.source in reachable(before, edge.target):
            circular.append(need)
        else:
            before[edge.source].append(edge.target)
            added.append(need)
    return sorted(added), sorted(circular)


def write_needs(named: NamedComponents, needs: Sequence[Need]) -> None:
    """Adds the needs to the file; everything else in it stays as it is, comments included."""
    if named.file is None or named.read_only:
        raise ConfigurationError(f"cannot write needs: {named.read_only or 'components are folders'}")
    text = named.file.read_text("utf-8")
    document = load_yaml(text, name=str(named.file)).value
    for need in needs:
        place, value = named.places[need.component], named.need(need.component, need.need)
        changed = add_to_list(text, place, "needs", [value])
        if changed is None:
            raise _by_hand(named.file, need)
        text = changed
        _at(document, place).setdefault("needs", []).append(value)
    if load_yaml(text, name=str(named.file)).value != document:
        raise _by_hand(named.file, needs[0])
    write(named.file, text.encode(), mode=named.file.stat().st_mode & 0o777)


def _at(document: Any, place: Sequence[str]) -> Any:
    for key in place:
        document = document[key]
    return document


def _by_hand(file: Path, need: Need) -> ConfigurationError:
    return ConfigurationError(
        f"{file}: needs of {need.component} cannot be added by a program",
        hint=f"add it yourself: needs: [{need.need}]",
    )
