"""`podium deps`: which components import each other, where that makes circles, and which `needs` are missing."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from podium.errors import ConfigurationError
from podium.frontends.cli.output import say, tell_data
from podium.frontends.cli.shell_completion import complete_workflow

if TYPE_CHECKING:
    from podium.app.author.dependencies import DependencyReport, Need
    from podium.context.components import ComponentEdge

FORMS: Final = ("text", "mermaid", "dot", "svg")
SHOWN: Final = 10
"""Rows of one kind that are listed."""


@click.command("deps", short_help="Show which components import each other, and which needs are missing.")
@click.argument("file", type=click.Path(path_type=Path), required=False, shell_complete=complete_workflow)
@click.option("--by", "by", metavar="folder:N", help="Components are the folders N levels deep (default: 1).")
@click.option("--format", "form", type=click.Choice(FORMS), help="How to show it; default: text.")
@click.option("--svg", "form", flag_value="svg", help="Short for --format svg.")
@click.option("--dot", "form", flag_value="dot", help="Short for --format dot.")
@click.option("--mermaid", "form", flag_value="mermaid", help="Short for --format mermaid.")
@click.option("--write", "writes", is_flag=True, help="Add the missing needs to FILE, after asking for each.")
@click.option("-y", "--yes", is_flag=True, help="With --write: add all of them without asking.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object; its schema: podium schema --of deps."
)
def command(
    file: Path | None, by: str | None, form: str | None, writes: bool, yes: bool, as_json: bool
) -> int:
    """Show the dependencies between components, as the imports of the committed code have them.

    FILE is a feature, or a workflow with a build or with steps that say what they touch: its components are compared with
    their `needs`. Without FILE, components are folders.
    """
    if writes and (file is None or by or form or as_json):
        raise click.UsageError("--write needs FILE, and no --by, --format or --json")
    report = _report(file, by)
    if as_json:
        tell_data(_document(report))
    elif form in (None, "text"):
        for line in _lines(report):
            click.echo(line)
        if writes:
            _write(report, yes=yes)
    else:
        assert form is not None
        click.echo(_drawn(report, form), nl=False)
    return 0


def _report(file: Path | None, by: str | None) -> DependencyReport:
    from podium.app.author.dependencies import report_dependencies
    from podium.app.paths import project_root, user_dir
    from podium.wiring import context_host

    folder = Path.cwd() if file is None else file.absolute().parent
    with context_host(project_root(folder)) as host:
        return report_dependencies(host, file=file, depth=_depth(by), user_dir=user_dir())


def _depth(by: str | None) -> int | None:
    if by is None:
        return None
    kind, _, number = by.partition(":")
    if kind != "folder" or not (number or "1").isdecimal() or not 1 <= int(number or "1") <= 9:
        raise click.BadParameter(f"{by!r} is not folder:N with N from 1 to 9", param_hint="--by")
    return int(number or "1")


def _lines(report: DependencyReport) -> Iterator[str]:
    graph = report.dependencies
    files = sum(len(component.files) for component in graph.components)
    yield f"{len(graph.components)} components, {files} files of code, {len(graph.edges)} edges"
    for component in graph.components:
        if report.named is not None and not component.files:
            yield f"  {component.name}: no file of code yet"
    for edge in _first(graph.edges):
        yield f"  {edge.source} -> {edge.target}  {_count(edge)}{_suffix(edge)}: {_place(edge)}"
    yield from _more(graph.edges)
    for circle in graph.circles:
        yield f"circle: {', '.join(circle.members)}"
        for cut in circle.cuts:
            yield f"  cheapest to cut: {cut.source} -> {cut.target}  {_count(cut)}: {_place(cut)}"
    for need in report.needs:
        yield f"missing: {need.component} needs {need.need}  ({need.reason})"
    for need in report.circular:
        yield f"cannot be a need, because {need.need} comes after {need.component}: {need.reason}"
    for path, names in graph.shared[:SHOWN]:
        yield f"shared: {path} belongs to {', '.join(names)}"
    yield from _more(graph.shared)
    for module, places in list(_foreign(report).items())[: SHOWN * 2]:
        yield f"not in this project: {module}  ({places[0]})"
    for note in report.notes:
        yield f"note: {note}"


def _first(edges: tuple[ComponentEdge, ...]) -> tuple[ComponentEdge, ...]:
    return edges[: SHOWN * 4]


def _more(rows: tuple[Any, ...]) -> Iterator[str]:
    limit = SHOWN * 4 if rows and hasattr(rows[0], "imports") else SHOWN
    if len(rows) > limit:
        yield f"  and {len(rows) - limit} more; see --json"


def _count(edge: ComponentEdge) -> str:
    return f"{len(edge.imports)} import{'s' if len(edge.imports) > 1 else ''}"


def _suffix(edge: ComponentEdge) -> str:
    return {
        "load": "",
        "lazy": ", inside functions",
        "types": ", for types only",
        "package": ", same package",
    }[edge.kind]


def _place(edge: ComponentEdge) -> str:
    first = edge.imports[0]
    return f"{first.source}:{first.line} imports {first.module or first.target}"


def _foreign(report: DependencyReport) -> Mapping[str, list[str]]:
    modules: dict[str, list[str]] = {}
    for one in report.dependencies.foreign:
        modules.setdefault(one.module, []).append(f"{one.path}:{one.line}")
    return dict(sorted(modules.items()))


def _write(report: DependencyReport, *, yes: bool) -> None:
    from podium.app.author.dependencies import write_needs

    assert report.named is not None
    if report.named.read_only:
        raise ConfigurationError(f"cannot write needs: {report.named.read_only}")
    if not yes and not sys.stdin.isatty():
        raise ConfigurationError(
            "--write asks at the terminal, and there is none", hint="use --write --yes to add all of them"
        )
    accepted: list[Need] = [
        need for need in report.needs if yes or click.confirm(f"{need.component}: add {need.need}?", err=True)
    ]
    if not yes:
        accepted += _named_by_person(report)
    if accepted:
        write_needs(report.named, accepted)
    say(f"{report.named.file}: {len(accepted)} needs added")


def _named_by_person(report: DependencyReport) -> Iterator[Need]:
    """A module that no file answers may be a component that is still to be built."""
    from podium.app.author.dependencies import Need

    assert report.named is not None
    names = report.named.touches
    for one in report.dependencies.foreign:
        place = f"{one.path}:{one.line}"
        prompt = f"{one.component} imports {one.module} ({place}): which component is it? Enter if none"
        name = click.prompt(prompt, default="", show_default=False, err=True).strip()
        if name in names and name not in report.named.needs.get(one.component, ()):
            yield Need(one.component, name, f"{place} imports {one.module}")
        elif name:
            say(f"there is no other component {name}")


def _drawn(report: DependencyReport, form: str) -> str:
    from podium.views.pictures import plain_graph, svg

    graph = report.dependencies
    cuts = {(cut.source, cut.target) for circle in graph.circles for cut in circle.cuts}
    nodes = [plain_graph.PlainNode(each.name, (f"{len(each.files)} files",)) for each in graph.components]
    edges = [
        plain_graph.PlainEdge(edge.source, edge.target, _count(edge), (edge.source, edge.target) in cuts)
        for edge in graph.edges
        if edge.kind == "load"
    ]
    if form == "svg":
        return svg.paint(plain_graph.figure(nodes, edges), "Dependencies")
    if form == "dot":
        return plain_graph.as_dot("dependencies", nodes, edges)
    return plain_graph.as_mermaid(nodes, edges)


def _document(report: DependencyReport) -> Mapping[str, Any]:
    graph = report.dependencies
    return {
        "file": None if report.named is None else str(report.named.file),
        "components": [
            {"name": each.name, "files": list(each.files), "needs": list(each.needs)}
            for each in graph.components
        ],
        "edges": [_edge(edge) for edge in graph.edges],
        "circles": [
            {"members": list(circle.members), "cuts": [_edge(cut) for cut in circle.cuts]}
            for circle in graph.circles
        ],
        "missing": [need._asdict() for need in report.needs],
        "circular": [need._asdict() for need in report.circular],
        "shared": [{"path": path, "components": list(names)} for path, names in graph.shared],
        "foreign": [
            {"module": one.module, "component": one.component, "path": one.path, "line": one.line}
            for one in graph.foreign
        ],
        "notes": list(report.notes),
    }


def _edge(edge: ComponentEdge) -> Mapping[str, Any]:
    imports = [
        {"path": one.source, "line": one.line, "module": one.module, "target": one.target}
        for one in edge.imports
    ]
    return {"from": edge.source, "to": edge.target, "kind": edge.kind, "imports": imports}
