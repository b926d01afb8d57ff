"""Writes a report as one HTML page: no script, no request, everything folded by `<details>`.

Every text passes `text`, which escapes it and makes invisible characters visible; markup comes from this package alone.
The policy in its head lets a browser use only the style of the page itself.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from podium.views.format import duration, iso, plural
from podium.views.pictures import charts, svg
from podium.views.pictures.layout import layout
from podium.views.pictures.states import SIGNS, Tone, states_of
from podium.views.pictures.svg import text
from podium.views.plain import as_text, short_id
from podium.views.report.report import Excerpt, Report, cost_text, costs_by_step
from podium.views.run.attempts import outcome_of
from podium.views.run.view import elapsed
from podium.views.text.costs import limit_text

MOST_BYTES: Final = 5_000_000
"""A page above this size loses its longest sections, and says which."""
MOST_ROWS: Final = 500

STYLE: Final = (
    svg.STYLE
    + "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:1000px;"
    "margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.5rem;margin-bottom:.2rem}h2{font-size:1.1rem;margin-top:2rem}"
    "table{border-collapse:collapse;width:100%;font-size:14px}"
    "th,td{text-align:left;padding:.25rem .6rem .25rem 0;border-bottom:1px solid var(--line);vertical-align:top}"
    "pre{overflow-x:auto;font:12px/1.45 ui-monospace,monospace;background:var(--stale-ground);padding:.6rem}"
    "summary{cursor:pointer;padding:.3rem 0}"
    ".scroll{overflow-x:auto}.quiet{color:var(--idle)}"
    ".added{color:var(--passed)}.removed{color:var(--failed)}.place{color:var(--running)}"
    + "".join(f".{tone}{{color:var(--{tone})}}" for tone in svg.TONES)
    + "@media print{details>*{display:block}}"
)


def policy() -> str:
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def page(report: Report) -> str:
    sections = list(_sections(report))
    left_out: list[str] = []
    while sum(len(body.encode()) for _, body in sections) > MOST_BYTES:
        longest = max(sections, key=lambda section: len(section[1]))
        sections.remove(longest)
        left_out.append(longest[0])
    title = text(f"{report.view.workflow}: {report.view.status}")
    body = "\n".join(body for _, body in sections)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"{body}\n{_foot(report, left_out)}\n</main>\n</body>\n</html>\n"
    )


def _sections(report: Report) -> Iterator[tuple[str, str]]:
    """Each section with its name; those without content are left out."""
    yield "head", _head(report)
    parts = (
        ("Inputs", _inputs(report)),
        ("Picture", _picture(report)),
        ("Timeline", _scrolled(charts.timeline(report.attempts, report.view.at))),
        ("Cost by step", _scrolled(_costs(report))),
        ("Decisions of people", _people(report)),
        ("Verdicts", _verdicts(report)),
        ("Findings", _findings(report)),
        ("Attempts", _attempts(report)),
        ("The whole change", "" if report.diff is None else _diff(report.diff)),
        (
            "Changes between attempts",
            "".join(_folded(each, _coloured(each.text)) for each in report.steps_between),
        ),
        ("Output", _excerpts(report.outputs)),
        ("Prompts and answers", _excerpts(report.prompts)),
        ("Definition", _excerpts(report.definition)),
    )
    yield from ((name, f"<section>\n<h2>{name}</h2>\n{body}</section>") for name, body in parts if body)


def _head(report: Report) -> str:
    view = report.view
    tone: Tone = "passed" if view.outcome == "passed" else "failed" if view.ended is not None else "waiting"
    people = dict.fromkeys(str(row["by"]) for row in report.by_people)
    rows = [
        ("run", view.run),
        ("started", "" if view.started is None else iso(view.started)),
        ("took", duration(elapsed(view, view.at))),
        ("cost", cost_text(view.usd, view.unknown_calls)),
        ("agents", f"{plural(view.calls, 'call')}, {view.tokens:,} tokens"),
        ("limits", ", ".join(map(limit_text, view.limits))),
        ("decided by", ", ".join(people)),
        ("base", short_id(view.base)),
        ("result", short_id(view.tree)),
    ]
    why = f'<p class="{tone}">{text(view.why or view.message)}</p>' if view.why or view.message else ""
    return (
        f'<h1>{text(view.workflow)}: <span class="{tone}">{SIGNS[tone]} {text(view.status)}</span></h1>\n{why}'
        + _table((), [(f"<b>{name}</b>", text(value)) for name, value in rows if value])
    )


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """`rows` are markup; at most `MOST_ROWS` of them."""
    all_rows = list(rows)
    if not all_rows:
        return ""
    top = "<tr>" + "".join(f"<th>{head}</th>" for head in heads) + "</tr>" if heads else ""
    lines = ["<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in all_rows[:MOST_ROWS]]
    more = len(all_rows) - MOST_ROWS
    note = f'<p class="quiet">and {more} more</p>' if more > 0 else ""
    return f'<div class="scroll"><table>{top}{"".join(lines)}</table></div>{note}\n'


def _picture(report: Report) -> str:
    if report.workflow is None:
        return ""
    states = states_of(report.view)
    return _scrolled(svg.paint(layout(report.workflow, states), report.view.workflow, states, alone=False))


def _scrolled(picture: str) -> str:
    return f'<div class="scroll">{picture}</div>\n' if picture else ""


def _costs(report: Report) -> str:
    rows = [
        charts.BarOf(path, usd, cost_text(usd, unknown))
        for path, (usd, unknown) in costs_by_step(report.attempts).items()
    ]
    return charts.bars(sorted(rows, key=lambda row: -row.value)[:40], "cost by step")


def _people(report: Report) -> str:
    rows = [
        (text(row["at"]), f"<code>{text(row['step'])}</code>", text(row["by"]), text(row["outcome"]),
         text(as_text(row.get("text"))), f"<code>{short_id(row.get('tree'))}</code>")
        for row in report.by_people
    ]  # fmt: skip
    return _table(("when", "question", "by", "answer", "words", "tree"), rows)


def _verdicts(report: Report) -> str:
    rows = [
        (f"<code>{text(row['step'])}</code>", text(row["by"]), text(as_text(row.get("decision") or row["outcome"])),
         _score(row.get("score")), f"<code>{short_id(row.get('tree'))}</code>")
        for row in report.decisions if row["by"] in ("gate", "reviewer")
    ]  # fmt: skip
    return _table(("judge", "kind", "verdict", "score", "tree"), rows)


def _score(score: object) -> str:
    return f"{score:g}" if isinstance(score, int | float) else ""


def _findings(report: Report) -> str:
    rows = [
        (f"<code>{text(history.review)}</code>", text(each.by), text(each.severity), text(each.status),
         text(f"{each.path}: {each.issue}" if each.path else each.issue))
        for history in report.reviews for each in history.findings
    ]  # fmt: skip
    return _table(("review", "by", "severity", "now", "finding"), rows)


def _attempts(report: Report) -> str:
    rows = []
    for each in report.attempts:
        tone = charts.tone_of(each)
        took = "" if each.ended is None else duration(each.ended - each.started)
        ended = ", ".join(
            filter(None, (outcome_of(each), each.reason, each.reused and f"from {each.reused}"))
        )
        cost = cost_text(each.usd, each.unknown_calls) if each.calls or each.unknown_calls else ""
        rows.append((
            f"<code>{text(each.path)}</code>", str(each.number), f'<span class="{tone}">{SIGNS[tone]} {text(ended)}</span>',
            text(each.worker), took, cost, f"<code>{short_id(each.tree)}</code>",
        ))  # fmt: skip
    return _table(("step", "attempt", "ended", "by", "time", "cost", "tree"), rows)


def _diff(diff: Excerpt) -> str:
    """One fold per file, open if there are few."""
    files = _files(diff.text)
    if not files:
        return '<p class="quiet">No file was changed.</p>\n'
    is_open = " open" if len(files) <= 5 else ""
    note = '<p class="quiet">The change is larger than this; the rest was left out.</p>\n' if diff.cut else ""
    folds = (
        f"<details{is_open}><summary><code>{text(name)}</code></summary>{_coloured(body)}</details>\n"
        for name, body in files
    )
    return "".join(folds) + note


def _files(diff: str) -> list[tuple[str, str]]:
    """The part of each file, by the name in its header."""
    files: list[tuple[str, list[str]]] = []
    for line in diff.splitlines():
        if line.startswith("diff --git "):
            files.append((line.rpartition(" b/")[2] or line, []))
        if files:
            files[-1][1].append(line)
    return [(name, "\n".join(lines)) for name, lines in files]


def _coloured(diff: str) -> str:
    return f"<pre>{''.join(map(_diff_line, diff.splitlines()))}</pre>"


def _diff_line(line: str) -> str:
    is_head = line.startswith(("+++", "---"))
    tones = {"+": "added", "-": "removed", "@": "place"}
    tone = "" if is_head else tones.get(line[:1], "")
    return f'<span class="{tone}">{text(line)}</span>\n' if tone else f"{text(line)}\n"


def _folded(excerpt: Excerpt, body: str) -> str:
    note = f", {plural(excerpt.cut, 'line')} left out" if excerpt.cut else ""
    return f"<details><summary>{text(excerpt.title)}{note}</summary>{body}</details>\n"


def _excerpts(excerpts: Iterable[Excerpt]) -> str:
    return "".join(_folded(each, f"<pre>{text(each.text)}</pre>") for each in excerpts)


def _inputs(report: Report) -> str:
    rows = [
        (f"<code>{text(name)}</code>", text(as_text(value))) for name, value in report.view.inputs.items()
    ]
    return _table(("name", "value"), rows)


def _foot(report: Report, cut: Sequence[str]) -> str:
    notes = [
        f"Log: {plural(report.events, 'event')}, the last one has the hash {report.log_head}.",
        f"A report proves nothing. `podium export {report.view.run}` writes what does, and `podium verify` on it must show this hash.",
        f"Written by Podium {report.version}.",
    ]
    left_out = [*report.left_out, *(f"{name.lower()} (the page would be too large)" for name in cut)]
    if left_out:
        notes.append(f"Left out: {', '.join(left_out)}.")
    return "<hr>\n" + "".join(f'<p class="quiet">{text(note)}</p>\n' for note in notes)
