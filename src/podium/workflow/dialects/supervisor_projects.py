"""Several projects in one repository, in the order of what they depend on: a loop over them, each by its own roles."""

from __future__ import annotations

from typing import Any, Final

from podium.workflow.dialects.page import Page, grown, name_of
from podium.workflow.tree import Node, fields, items, text

PROJECT: Final = ("name", "path", "roles")
DEPENDENCIES: Final = "cross_project_dependencies"


def project_workflow(root: Node, page: Page) -> Node:
    said = fields(root)
    page.check_keys(root, "a file of projects", ("projects", DEPENDENCIES))
    needs = fields(said.get(DEPENDENCIES))
    listed = [_project(node, needs, page) for node in items(said["projects"])]
    return grown(
        {
            "podium": 1,
            "name": "projects",
            "inputs": {"task": "string"},
            "vars": {"projects": grown(listed, said["projects"])},
            "steps": {"packages": _packages()},
        },
        root,
    )


def _project(node: Node, needs: Any, page: Page) -> Node:
    page.check_keys(node, "a project", PROJECT)
    said = fields(node)
    name = text(said.get("name")) or ""
    path = (text(said.get("path")) or ".").removeprefix("./")
    roles = [grown(name_of(str(role.value)), role) for role in items(said.get("roles"))]
    after = items(fields(needs.get(name)).get("depends_on")) if name in needs else ()
    return grown({"name": name, "path": path, "roles": roles, "needs": list(after)}, node)


def _packages() -> dict[str, Any]:
    """Projects that do not wait for each other are worked on at once; the roles of one, in turn."""
    work = {
        "for_each": {"in": "project.roles", "as": "who"},
        "role": "${{ who }}",
        "dir": "${{ project.path }}",
        "touches": ["${{ project.path }}/**"],
        "no_change": "pass",
        "prompt": "{{ inputs.task }} (project {{ project.name }})",
    }
    return {
        "for_each": {
            "in": "vars.projects",
            "as": "project",
            "key": "project.name",
            "needs": "project.needs",
        },
        "parallel": True,
        "steps": {"work": work},
    }
