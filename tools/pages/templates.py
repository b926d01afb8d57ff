"""The page of the shipped templates, from their files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from podium.app.author.load import open_workflow, resolved
from podium.views.text.graph import as_text
from podium.workflow.source.files import SHIPPED
from podium.workflow.source.yaml import load, read
from tools.pages import markdown
from tools.pages.markdown import code, table

INTRO = """\
A workflow starts from one of these with `extends: NAME` and says only what is different; `podium init --template NAME`
writes such a file for your project. [Start from a template](../how-to/templates.md) shows how steps are added, changed
and taken out. Commands named here are what a template runs unless you say what your project has instead."""


def page() -> str:
    names = sorted(path.stem for path in (SHIPPED / "templates").glob("*.yaml"))
    written = {name: read(SHIPPED / "templates" / f"{name}.yaml").value for name in names}
    overview = [(f"[`{name}`](#{name})", written[name]["description"]) for name in names]
    parts = [part for name in names for part in _template(name, written[name])]
    return markdown.page("Shipped templates", INTRO, table(("template", "what it does"), overview), *parts)


def _template(name: str, written: dict[str, Any]) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "flow.yaml"
        file.write_text(f"podium: 1\nname: {name}\nextends: {name}\n", "utf-8")
        drawn = as_text(open_workflow(file))
        whole = load(resolved(file), name=name).value
    parent = written.get("extends")
    yield f"## {name}"
    yield f"{written['description']}." + (f" Extends [`{parent}`](#{parent})." if parent else "")
    yield f"```text\n{drawn.rstrip()}\n```"
    yield table(("input", "default", "meaning"), map(_input, whole["inputs"].items()))
    commands = dict.fromkeys(_commands(whole))
    yield "Runs " + ", ".join(code(command) for command in commands) + "." if commands else ""


def _input(item: tuple[str, dict[str, Any]]) -> tuple[str, str, str]:
    name, said = item
    default = "required" if "default" not in said else code(str(said["default"]).lower())
    return code(name), default, str(said.get("help", ""))


def _commands(value: Any) -> Iterator[str]:
    """Whatever is given to `run`, anywhere."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        if key == "run":
            yield " ".join(inner) if isinstance(inner, list) else inner
        yield from _commands(inner)
    for inner in value if isinstance(value, list) else ():
        yield from _commands(inner)
