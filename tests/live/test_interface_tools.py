"""Interfaces of supervised features are checked by the real tsc, go, mypy, OpenAPI and JSON Schema validators."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import indent

import pytest

from tests.e2e.supervised import FLOW, run, supervised
from tests.live.programs import FOLDER

pytestmark = [pytest.mark.live, pytest.mark.req("R169")]

TOOLS = (FOLDER / "tools/node_modules/.bin", FOLDER / "tools/python/bin", Path(sys.executable).parent)
BUILD = """\
podium: 1
name: change
inputs: {task: string}
steps:
  feature:
    build: feature.yaml
    component: {role: implementer, prompt: "{{ component.id }}", retry: 1}
"""
FEATURE = """\
feature:
  id: P1T5
  title: User Authentication System
  phases:
    - id: backend
      sequence: 1
      components:
        - {id: alpha, files: ["src/**"]}
        - {id: omega, files: ["src/**"], depends_on: [alpha]}
      interfaces:
        - name: Login
          type: KIND
          definition: |
"""
TSCONFIG = '{"compilerOptions": {"strict": true, "noEmit": true}, "include": ["types/**/*", "src/**/*"]}\n'
GO_INTERFACE = "package interfaces\n\ntype Login interface {\n\tToken() string\n}\n"
GO_HEAD = 'package src\n\nimport "shop/interfaces"\n\n'
GO_RIGHT = f'{GO_HEAD}type T struct{{}}\n\nfunc (T) Token() string {{ return "" }}\n\nvar _ interfaces.Login = T{{}}\n'
GO_WRONG = f"{GO_HEAD}type U struct{{}}\n\nvar _ interfaces.Login = U{{}}\n"


def program(name: str) -> Path:
    path = shutil.which(name, path=os.pathsep.join([*map(str, TOOLS), os.environ["PATH"]]))
    if path is None:
        pytest.skip(f"{name} is not installed; make live does it")
    return Path(path)


def checks(
    folder: Path, kind: str, definition: str, files: Mapping[str, str], written: Mapping[str, str]
) -> dict[str, str]:
    """The outcome of the check after each of the two components, of which the first writes `a`, the second `b`."""
    feature = FEATURE.replace("KIND", kind) + indent(definition, " " * 12)
    cast = json.dumps(
        [
            {"match": {"prompt": component}, "write": {path: written[path]}, "text": path}
            for component, path in zip(("omega", "alpha"), sorted(written, reverse=True), strict=True)
        ]
    )
    with supervised(folder, {FLOW: BUILD, "feature.yaml": feature, **files}, cast) as project:
        project.env["PATH"] = os.pathsep.join([*map(str, TOOLS), os.environ["PATH"]])
        done = run(project, "--no-human")
        assert done.out, done.err
        rows = [row for row in done.data()["steps"] if row["path"].endswith("#1/interface_login")]
        return {row["path"].split("components")[1][1]: row["outcome"] for row in rows}


@pytest.mark.parametrize(
    ("tool", "kind", "definition", "files", "written"),
    [
        ("tsc", "typescript_interface", "interface Login { email: string; password: string; }\n",
         {"tsconfig.json": TSCONFIG},
         {"src/a.ts": 'export const a: Login = { email: "a", password: "b" };\n',
          "src/b.ts": 'export const b: Login = { email: "a" };\n'}),
        ("go", "go_interface", GO_INTERFACE, {"go.mod": "module shop\n\ngo 1.19\n"},
         {"src/a.go": GO_RIGHT, "src/b.go": GO_WRONG}),
        ("mypy", "python_protocol", "class Login:\n    token: str\n", {},
         {"src/a.py": "x: int = 1\n", "src/b.py": "y: int = 'two'\n"}),
    ],
    ids=["typescript", "go", "python"],
)  # fmt: skip
def test_an_implementation_that_breaks_its_interface_is_refused_by_the_tool_of_its_language(
    tmp_path: Path,
    tool: str,
    kind: str,
    definition: str,
    files: Mapping[str, str],
    written: Mapping[str, str],
) -> None:
    program(tool)
    assert checks(tmp_path, kind, definition, files, written) == {"1": "passed", "2": "failed"}


OPENAPI = "/api/auth/login:\n  post:\n    responses:\n      '200': {description: ok}\n"
SCHEMA = '{"type": "object", "properties": {"email": {"type": "string"}}}\n'


@pytest.mark.parametrize(
    ("tool", "kind", "right", "wrong"),
    [
        ("openapi-spec-validator", "openapi", OPENAPI, OPENAPI.replace("responses", "response")),
        ("check-jsonschema", "json_schema", SCHEMA, SCHEMA.replace("object", "objekt")),
    ],
)
def test_a_definition_that_is_not_valid_stops_its_first_component(
    tmp_path: Path, tool: str, kind: str, right: str, wrong: str
) -> None:
    program(tool)
    written = {"src/a.txt": "a", "src/b.txt": "b"}
    assert checks(tmp_path / "right", kind, right, {}, written) == {"1": "passed", "2": "passed"}
    assert checks(tmp_path / "wrong", kind, wrong, {}, written) == {"1": "failed"}
