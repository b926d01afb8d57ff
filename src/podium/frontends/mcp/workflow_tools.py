"""The tools that read, check, forecast and write workflow files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import Field

from podium.app.assistant.files import list_workflows, write_workflow
from podium.app.assistant.start import load_inside
from podium.app.author.load import check
from podium.app.forecast.plan_json import plan_data
from podium.files.inside import inside
from podium.frontends.mcp.material import json_material, material

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.frontends.project_access import Access

File: TypeAlias = Annotated[str, Field(description="A workflow file, as a path inside the project.")]


class WorkflowTools:
    def __init__(self, access: Access) -> None:
        self._access = access

    async def workflows(self) -> str:
        """List the workflow files of this project with their inputs and steps."""
        return await self._access.read(lambda project: json_material(list(list_workflows(project))))

    async def validate(self, path: File) -> str:
        """Check a workflow file and list every mistake by line. Nothing runs."""

        def problems(project: Project) -> str:
            checked = check(inside(project.root, path), user_dir=project.user_dir)
            lines = [problem.render() for problem in checked.problems]
            return "\n".join(lines) or f"{path}: good"

        return material(await self._access.read(problems))

    async def plan(
        self,
        path: File,
        inputs: Annotated[dict[str, Any] | None, Field(description="Values of inputs by name.")] = None,
    ) -> str:
        """Forecast calls, tokens, cost and time of a workflow from the best to the worst case. Nothing runs."""

        def forecast(project: Project) -> str:
            from podium.app.forecast.plan import plan

            workflow = load_inside(project, path).workflow
            return json.dumps(
                plan_data(plan(workflow, inputs or {}, project.queries.history(workflow))), indent=1
            )

        return material(await self._access.read(forecast))

    async def write_workflow(
        self, path: File, text: Annotated[str, Field(description="The whole file, as YAML.")]
    ) -> str:
        """Write a workflow file. It is checked first, and not written if it has mistakes.

        The resource podium://language describes the language. A file that an unfinished run uses stays as it is.
        """

        def write(project: Project) -> str:
            checked = write_workflow(project, path, text)
            return "\n".join((f"wrote {path}", *(problem.render() for problem in checked.problems)))

        return await self._access.read(write)
