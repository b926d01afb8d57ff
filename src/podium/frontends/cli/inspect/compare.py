"""`podium compare`: experiments on workflows, agents and models."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from podium.app.paths import project_root, user_dir
from podium.errors import ConfigurationError
from podium.files import atomic
from podium.frontends.cli.open_run import opened_project
from podium.frontends.cli.output import say, tell_data
from podium.frontends.cli.shell_completion import complete_sandbox

if TYPE_CHECKING:
    from collections.abc import Callable

    from podium.app.comparing.suite import Arm, Suite
    from podium.app.comparing.trials import PlannedTrial, TrialResult


@click.command("compare", short_help="Compare workflows on a suite of cases, with intervals and a budget.")
@click.argument("suite", type=click.Path(path_type=Path))
@click.option("--as", "name", metavar="NAME", help="The name of the experiment; default: that of the suite.")
@click.option("--seed", type=int, help="Of the order of the runs; default: a random one, which is stored.")
@click.option(
    "--sandbox",
    metavar="LEVEL",
    help="Sandbox level of all runs and graders, as for podium run.",
    shell_complete=complete_sandbox,
)
@click.option("--yes", is_flag=True, help="Start without asking.")
@click.option("--report", "only_report", is_flag=True, help="Only report the results so far.")
@click.option("--show", "shown", metavar="ARM", help="Print the workflow of an arm, and run nothing.")
@click.option(
    "--fail-if-worse", is_flag=True, help="Exit with 1 if an arm is worse than the first one by the test."
)
@click.option(
    "--markdown", "page", type=click.Path(path_type=Path, dir_okay=False), help="Write the report to a file."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def command(  # noqa: PLR0913  # one argument per option
    suite: Path,
    name: str | None,
    seed: int | None,
    sandbox: str | None,
    yes: bool,
    only_report: bool,
    shown: str | None,
    fail_if_worse: bool,
    page: Path | None,
    as_json: bool,
) -> int:
    """Run the arms of SUITE on its cases and say what can be claimed, or that nothing can.

    Each trial is an ordinary run in a project of its own, in random order. Graders judge the final tree, and no run ever sees
    them. The worst case and the differences that could be seen are shown first. An experiment that was stopped or killed
    continues where it was left; it never exceeds the budget of the suite.
    """
    from podium.app.comparing.arms import single_text, worst_of
    from podium.app.comparing.experiment import run_experiment
    from podium.app.comparing.results import before_lines, outcome_of, report_data, report_lines
    from podium.app.comparing.suite import read_suite
    from podium.app.comparing.trials import open_experiment

    read = read_suite(suite)
    if shown is not None:
        arm = _arm_named(read, shown)
        click.echo(
            arm.workflow.read_text("utf-8") if arm.single is None else single_text(arm, user_dir()), nl=False
        )
        return 0
    folder = project_root(Path.cwd()) / ".podium" / "experiments" / (name or read.name)
    experiment = open_experiment(folder, read, seed)
    worst = worst_of(read, user_dir())
    stopped = ""
    if not only_report:
        done = len(experiment.results())
        most = sum(worst[trial.arm] for trial in experiment.trials)
        for line in before_lines(read, most, experiment.seed, done):
            say(line, err=True)
        _confirm(yes=yes, is_done=done == len(experiment.trials))
        stopped = run_experiment(
            experiment,
            read,
            worst,
            partial(opened_project, create=True),
            sandbox=sandbox,
            user_dir=user_dir(),
            on_result=_tell_progress(read),
        )
    outcome = outcome_of(read, experiment.results(), experiment.seed)
    lines = report_lines(read, outcome, planned=len(experiment.trials), seed=experiment.seed, stopped=stopped)
    if page is not None:
        atomic.write(page.absolute(), ("\n".join(lines) + "\n").encode(), fsync=False)
        say(f"wrote {page}", err=True)
    if as_json:
        tell_data(report_data(read, outcome, experiment.seed, stopped))
    elif page is None:
        click.echo("\n".join(lines))
    return int(fail_if_worse and any(each.claim == "worse" for each in outcome.comparisons))


def _arm_named(suite: Suite, name: str) -> Arm:
    arm = next((each for each in suite.arms if each.name == name), None)
    if arm is None:
        names = ", ".join(each.name for each in suite.arms)
        raise ConfigurationError(f"{suite.name} has no arm {name}", hint=f"its arms: {names}")
    return arm


def _confirm(*, yes: bool, is_done: bool) -> None:
    if yes or is_done:
        return
    if not sys.stdin.isatty():
        raise ConfigurationError("an experiment costs money; nothing was started", hint="--yes starts it")
    if not click.confirm("Start?", err=True):
        raise ConfigurationError("nothing was started")


def _tell_progress(suite: Suite) -> Callable[[PlannedTrial, TrialResult], None]:
    total = len(suite.cases) * len(suite.arms) * suite.trials

    def tell(trial: PlannedTrial, result: TrialResult) -> None:
        word = "passed" if result.passed else "failed"
        say(f"{trial.position}/{total} {trial.case} {trial.arm}: {word}, ${result.usd:.2f}", err=True)

    return tell
