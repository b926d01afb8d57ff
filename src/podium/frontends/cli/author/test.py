"""`podium test`: do workflows do what their tests say?"""

from __future__ import annotations

import json
from pathlib import Path

import click

from podium.app.workflow_tests.expect import Failure
from podium.app.workflow_tests.suite import Result, data_of, exit_code, find_tests, results
from podium.frontends.cli.output import say
from podium.frontends.cli.shell_completion import complete_test_file
from podium.views.files.junit import JUnitCase, junit
from podium.views.format import plural
from podium.views.plain import harmless
from podium.wiring import open_stage


@click.command("test", short_help="Test workflows with scripted or recorded agents.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), shell_complete=complete_test_file)
@click.option("-k", "containing", metavar="TEXT", default="", help="Only tests whose names contain this.")
@click.option(
    "--junit", "junit_file", type=click.Path(path_type=Path), metavar="FILE", help="Also write JUnit XML."
)
@click.option("--keep", is_flag=True, help="Keep the folders in which the tests were played, and name them.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object; its schema: podium schema --of tests."
)
def command(
    paths: tuple[Path, ...], containing: str, junit_file: Path | None, keep: bool, as_json: bool
) -> int:
    """Run the tests in NAME.test.yaml files: the given ones, or all below a folder (default: this one).

    Each test runs its workflow with the real engine in a copy of the project, with a cast or recordings in
    place of agents. Gates and commands are executed there; waiting for a time takes none. Exit code 0 if all
    tests pass, 1 if one fails, 2 if a test file is invalid (the others are played) or there is none.
    """
    suite = find_tests(paths or (Path(),), containing=containing)
    for mistake in suite.mistakes:
        say(harmless(mistake.message), err=True)
    played: list[Result] = []
    for result in results(suite.cases, open_stage, keep=keep):
        played.append(result)
        if not as_json:
            _tell(result)
    if junit_file is not None:
        junit_file.parent.mkdir(parents=True, exist_ok=True)
        junit_file.write_text(junit(map(_junit_case, played)), "utf-8")
    failed = sum(bool(result.failures) for result in played)
    if as_json:
        click.echo(json.dumps(data_of(suite, played), indent=2, ensure_ascii=False))
    else:
        wrong = f", {plural(len(suite.mistakes), 'file')} with mistakes" if suite.mistakes else ""
        click.echo(f"{plural(len(played), 'test')}: {len(played) - failed} passed, {failed} failed{wrong}")
    return exit_code(suite, played)


def _tell(result: Result) -> None:
    word = click.style("FAIL", fg="red") if result.failures else click.style("ok  ", fg="green")
    click.echo(f"{word}  {result.case.file}:{result.case.line} {result.case.name}  {result.duration_s:.1f} s")
    for failure in result.failures:
        click.echo("".join(f"      {harmless(line)}\n" for line in _text(failure).splitlines()), nl=False)
    if result.played.folder is not None:
        click.echo(f"      played in {result.played.folder}")


def _text(failure: Failure) -> str:
    difference = "".join(f"\n  {line}" for line in failure.difference.splitlines())
    return f"{failure.about}: {failure.message}{difference}"


def _junit_case(result: Result) -> JUnitCase:
    texts = tuple(_text(failure) for failure in result.failures)
    return JUnitCase(str(result.case.file), result.case.name, result.case.line, result.duration_s, texts)
