"""A first workflow for a project: gates, roles and agents that fit it, as files that a person may accept."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from podium.adapters.agents.registry import built_in_types
from podium.app.author.detect import Purpose, Scan
from podium.app.author.project_packs import RolePack, propose_packs, role_files
from podium.app.author.try_gates import TriedGate, TriedGates, missing_generated
from podium.app.paths import IGNORED
from podium.attempt.programs import program_of
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.workflow.problems import did_you_mean
from podium.workflow.source.files import SHIPPED
from podium.workflow.source.yaml import read

PURPOSES: Final[Mapping[str, Purpose]] = {
    "make test": "tests",
    "make test-unit": "tests",
    "make test-integration": "tests",
    "make ci": "tests",
    "make lint": "lint",
}
"""What a template runs by default, and the purpose of it."""

CHANGE: Final = """\
podium: 1
name: change
description: Plans, makes, tests and reviews one change, and lands it after your approval.
inputs:
  task: {{type: string, help: "The change to make."}}
limits: {{usd: 5, time: 1h}}
{workspace}{gates}
steps:
  plan:
    role: planner
    prompt: "Plan this change: {{{{ inputs.task }}}}"
    output: {{schema: Plan}}
  implement:
    role: implementer
    prompt: |
      Make this change: {{{{ inputs.task }}}}

      The plan: {{{{ steps.plan.output | json }}}}
{used}  review:
    review: {reviewer}
    of: implement
    on: {{rejected: implement}}
  approve:
    human: Land this change?
    show: [diff, verdicts, cost]
    on: {{rejected: implement}}
  land:
    git: {{land: "${{{{ run.branch }}}}", message: "${{{{ steps.plan.output.title }}}}"}}
"""


LANGUAGE_NAMES: Final = {
    "python": "Python",
    "typescript": "TypeScript",
    "javascript": "JavaScript",
    "go": "Go",
    "rust": "Rust",
    "java": "Java",
}
"""As they are written in a sentence."""
CiKind: TypeAlias = Literal["github", "gitlab"]
CI_FILES: Final[Mapping[CiKind, tuple[Path, Path]]] = {
    "github": (Path(".github/workflows/podium.yml"), Path(".github/podium/pull_request_state")),
    "gitlab": (Path(".gitlab/podium.yml"), Path(".gitlab/podium/pull_request_state")),
}


@dataclass(frozen=True, slots=True)
class Proposal:
    scan: Scan
    tried: TriedGates
    agents: Mapping[str, bool]
    """The usual agents, and whether each is installed."""
    packs: tuple[RolePack, ...]
    """Packs of roles, and which of them are written."""
    workflow: Path
    files: Mapping[Path, str]
    """To be written, by path."""
    existing: tuple[Path, ...]
    """Files that exist and are not changed."""
    open: tuple[str, ...]
    """What a person still has to fill in."""


def propose(
    project: Path,
    env: Mapping[str, str],
    scan: Scan,
    tried: TriedGates,
    *,
    template: str | None = None,
    packs: Sequence[str] | None = None,
) -> Proposal:
    """`tried` has the gates that work in the project as it is; `packs` are wanted instead of those that fit."""
    proposed = propose_packs(scan, languages_of(scan), packs)
    usual = (agent for agent in built_in_types() if agent.preferred)
    agents = {agent.name: program_of(agent, {}, env) is not None for agent in usual}
    workflow = Path(f"workflows/{template or 'change'}.yaml")
    text, left = _child(template, tried) if template else (_change(tried, agents), list(_unproven(tried)))
    files = {workflow: text, **_role(scan, tried), **role_files(proposed), **_ignore(project)}
    existing = tuple(path for path in files if path.name != ".gitignore" and (project / path).exists())
    return Proposal(
        scan=scan,
        tried=tried,
        agents=agents,
        packs=proposed,
        workflow=workflow,
        files={path: text for path, text in files.items() if path not in existing},
        existing=existing,
        open=(*left, *missing_generated(project, scan)),
    )


def write(project: Path, proposal: Proposal) -> None:
    for path, text in proposal.files.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text, "utf-8")


def proposal_data(proposal: Proposal, *, written: bool) -> dict[str, Any]:
    return {
        "languages": languages_of(proposal.scan),
        "fields": list(proposal.scan.fields),
        "gates": [
            {
                "name": gate.name,
                "run": list(gate.command.argv),
                "dir": gate.folder,
                "because": gate.command.because,
                "status": gate.trial.status,
                "message": gate.trial.message,
                "tests": gate.trial.tests,
            }
            for gate in proposal.tried.gates
        ],
        "refused": list(proposal.tried.refused),
        "agents": [
            {"name": name, "installed": is_installed} for name, is_installed in proposal.agents.items()
        ],
        "roles": [role for pack in proposal.packs if pack.selected for role in pack.roles],
        "packs": [{**pack_data(pack), "roles": list(pack.roles)} for pack in proposal.packs],
        "workflow": str(proposal.workflow),
        "files": {str(path): text for path, text in proposal.files.items()},
        "kept": list(map(str, proposal.existing)),
        "open": list(proposal.open),
        "written": written,
    }


def pack_data(pack: RolePack) -> dict[str, Any]:
    return {
        "name": pack.name,
        "description": pack.description,
        "because": pack.because,
        "selected": pack.selected,
    }


def ci_files(kind: CiKind) -> Mapping[Path, str]:
    """The template that runs a workflow in CI, and the program that says what CI and reviewers say of a branch."""
    folder = Path(__file__).parents[2] / "data/ci"
    template, state = CI_FILES[kind]
    return {
        template: (folder / f"{kind}.yml").read_text("utf-8"),
        state: (folder / "pull_request_state").read_text("utf-8"),
    }


def write_new(project: Path, files: Mapping[Path, str]) -> tuple[list[Path], list[Path]]:
    """Writes the files that do not exist yet; returns those written, and those left as they are."""
    missing = [path for path in files if not (project / path).exists()]
    for path in missing:
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(files[path], "utf-8")
    return missing, [path for path in files if path not in missing]


def template_names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in (SHIPPED / "templates").glob("*.yaml")))


def languages_of(scan: Scan) -> list[str]:
    return list(dict.fromkeys(stack.language for stack in (*scan.stacks, *scan.packages)))


def make_targets(template: str | None, scan: Scan) -> tuple[str, ...]:
    """The targets of the project's Makefile that a template runs."""
    if template is None:
        return ()
    commands = [run for section in ("gates", "steps") for run in _make_commands(template, section).values()]
    named = dict.fromkeys(command.removeprefix("make ") for command in commands)
    return tuple(target for target in named if target in scan.targets)


def _change(tried: TriedGates, agents: Mapping[str, bool]) -> str:
    lines = [f"  {gate.name}: {_run(gate)}\n" for gate in tried.gates]
    return CHANGE.format(
        workspace=f"workspace: {{copy: {json.dumps(list(tried.copies))}}}\n" if tried.copies else "",
        gates="gates:\n" + "".join(lines) if lines else "",
        used=f"    gates: [{', '.join(gate.name for gate in tried.gates)}]\n" if lines else "",
        reviewer=_reviewer(agents),
    )


def _reviewer(agents: Mapping[str, bool]) -> str:
    """A reviewer by another agent than the author, which is the first that is installed."""
    others = [f"reviewer_{name}" for name, is_installed in agents.items() if is_installed][1:]
    shipped = (role for role in reversed(others) if (SHIPPED / "roles" / f"{role}.yaml").is_file())
    return next(shipped, "reviewer")


def _unproven(tried: TriedGates) -> Iterator[str]:
    if not any(gate.command.purpose == "tests" for gate in tried.gates):
        yield "no command was found that tests this project; add a gate to the workflow"


def _run(gate: TriedGate) -> str:
    folder = f", dir: {json.dumps(gate.folder)}" if gate.folder else ""
    return f"{{run: {json.dumps(list(gate.command.argv))}{folder}}}"


def _child(template: str, tried: TriedGates) -> tuple[str, list[str]]:
    """A workflow that extends a template and says what this project runs where the template says `make ...`."""
    if template not in template_names():
        hint = did_you_mean(template, template_names()) or f"there are {', '.join(template_names())}"
        raise ConfigurationError(f'template "{template}" not found', hint=hint)
    left: list[str] = []
    lines = [f"podium: 1\nname: {template}\nextends: {template}\n"]
    for section in ("gates", "steps"):
        runs = {
            name: _child_run(command, tried) for name, command in _make_commands(template, section).items()
        }
        unknown = [name for name, run in runs.items() if run is None]
        left += [
            f'{section}.{name}: say what to run instead of "{_make_commands(template, section)[name]}"'
            for name in unknown
        ]
        own = {name: run for name, run in runs.items() if run}
        if own:
            lines += [f"{section}:\n", *(f"  {name}: {run}\n" for name, run in own.items())]
    return "".join(lines), left


def _make_commands(template: str, section: str) -> dict[str, str]:
    """The commands of a template and its parents that are targets of a Makefile, by the gate or step that runs them."""
    value = read(SHIPPED / "templates" / f"{template}.yaml").value
    parent = value.get("extends")
    inherited = {} if parent is None else _make_commands(str(parent), section)
    return {**inherited, **dict(_commands(value.get(section) or {}))}


def _commands(section: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, entry in section.items():
        command = entry.get("run")
        if isinstance(command, str) and command.startswith("make "):
            yield name, command


def _child_run(command: str, tried: TriedGates) -> str | None:
    """What the child runs instead: empty if the target of the project passes, None if nothing is known."""
    if command.removeprefix("make ") in tried.targets:
        return ""
    purpose = PURPOSES.get(command)
    matching = [gate for gate in tried.gates if gate.command.purpose == purpose]
    if matching:
        return _run(matching[0])
    return '{check: "true"}' if purpose == "lint" else None


def _role(scan: Scan, tried: TriedGates) -> dict[Path, str]:
    """What an implementer of this project should know."""
    if not tried.gates:
        return {}
    languages = " and ".join(LANGUAGE_NAMES.get(each, each) for each in languages_of(scan) if each != "make")
    about = f"This project is written in {languages}. " if languages else ""
    text = (
        f"system: |\n  {about}Run these checks before you finish; they decide whether a change is accepted:\n"
    )
    for gate in tried.gates:
        place = f"in {gate.folder}: " if gate.folder else ""
        text += f"    {gate.name}: {place}{' '.join(gate.command.argv)}\n"
    return {Path(".podium/roles/implementer.yaml"): text}


def _ignore(project: Path) -> dict[Path, str]:
    path = project / ".gitignore"
    old = path.read_text("utf-8") if path.exists() else ""
    missing = [line for line in IGNORED if line not in old.splitlines()]
    if not (project / ".git").exists() or ".podium/" in old.splitlines() or not missing:
        return {}
    return {
        Path(".gitignore"): old + ("" if not old or old.endswith("\n") else "\n") + "\n".join(missing) + "\n"
    }
