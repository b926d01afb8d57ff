"""The page of the keys of the other formats, written from the registers that files are checked against."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podium.workflow.dialects.gates import keys as gates
from podium.workflow.dialects.key_register import Key, Part
from podium.workflow.dialects.states import keys as states
from podium.workflow.dialects.steps import keys as steps
from podium.workflow.dialects.supervisor import keys as supervisor
from tools.pages import markdown
from tools.pages.markdown import code, table

INTRO = """\
Podium runs files of four other formats as they are, by translating them into its own. This page lists every key of these
formats. A key that is not listed here is a mistake, reported with its line."""
WORDS = """\
**Translated** names the native construct that does the same. **No effect** means that the key changes nothing, for the reason
given; `podium validate` and `podium run` warn about it, unless the value loses nothing. **Refused** is a mistake, with what to
write instead. `podium convert FILE` prints the native file."""
FORMATS: Final = (
    ("States", "../how-to/coming-from-a-state-machine.md", states.REGISTER),
    ("Steps", "../how-to/coming-from-steps-with-goto.md", steps.REGISTER),
    ("Gates", "../how-to/coming-from-gates-between-steps.md", gates.REGISTER),
    ("Supervised roles", "../how-to/coming-from-supervised-roles.md", supervisor.REGISTER),
)


def page() -> str:
    parts = [text for title, guide, register in FORMATS for text in _format(title, guide, register)]
    return markdown.page("Keys of the other formats", INTRO, WORDS, *parts)


def _format(title: str, guide: str, register: tuple[Part, ...]) -> Iterator[str]:
    count = sum(len(part.keys) for part in register)
    yield f"## {title}"
    yield f"{count} keys in {len(register)} places. [How to come from this format]({guide})."
    for part in register:
        yield f"### {part.where}"
        yield table(
            ("key", "becomes", "meaning"),
            [(code(name), key.fate, _meaning(key)) for name, key in part.keys.items()],
        )


def _meaning(key: Key) -> str:
    if key.instead:
        return f"{key.meaning}; {key.instead}"
    values = ", ".join(code(str(value).lower()) for value in key.harmless)
    return f"{key.meaning}; {values} loses nothing" if values else key.meaning
