"""The page of what can be asked of each type of agent, written from the capabilities that files are checked against."""

from __future__ import annotations

from podium.adapters.agents.registry import InstalledAgents
from podium.app.agents import matrix
from tools.pages import markdown
from tools.pages.markdown import code, table

INTRO = """\
What `podium agents --matrix` prints. A workflow that asks an agent for what it cannot do is a mistake of the file.
[Agents](agents.md) has the settings of each type."""

LEGEND = """\
- **files**: it works in a folder and can change files; the others answer in text.
- **tools**: a role's `tools` can be enforced.
- **schema**: its program holds an answer to a JSON Schema itself. The contract of the step does so in any case.
- **continuity**: how it [goes on in a conversation](../how-to/go-on-in-a-conversation.md). `session`: by its program's
  own. `retold`: earlier turns are sent again. `ignored`: its answers are known beforehand. A `command` needs `resume`.
- **price**: without `price` of yours. `reported`: it tells its cost. `priced`: by a public table. `free`: nothing.
- **needs**: the weakest sandbox that it may run in.
- **tested**: the version of its program that `make live` runs."""


def page() -> str:
    rows = [
        (
            code(row.type),
            *("yes" if can else "no" for can in (row.files, row.tools, row.schema)),
            row.continuity,
            row.price,
            code(row.needs),
            row.tested or "-",
        )
        for row in matrix(InstalledAgents())
    ]
    heads = ("type", "files", "tools", "schema", "continuity", "price", "needs", "tested")
    return markdown.page("What agents can", INTRO, table(heads, rows), LEGEND)
