"""The page of the shipped partials, from their files and from the table of what they are given."""

from __future__ import annotations

from collections.abc import Iterator

from podium.workflow.prompts.partials import PARTIALS, shipped_partial
from tools.pages import markdown
from tools.pages.markdown import code, table

INTRO = """\
The parts of a prompt that Podium writes itself. A file of the same name in `.podium/partials/` of your project, or in
`~/.config/podium/partials/`, takes the place of one; [See what an agent is told](../how-to/prompts.md) shows how. It may
read what is listed here, and has to read what is marked: without that, an answer could not be taken. Texts that others
wrote (a diff, an output, a file) are given inside their fence."""


def page() -> str:
    overview = [(f"[`{name}`](#{name})", known.about) for name, known in PARTIALS.items()]
    parts = [part for name in PARTIALS for part in _partial(name)]
    return markdown.page("Shipped partials", INTRO, table(("partial", "what it says"), overview), *parts)


def _partial(name: str) -> Iterator[str]:
    known = PARTIALS[name]
    yield f"## {name}"
    given = (_given(key, fields, key in known.needed) for key, fields in known.names.items())
    yield f"{known.about}. Is given {', '.join(given)}."
    yield f"```jinja\n{(shipped_partial(f'{name}.md') or '').rstrip()}\n```"


def _given(name: str, fields: tuple[str, ...], is_needed: bool) -> str:
    inner = f" ({', '.join(map(code, fields))})" if fields else ""
    return f"{code(name)}{inner}{' (needed)' if is_needed else ''}"
