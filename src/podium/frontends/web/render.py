"""Fills templates. Every text is escaped and what is invisible in it is shown, so nothing that an agent wrote is markup."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse

from podium import __version__
from podium.app.query.runs import ENDED
from podium.core.types import Millis
from podium.frontends.web.access import may_decide, speaker_of
from podium.ports.clock import wall_clock
from podium.views import format as words
from podium.views.pictures.states import SIGNS, Tone
from podium.views.pictures.svg import STYLE, scheme
from podium.views.plain import one_line, short_id, visible
from podium.views.run.view import RunView, StepView

if TYPE_CHECKING:
    from starlette.requests import Request

    from podium.frontends.web.hub import Hub

HERE: Final = Path(__file__).parent
THEMES: Final = ("light", "dark")
SEEN: Final = "podium.changes"
"""In the scope of a request: how many changes were told before its page was made."""
LONGEST: Final = 100_000
"""Characters of one text; a longer one is cut, and says so."""


def page(request: Request, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    hub: Hub = request.app.state.hub
    theme = request.cookies.get("podium-theme", "")
    shared = {
        "path": request.url.path,
        "theme": theme if theme in THEMES else "",
        "waiting": count_waiting(hub),
        "speaker": speaker_of(request).name,
        "may_decide": may_decide(request),
        "version": __version__,
        "now": wall_clock(),
        "many": len(hub.shelves) > 1,
        "changes": request.scope.get(SEEN, 0),
    }
    text = _environment().get_template(name).render({**shared, **values})
    return HTMLResponse(text, status)


def bare(name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page without anything about runs, for somebody who has not logged in."""
    return HTMLResponse(_environment().get_template(name).render(values), status)


def message(request: Request, status: int, title: str, text: str) -> HTMLResponse:
    return page(request, "message.html", status=status, title=title, text=text, back="/")


def count_waiting(hub: Hub) -> int:
    """How many questions a person can answer now, over all projects."""
    total = 0
    for shelf in hub.shelves:
        with shelf.lock:
            views = [shelf.of(head).view for head in shelf.heads() if head.status not in ENDED]
        total += sum(bool(each.actions) or each.kind == "by_hand" for view in views for each in view.pending)
    return total


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        ago=_ago,
        took=lambda millis: words.duration(max(0, millis)),
        dollars=words.dollars,
        bytes=_bytes,
        count=words.count,
        tree=short_id,
        line=lambda text, width=160: one_line(text, width),
        tone=tone_of,
        sign=lambda value: SIGNS[tone_of(value)],
        stepsign=lambda step: SIGNS[step_tone(step)],
        steptone=step_tone,
        clock=lambda at: words.clock_time(at, seconds=True),
        plural=words.plural,
        word=lambda text: str(text).replace("_", " "),
    )
    return environment


def picture(svg: str) -> Markup:
    """A picture of ours: the only markup that is not written in a template. Each text in it has passed `svg.text`."""
    return Markup(svg)  # noqa: S704  # made by views/pictures, which escapes every text


def _shown(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    text = visible(value)
    return (
        text if len(text) <= LONGEST else f"{text[:LONGEST]} [... {len(text) - LONGEST} characters left out]"
    )


def _ago(at: Millis) -> str:
    return words.duration(max(0, wall_clock() - at))


def _bytes(size: int) -> str:
    return (
        f"{size} B"
        if size < 1_000
        else f"{size / 1_000:.1f} kB"
        if size < 1_000_000
        else f"{size / 1e6:.1f} MB"
    )


_TONES: Final[dict[str, Tone]] = {
    **dict.fromkeys(("passed", "ok", "approve", "degraded", "partial"), "passed"),
    **dict.fromkeys(
        ("failed", "rejected", "reject", "limited", "timed_out", "error", "abort", "aborted", "interrupted"),
        "failed",
    ),
    **dict.fromkeys(("running", "checking", "retrying", "working"), "running"),
    **dict.fromkeys(("waiting", "parked"), "waiting"),
}


def tone_of(status: str) -> Tone:
    return _TONES.get(status, "idle")


def step_tone(step: StepView) -> Tone:
    if step.stale:
        return "stale"
    return tone_of(step.outcome or step.status)


def title_input(view: RunView) -> tuple[str, str]:
    """The name and text of the input that explains the run best; empty if there is none."""
    texts = [(name, value) for name, value in view.inputs.items() if isinstance(value, str) and value.strip()]
    for usual in ("task", "issue", "goal", "prompt", "title"):
        for name, value in texts:
            if name == usual:
                return name, value
    return texts[0] if texts else ("", "")


def style_sheet() -> str:
    """The colours of both schemes, for the system's choice and for the person's, and the rules."""
    light, dark = scheme(0), scheme(1)
    rules = STYLE.partition(".picture{")
    return (
        f":root{{color-scheme:light;{light}{_LIGHT}}}\n"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}{_DARK}}}}}\n"
        f":root[data-theme=dark]{{color-scheme:dark;{dark}{_DARK}}}\n"
        f"{rules[1]}{rules[2]}\n{(HERE / 'static' / 'app.css').read_text('utf-8')}"
    )


_LIGHT: Final = (
    "--ground:#f5f6f8;--card:#ffffff;--edge:#dfe3e8;--soft:#57606a;--accent:#0b5cad;--on-accent:#ffffff;--hover:#eef1f4;"
    "--shadow:0 1px 2px rgba(27,31,36,.06);--add:#e6f6ec;--del:#fdeeed;--com:#5f6873;--str:#0a5a4a;--num:#8a4b00;--key:#8a1f6b;--fun:#4b3fb5;"
)
_DARK: Final = (
    "--ground:#0b0f14;--card:#12171e;--edge:#2a323c;--soft:#9aa5b1;--accent:#6cb6ff;--on-accent:#0b1622;--hover:#1a212a;"
    "--shadow:none;--add:#10291f;--del:#311a1a;--com:#9aa5b1;--str:#8ddcc4;--num:#f0b072;--key:#f0a0d8;--fun:#b9b0ff;"
)
"""Colours of the pages besides those of the pictures."""
