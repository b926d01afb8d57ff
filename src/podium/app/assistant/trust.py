"""Whether a workflow may be started on the word of an assistant.

A workflow file may be the words of the assistant itself, or of a page that it has read. It can ask for no more than the
defaults, unless a person has committed the file: a weaker sandbox, an open network, secrets and a push to a remote need
that, and so does every file of the project that it uses, its configuration included.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from podium.core.model import Git
from podium.core.queries.steps import all_steps
from podium.errors import ConfigurationError
from podium.git.repository import find, read_changed
from podium.views.format import first_of

if TYPE_CHECKING:
    from podium.app.author.load import LoadedWorkflow
    from podium.app.project import Project
    from podium.core.model import Step, Workflow

WEAK_LEVELS: Final = ("none", "limits")
SHOWN: Final = 3


def check_trusted(project: Project, definition: LoadedWorkflow) -> None:
    """Raises if the workflow asks for more than the defaults and is not committed as it is."""
    demands = tuple(dict.fromkeys(_demands(definition.workflow)))
    if not demands:
        return
    root = project.root.resolve()
    paths = [path.resolve() for path in definition.paths]
    own = [str(path.relative_to(root)) for path in paths if path.is_relative_to(root)]
    repository = find(project.root, project.paths.trees)
    changed = own if repository is None else read_changed(repository, own)
    if changed:
        raise ConfigurationError(
            f"{definition.file.name} asks for {first_of(demands, SHOWN)}, and is not committed: "
            f"{first_of(changed, SHOWN)}",
            hint="a person has to read and commit it, or start it with `podium run`",
            code="not_committed",
        )


def _demands(workflow: Workflow) -> Iterator[str]:
    if workflow.config.secrets:
        yield f"secrets ({', '.join(workflow.config.secrets)})"
    for _, step, _ in all_steps(workflow):
        yield from _demands_of(step)


def _demands_of(step: Step) -> Iterator[str]:
    settings = step.settings
    if settings.sandbox.level in WEAK_LEVELS:
        yield f"sandbox: {settings.sandbox.level}"
    for network in (settings.network, settings.workspace.network):
        if network:
            yield "network: " + (network if isinstance(network, str) else f"[{', '.join(network)}]")
    if settings.secrets:
        yield f"secrets ({', '.join(settings.secrets)})"
    if isinstance(step.verb, Git) and step.verb.push:
        yield "a push to a remote"
