"""Translates several projects in one repository into a loop over them in the order of their dependencies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from podium.workflow.dialects.supervisor import keys
from podium.workflow.dialects.translation import Translation, name_of, new_node
from podium.workflow.problems import did_you_mean
from podium.workflow.source.nodes import Node, fields, items, text

DEPENDENCIES: Final = "cross_project_dependencies"


def project_workflow(root: Node, translation: Translation) -> Node:
    entries = fields(root)
    translation.check_part(root, "a file of projects", keys.PROJECTS)
    needs = fields(entries.get(DEPENDENCIES))
    _check_needs(
        needs, {text(fields(node).get("name")) or "" for node in items(entries["projects"])}, translation
    )
    projects = [_project(node, needs, translation) for node in items(entries["projects"])]
    return new_node(
        {
            "podium": 1,
            "name": "projects",
            "inputs": {"task": "string"},
            "vars": {"projects": new_node(projects, entries["projects"])},
            "steps": {"packages": _packages()},
        },
        root,
    )


def _check_needs(needs: Mapping[str, Node], names: set[str], translation: Translation) -> None:
    for name, node in needs.items():
        translation.check_part(node, f'dependencies of "{name}"', keys.DEPENDENCIES)
        if name not in names:
            translation.add_problem(node, 38, f'project "{name}" does not exist', did_you_mean(name, names))
        for each in items(fields(node).get("depends_on")):
            if each.value not in names:
                message = f'"{name}" depends on "{each.value}", which is not a project'
                translation.add_problem(each, 38, message, did_you_mean(str(each.value), names))


def _project(node: Node, needs: Any, translation: Translation) -> Node:
    translation.check_part(node, "a project", keys.PROJECT)
    entries = fields(node)
    name = text(entries.get("name")) or ""
    path = (text(entries.get("path")) or ".").removeprefix("./")
    roles = [new_node(name_of(str(role.value)), role) for role in items(entries.get("roles"))]
    after = items(fields(needs.get(name)).get("depends_on")) if name in needs else ()
    return new_node({"name": name, "path": path, "roles": roles, "needs": list(after)}, node)


def _packages() -> dict[str, Any]:
    """The loop: independent projects run in parallel, and the roles of a project one after the other."""
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
