"""Several projects in one repository, in the order of what they depend on: a loop over them, each by its own roles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from podium.workflow.dialects.translation import Translation, name_of, new_node
from podium.workflow.problems import did_you_mean
from podium.workflow.source.nodes import Node, fields, items, text

PROJECT: Final = ("name", "path", "roles")
DEPENDENCIES: Final = "cross_project_dependencies"


def project_workflow(root: Node, page: Translation) -> Node:
    said = fields(root)
    page.check_keys(root, "a file of projects", ("projects", DEPENDENCIES))
    needs = fields(said.get(DEPENDENCIES))
    _check_needs(needs, {text(fields(node).get("name")) or "" for node in items(said["projects"])}, page)
    listed = [_project(node, needs, page) for node in items(said["projects"])]
    return new_node(
        {
            "podium": 1,
            "name": "projects",
            "inputs": {"task": "string"},
            "vars": {"projects": new_node(listed, said["projects"])},
            "steps": {"packages": _packages()},
        },
        root,
    )


def _check_needs(needs: Mapping[str, Node], known: set[str], page: Translation) -> None:
    for name, node in needs.items():
        page.check_keys(node, f'dependencies of "{name}"', ("depends_on",))
        if name not in known:
            page.complain(node, 38, f'there is no project "{name}"', did_you_mean(name, known))
        for each in items(fields(node).get("depends_on")):
            if each.value not in known:
                fault = f'"{name}" depends on "{each.value}", which is no project'
                page.complain(each, 38, fault, did_you_mean(str(each.value), known))


def _project(node: Node, needs: Any, page: Translation) -> Node:
    page.check_keys(node, "a project", PROJECT)
    said = fields(node)
    name = text(said.get("name")) or ""
    path = (text(said.get("path")) or ".").removeprefix("./")
    roles = [new_node(name_of(str(role.value)), role) for role in items(said.get("roles"))]
    after = items(fields(needs.get(name)).get("depends_on")) if name in needs else ()
    return new_node({"name": name, "path": path, "roles": roles, "needs": list(after)}, node)


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
