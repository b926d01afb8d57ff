"""The page of steering files: what decides the result of each tool that a gate may start."""

from __future__ import annotations

from podium.workflow.test_gates.steering import TOOLS, SteeredTool
from tools.pages import markdown
from tools.pages.markdown import code, table

INTRO = """\
The files of a project that decide what a tool proves. Each tool was run at the version named here: a project that is red
becomes green by a change of this file alone. `tests/security/gates/test_steering.py` repeats that for every row.

A gate that starts one of these tools must also pass with these files as they were before the judged work
([Tests that the work may not weaken](../how-to/write-a-gate.md#tests-that-the-work-may-not-weaken)). A command that runs tests
counts with the files of every tool that runs tests, because tests may start anything; a linter with its own; a command such as
`make lint`, whose tools its words do not name, with all. Test files, snapshots and fixtures come on top.

`protect: [$SETTINGS]` names all files of this page: on a gate they are taken from before the work, on a step a person is
asked if one of them changes.

Some rows have a rule of their own:

- `Cargo.toml` and `go.mod` count unless only new dependencies, or other versions of them, were added; their lock file goes with
  them.
- Of `vendor/` only libraries that were there before count.
- A new Python module with the name of one that a runner imports counts like a setting, at the top, in `src`, `lib`, `python` and
  the folders of `PYTHONPATH`; for mypy a new `.pyi` beside a `.py`, for make a new file with the name of its goal.
- `.env` files and a second spelling of a name, such as `makefile` beside `Makefile`, need a person or are refused before any
  gate runs."""


def page() -> str:
    tried = [tool for tool in TOOLS if tool.tried]
    others = [tool for tool in TOOLS if not tool.tried]
    return markdown.page(
        "Steering files", INTRO, *map(_tool, tried), "## Not tried", OTHERS, *map(_rows, others)
    )


OTHERS = """\
These come from the documentation of their tools. They are restored in the same way, but no test shows that they steer."""


def _tool(tool: SteeredTool) -> str:
    kind = "; judges without running tests" if tool.is_linter else ""
    return f"## {tool.name}\n\nTried with {tool.tried}{kind}.\n\n{_rows(tool)}"


def _rows(tool: SteeredTool) -> str:
    head = ("file", "what a change can do") if tool.tried else (tool.name, "what a change can do")
    return table(head, [(code(file.glob), file.effect) for file in tool.files])
