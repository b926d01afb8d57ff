"""The resources and prompts of the server: runs and workflows to read, and texts that begin a task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

import podium
from podium.app.query.diff import change_of
from podium.core.hash_chain import RunId
from podium.files.inside import MAX_TEXT_FILE, open_inside
from podium.frontends.mcp.material import material
from podium.views.files.run_json import run_data

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from podium.app.project import Project
    from podium.frontends.project_access import Access


class Pages:
    def __init__(self, access: Access) -> None:
        self._access = access

    def add_to(self, server: MCPServer) -> None:
        server.resource("podium://language", mime_type="text/markdown")(self.language)
        server.resource("podium://runs/{run}", mime_type="text/plain")(self.run)
        server.resource("podium://runs/{run}/diff", mime_type="text/plain")(self.run_diff)
        server.resource("podium://workflow/{+path}", mime_type="text/plain")(self.workflow)
        for prompt in (write_workflow, explain_failure, review_plan):
            server.prompt()(prompt)

    async def language(self) -> str:
        """The reference of the workflow language, to write workflow files by."""
        return _language_file().read_text("utf-8")

    async def run(self, run: str) -> str:
        """One run with its steps, costs and questions."""

        def text(project: Project) -> str:
            view = project.queries.show(RunId(project.run(run).run))
            return material(json.dumps(run_data(view), indent=1, ensure_ascii=False, default=str))

        return await self._access.read(text)

    async def run_diff(self, run: str) -> str:
        """What a run has changed."""

        def text(project: Project) -> str:
            view = project.queries.show(RunId(project.run(run).run))
            return material(project.queries.diff(change_of(view))[0] or "no file was changed")

        return await self._access.read(text)

    async def workflow(self, path: str) -> str:
        """A workflow file of the project."""

        def text(project: Project) -> str:
            with open_inside(project.root, path, "rb") as source:
                return material(source.read(MAX_TEXT_FILE).decode("utf-8", "replace"))

        return await self._access.read(text)


def _language_file() -> Path:
    """In a wheel the page lies beside the other data; in a checkout it is only in the docs."""
    shipped = Path(podium.__file__).parent / "data/language.md"
    return shipped if shipped.exists() else Path(podium.__file__).parents[2] / "docs/reference/workflow.md"


def write_workflow(task: Annotated[str, Field(description="What the workflow is for.")]) -> str:
    """Write a workflow for a task."""
    return (
        f"Write a Podium workflow for this task: {task}\n\n"
        "Read the resource podium://language first. Look with `workflows` at what exists. Give every step that changes "
        "files a gate that proves its work, and set limits. Check the file with `validate`, write it with "
        "`write_workflow`, and show me what `plan` says about its worst case before anything is started."
    )


def explain_failure(run: Annotated[str, Field(description="The run, or latest.")] = "latest") -> str:
    """Explain why a run failed."""
    return (
        f"Explain why the Podium run {run} did not pass. Use `show_run`, then `logs` with failed=true, and `diff` for "
        "what was changed. Name the first cause, quote the line that shows it, and say what I should do next. Do not "
        "start or steer anything."
    )


def review_plan(path: Annotated[str, Field(description="The workflow file.")]) -> str:
    """Review a workflow before it runs."""
    return (
        f"Review the Podium workflow {path} before it runs. Use `validate` and `plan`. Tell me what can become "
        "expensive, which step can loop and what ends it, where a person is asked, and which work nothing verifies."
    )
