"""From the text of a prompt to a run: which workflow is meant, and which of its inputs the text is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from podium.app.assistant.files import list_workflows
from podium.app.assistant.start import start_for_assistant
from podium.errors import ConfigurationError

if TYPE_CHECKING:
    from podium.app.decide.sender import Speaker
    from podium.app.project import Project

TASK: Final = "task"


class StartedByPrompt(NamedTuple):
    run: str | None
    """None if nothing was started."""
    words: str


def start_by_prompt(project: Project, text: str, *, speaker: Speaker, file: Path | None) -> StartedByPrompt:
    """`/name task` starts the workflow with this name; without a name, `file` or the only workflow of the project."""
    workflows = {Path(each["path"]).stem: each for each in list_workflows(project) if not each["mistakes"]}
    name, task = "", text
    if text.startswith("/"):
        name, _, task = text[1:].partition(" ")
    chosen = _chosen(workflows, name, file)
    if chosen is None:
        names = "".join(f"\n- /{each}" for each in sorted(workflows)) or "\nThere are none without mistakes."
        fact = f'There is no workflow "{name}".' if name else "Say which workflow to start."
        return StartedByPrompt(None, f"{fact} Type its name and the task:{names}\n")
    try:
        started, forecast = start_for_assistant(
            project, chosen["path"], _inputs(chosen, task.strip()), speaker
        )
    except ConfigurationError as error:
        hint = f"\n{error.hint}" if error.hint else ""
        return StartedByPrompt(None, f"Nothing was started: {error.message}{hint}\n")
    return StartedByPrompt(started.run, f"Run {started.run} of {chosen['path']} has started: {forecast}.\n")


def _chosen(workflows: dict[str, dict[str, Any]], name: str, file: Path | None) -> dict[str, Any] | None:
    if name:
        return workflows.get(name)
    if file is not None:
        return next((each for each in workflows.values() if each["path"] == str(file)), None)
    return next(iter(workflows.values())) if len(workflows) == 1 else None


def _inputs(workflow: dict[str, Any], task: str) -> dict[str, Any]:
    """The text is the input `task`, or the only required one that takes a text."""
    texts = [each["name"] for each in workflow["inputs"] if each["type"] == "string"]
    required = [each["name"] for each in workflow["inputs"] if each["required"] and each["name"] in texts]
    name = TASK if TASK in texts else (required[0] if len(required) == 1 else None)
    return {name: task} if task and name is not None else {}
