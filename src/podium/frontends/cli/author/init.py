"""`podium init`: a first workflow for this project."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from podium.app.author.init import (
    CiKind,
    Proposal,
    ci_files,
    languages_of,
    make_targets,
    proposal_data,
    propose,
    template_names,
    write,
    write_new,
)
from podium.app.paths import project_root, user_dir
from podium.frontends.cli.output import say
from podium.views.format import plural

if TYPE_CHECKING:
    from podium.app.author.try_gates import TriedGate
    from podium.core.model import Workflow


@click.command("init", short_help="Write a first workflow for this project.")
@click.option(
    "--template",
    type=click.Choice(template_names()),
    help="Template to start from (default: a plain workflow).",
)
@click.option(
    "--pack",
    "packs",
    multiple=True,
    metavar="NAME",
    help="Role pack to write; repeatable (default: those that fit the project).",
)
@click.option("--no-packs", is_flag=True, help="Write no role pack.")
@click.option(
    "--ci",
    type=click.Choice(["github", "gitlab"]),
    help="Write a template that runs a workflow in CI, and nothing else.",
)
@click.option("--yes", is_flag=True, help="Write without asking.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object; its schema: podium schema --of init."
)
def command(
    template: str | None, packs: tuple[str, ...], no_packs: bool, ci: CiKind | None, yes: bool, as_json: bool
) -> int:
    """Inspect the current project, try what may prove a change, and write a workflow after confirmation.

    Each command is run on the last commit, in the sandbox of a gate; only those that work there are proposed, and
    the others are named with the reason. Existing files are not changed, except that .gitignore gets lines for
    Podium's own folder. Packs of roles that fit the project are written as well. The contents of the files: --json.
    """
    project = project_root(Path.cwd())
    if ci is not None:
        if template or packs or no_packs or as_json:
            raise click.UsageError(
                "--ci writes its own files; leave out --template, --pack, --no-packs and --json"
            )
        return _write_ci(project, ci, yes=yes)
    proposal = _proposal(project, template, () if no_packs else packs or None)
    if not as_json:
        _tell(proposal, project)
    written = bool(proposal.files) and (yes or (not as_json and _agreed()))
    if written:
        write(project, proposal)
    if as_json:
        click.echo(json.dumps(proposal_data(proposal, written=written), indent=2))
    elif written:
        say("wrote:", err=True)
        for path in proposal.files:
            click.echo(str(path))
        say("", err=True)
        for line in _next_commands(proposal.workflow, template):
            say(line, err=True)
    return 0


def _next_commands(workflow: Path, template: str | None) -> Iterator[str]:
    inputs = "" if template else ' -i task="..."'
    doctor, run = f"podium doctor {workflow}", f"podium run {workflow}{inputs}"
    width = max(len(doctor), len(run))
    yield f"{doctor:<{width}}  to see whether it can run on this machine"
    yield f"{run:<{width}}  to run it"


def _write_ci(project: Path, ci: CiKind, *, yes: bool) -> int:
    files = ci_files(ci)
    for path in files:
        say(
            f"{path} exists and is not changed" if (project / path).exists() else f"will write {path}",
            err=True,
        )
    if not yes and not _agreed():
        return 0
    written, _ = write_new(project, files)
    for path in written:
        click.echo(str(path))
    say("next: put the key of your agents into the secrets of CI; see docs/how-to/run-in-ci.md", err=True)
    return 0


def _proposal(project: Path, template: str | None, packs: tuple[str, ...] | None) -> Proposal:
    import anyio

    from podium.app.author.detect import scan
    from podium.app.author.try_gates import Trials, candidates_workflow, load_candidates
    from podium.wiring import trial_host

    scanned = scan(project)
    targets = make_targets(template, scanned)

    def load(text: str) -> Workflow:
        return load_candidates(text, project, user_dir())

    def tell(text: str) -> None:
        say(text, err=True)

    with trial_host(load(candidates_workflow(scanned, targets, ())), project, sandbox=None) as host:
        tried = anyio.run(Trials(host, scanned, load, tell).all, targets)
    return propose(project, os.environ, scanned, tried, template=template, packs=packs)


def _tell(proposal: Proposal, project: Path) -> None:
    """A summary that fits on a screen."""
    say(f"languages: {', '.join(languages_of(proposal.scan)) or 'none recognized'}", err=True)
    for gate in proposal.tried.gates:
        place = f"in {gate.folder}, " if gate.folder else ""
        line = (
            f"gate {gate.name}: {' '.join(gate.command.argv)} ({place}{gate.command.because}): {_state(gate)}"
        )
        say(line, err=True)
    for line in proposal.tried.refused:
        say(f"not proposed: {line}", err=True)
    if proposal.tried.copies:
        say(f"copied into workspaces: {', '.join(proposal.tried.copies)}", err=True)
    installed = [name for name, is_installed in proposal.agents.items() if is_installed]
    say(
        f"agents: {', '.join(installed) or 'none installed; `podium agents` lists them with the command that installs each'}",
        err=True,
    )
    for pack in proposal.packs:
        if pack.selected or pack.because:
            why = f" ({pack.because} found)" if pack.because else ""
            mark = "x" if pack.selected else " "
            say(f"role pack [{mark}] {pack.name}: {', '.join(pack.roles)}{why}", err=True)
    others = [pack.name for pack in proposal.packs if not (pack.selected or pack.because)]
    say(f"other role packs, by --pack NAME: {', '.join(others)}", err=True)
    for path in proposal.existing:
        say(f"{path} exists and is not changed", err=True)
    for path, text in proposal.files.items():
        before = (project / path).read_text("utf-8") if (project / path).exists() else ""
        lines = plural(len(text.splitlines()) - len(before.splitlines()), "line")
        say(f"{'will add to' if before else 'will write'} {path} ({lines})", err=True)
    for line in proposal.open:
        say(f"open: {line}", err=True)
    if not proposal.files:
        say("nothing to do", err=True)


def _state(gate: TriedGate) -> str:
    tests = "" if gate.trial.tests is None else f", {plural(gate.trial.tests, 'test')}"
    if gate.trial.status == "passed":
        return f"passes{tests}"
    return f"red on the last commit{tests}: {gate.trial.message}"


def _agreed() -> bool:
    agreed = sys.stdin.isatty() and click.confirm("Write these files?", default=True, err=True)
    if not agreed:
        say("nothing was written; pass --yes to write them", err=True)
    return agreed
