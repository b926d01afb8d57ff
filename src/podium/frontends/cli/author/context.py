"""`podium context`: which files a step is given, in which form, and why."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from podium.fast_dataclass import dataclass
from podium.frontends.cli.options import set_option
from podium.frontends.cli.shell_completion import complete_run, complete_step, complete_workflow_or_run

if TYPE_CHECKING:
    from podium.app.forecast.context import ContextRecord
    from podium.context.manifest import Depth

SHOWN: Final = 20
"""Files of one part that are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    inputs: tuple[str, ...]
    cast: Path | None
    depth: Depth | None
    budget: str | None
    run: str | None
    against: str | None
    attempt: int | None
    left_out: bool
    as_text: bool
    settings: tuple[str, ...]
    as_json: bool


@click.command("context", short_help="Show which files are packed into the prompt of a step, and why.")
@click.argument("source", metavar="FILE|RUN", shell_complete=complete_workflow_or_run)
@click.argument("step", shell_complete=complete_step)
@click.option(
    "-i", "--input", "inputs", multiple=True, metavar="NAME=VALUE", help="Value of an input; repeatable."
)
@click.option(
    "--cast", type=click.Path(path_type=Path), help="How the steps before it go: a YAML list of rules."
)
@click.option(
    "--depth", type=click.Choice(["minimal", "balanced", "full"]), help="Depth to show (default: the step's)."
)
@click.option("--budget", metavar="TOKENS", help="Budget to show, such as 32k (default: the step's).")
@click.option(
    "--run", "run", metavar="RUN", shell_complete=complete_run, help="Show what this run packed for the step."
)
@click.option(
    "--against",
    metavar="RUN",
    shell_complete=complete_run,
    help="Show the differences to what this run packed for the step.",
)
@click.option("--attempt", type=click.IntRange(1, 1000), help="Attempt of a run (default: the newest).")
@click.option("--left-out", is_flag=True, help="List what was left out.")
@click.option("--text", "as_text", is_flag=True, help="Print the section of the prompt.")
@set_option
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object; its schema: podium schema --of context."
)
def command(source: str, step: str, **options: Any) -> int:
    """Print the files that STEP is given: each part with its tokens, and why each file is in it.

    For a workflow FILE: the first attempt of the step, on the commit that a run would start from. Earlier steps are
    simulated. No agent is started. For a RUN, or with --run: what the attempt was given.
    """
    chosen = _Options(**options)
    is_file = source.endswith((".yaml", ".yml")) or Path(source).is_file()
    run = chosen.run or (None if is_file else source)
    if run is None:
        record = _of_file(Path(source), step, chosen)
    elif chosen.inputs or chosen.cast or chosen.settings or chosen.depth or chosen.budget:
        raise click.UsageError(
            "a run has its own inputs and settings; leave out -i, --cast, --set, --depth and --budget"
        )
    else:
        record = _of_run(run, step, chosen.attempt)
    other = None if chosen.against is None else _of_run(chosen.against, step, None)
    if chosen.as_json:
        click.echo(json.dumps(_document(record, other), indent=2))
    elif chosen.as_text:
        if record.text is None:
            raise click.UsageError(f"the prompt of a run has the text: podium prompt {run} {step}")
        click.echo(record.text)
    elif other is not None:
        _print_differences(record, other)
    else:
        _print_table(record, lists_left_out=chosen.left_out)
    return 0


def _of_run(run: str, step: str, attempt: int | None) -> ContextRecord:
    from podium.frontends.cli.open_run import opened_project

    with opened_project() as project:
        return project.queries.context(project.run(run).run, step, attempt)


def _of_file(file: Path, step: str, chosen: _Options) -> ContextRecord:
    from podium.app.author.load import load_workflow, parse_inputs
    from podium.app.forecast.context import ContextOverrides, context_by_file
    from podium.app.paths import project_root, user_dir
    from podium.app.values import parse_settings
    from podium.wiring import context_host

    changes = ContextOverrides(chosen.depth, None if chosen.budget is None else _tokens(chosen.budget))
    definition = load_workflow(file, user_dir=user_dir(), settings=parse_settings(chosen.settings))
    with context_host(project_root(file.absolute().parent)) as host:
        return context_by_file(
            definition.workflow,
            step,
            inputs=parse_inputs(chosen.inputs, definition),
            cast=chosen.cast,
            host=host,
            overrides=changes,
        )


def _tokens(text: str) -> int:
    from podium.core.queries.computed import parse_tokens

    try:
        return parse_tokens(int(text) if text.isdecimal() else text)
    except ValueError as error:
        raise click.BadParameter(f"{error}", param_hint="--budget") from error


def _document(record: ContextRecord, other: ContextRecord | None) -> Mapping[str, Any]:
    from podium.app.forecast.context import differences

    document = {
        "step": record.step,
        "attempt": record.attempt,
        "run": record.run,
        "role": record.role,
        "agent": record.agent,
        **record.manifest,
    }
    if other is not None:
        document["against"] = {
            "run": other.run,
            "differences": [
                {"path": path, "here": here, "there": there}
                for path, here, there in differences(record.manifest, other.manifest)
            ],
        }
    return document


def _print_table(record: ContextRecord, *, lists_left_out: bool) -> None:
    manifest = record.manifest
    by = " ".join(filter(None, (record.role, f"by {record.agent}" if record.agent else "by a person")))
    looks = {True: " (reads files itself)", False: " (answers in text)", None: ""}[record.reads_files]
    click.echo(
        f"{record.step} attempt {record.attempt}: {by}{looks}, depth {manifest['depth']}, "
        f"{manifest['tokens']:,} of {manifest['budget']:,} tokens, counted by {manifest['counter']}"
    )
    click.echo(f"  {'part':<12} {'files':>5} {'tokens':>8}  form")
    for line in _rows(manifest):
        click.echo(line)
    redacted = [
        f"{entry['path']}: {entry['redacted']}" for entry in manifest["parts"] if entry.get("redacted")
    ]
    if redacted:
        click.echo(f"  redacted: {', '.join(redacted)}")
    if manifest["not_text"]:
        click.echo(f"  not text: {', '.join(manifest['not_text'])}")
    for note in manifest["notes"]:
        click.echo(f"  note: {note}")
    if manifest["left_out"] and not lists_left_out:
        click.echo(f"  left out: {len(manifest['left_out'])}; list them with --left-out")
    for entry in manifest["left_out"] if lists_left_out else ():
        click.echo(
            f"  left out: {entry['path']} ({entry['part']}, {entry['tokens']:,} tokens: {entry['reason']})"
        )


def _rows(manifest: Mapping[str, Any]) -> Iterator[str]:
    from podium.context.manifest import parts_of

    for part, files, tokens, forms in parts_of(manifest):
        yield f"  {part:<12} {files:>5} {tokens:>8,}  {forms}"
        entries = [entry for entry in manifest["parts"] if entry["part"] == part]
        for entry in entries[:SHOWN]:
            if part == "tree":
                continue
            note = f"; {entry['note']}" if entry.get("note") else ""
            yield f"    {entry['tokens']:>6,}  {entry['path']} ({entry['form']}: {entry['reason']}{note})"
        if len(entries) > SHOWN:
            yield f"            and {len(entries) - SHOWN} more; see --json"


def _print_differences(record: ContextRecord, other: ContextRecord) -> None:
    from podium.app.forecast.context import differences

    rows = list(differences(record.manifest, other.manifest))
    if not rows:
        same = (
            "same bytes" if record.manifest["hash"] == other.manifest["hash"] else "same files, other texts"
        )
        click.echo(f"{record.step}: no differences to run {other.run} ({same})")
        return
    click.echo(f"{record.step}: {len(rows)} differences to run {other.run}")
    for path, here, there in rows:
        click.echo(f"  {path}: {here}; in {other.run}: {there}")
