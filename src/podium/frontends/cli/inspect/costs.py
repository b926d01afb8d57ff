"""`podium costs`: what runs have cost, and where it went."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from podium.frontends.cli.open_run import in_project
from podium.frontends.cli.shell_completion import complete_run

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.views.run.costs import CostReport, CostRow

WAYS = ("agent", "model", "role", "step", "workflow", "run", "day")


@click.command("costs", short_help="Show the cost of runs by agent, role, step or day.")
@in_project()
@click.argument("run", required=False, metavar="[RUN]", shell_complete=complete_run)
@click.option("--by", type=click.Choice(WAYS), default="agent", show_default=True, help="Grouping.")
@click.option("--series", is_flag=True, help="All runs of the series that RUN belongs to, together.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; its schema: podium schema --of costs.")
def command(project: Project, run: str | None, by: str, series: bool, as_json: bool) -> int:
    """Show the cost of RUN, or of all runs of this project together.

    Only agent calls cost money. A call without a known price is counted as unknown, not as free; so is a call that
    was interrupted by a crash or a cancel. Calls of scripted and recorded agents are listed apart. Results reused from an earlier run (podium rerun, fork) are counted in the
    run that paid for them.
    """
    if series and run is None:
        raise click.UsageError("--series needs a RUN")
    chosen = None if run is None else project.run(run).run
    report, runs = project.queries.costs(chosen, by, series=series)  # type: ignore[arg-type]  # click has checked the word
    if as_json:
        click.echo(json.dumps(_data(report, by, runs), indent=2, ensure_ascii=False))
        return 0
    for line in _lines(report, by):
        click.echo(line)
    return 0


def _data(report: CostReport, by: str, runs: int) -> dict[str, object]:
    return {
        "by": by,
        "runs": runs,
        "rows": [_row_data(row) for row in report.rows],
        "total": _row_data(report.total),
        **({"simulated": _row_data(report.simulated)} if report.simulated.attempts else {}),
    }


def _row_data(row: CostRow) -> dict[str, object]:
    return {
        "name": row.name,
        "attempts": row.attempts,
        "calls": row.calls,
        "tokens": row.tokens,
        "cost": {"usd": row.usd / 1_000_000, "unknown_calls": row.unknown_calls},
    }


def _lines(report: CostReport, by: str) -> list[str]:
    if not report.rows:
        return ["no agent call has ended, so there are no costs to show", *_simulated(report)]
    rows = [(by, "cost", "calls", "tokens", "unknown"), *map(_cells, report.rows)]
    if len(report.rows) > 1:
        rows.append(_cells(report.total))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            (
                row[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
            )
        ).rstrip()
        for row in rows
    ] + _simulated(report)


def _simulated(report: CostReport) -> list[str]:
    """What scripted and recorded agents would have cost."""
    from podium.views.format import dollars, plural

    row = report.simulated
    calls = plural(row.calls, "call")
    return (
        [f"not counted: {calls} of scripted or recorded agents ({dollars(row.usd)})"] if row.attempts else []
    )


def _cells(row: CostRow) -> tuple[str, str, str, str, str]:
    from podium.views.format import count, dollars

    unknown = str(row.unknown_calls) if row.unknown_calls else ""
    cost = "unknown" if row.unknown_calls and not row.usd else dollars(row.usd)
    return row.name, cost, str(row.calls), count(row.tokens), unknown
