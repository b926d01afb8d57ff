"""What a failed attempt hands to the next one, as text: the latest in full, a digest of what came before (C40).

The core keeps addresses only; here they become words. Each entry is also a file, `feedback/<step>/<n>.md` of the run
(R113, R114), in which it outlives the state: an attempt's own words are forgotten there as soon as the next one ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from podium.attempt.artifacts import write_bytes
from podium.attempt.change_policy import about_protected
from podium.attempt.prompt import partials
from podium.attempt.prompt.review_rounds import found_by
from podium.attempt.site import Site
from podium.core.addresses import attempt, without_visit
from podium.core.decide.advice import decision_of
from podium.core.expressions.values import MAX_TEXT
from podium.core.model import Agent, Check, Command, Gates, Human, Review
from podium.core.queries.graph import fresh_children
from podium.core.state import Instance, JoinRefusal, Leaf, Scope, State
from podium.core.types import CONTINUING_OUTCOMES
from podium.core.types import Path as StepPath
from podium.workflow.prompts.quoting import fence, first_line, truncate_middle

IN_FULL: Final = 16_000
"""So many characters of one entry stand in a prompt; the file has all of it."""
DIGESTED: Final = 12
MOST: Final = MAX_TEXT // 2
"""Characters of one fact; no text of a prompt may be longer."""
_ATTEMPT: Final = re.compile(r"(.*)#(\d+)")


@dataclass(frozen=True, slots=True)
class Entry:
    source: str
    """The address that the core keeps."""
    title: str
    body: str = ""

    @property
    def text(self) -> str:
        return f"{self.title}\n\n{self.body}".strip() if self.body else self.title


def feedback_of(site: Site, state: State, leaf: Leaf, *, heading: bool = False) -> str:
    """For the next prompt; empty when there is none. A heading is for a prompt that gives it no place."""
    entries = gathered(site, state, leaf)
    if not entries:
        return ""
    newest = _occasion(entries[-1].source)
    latest = [entry for entry in entries if _occasion(entry.source) == newest]
    earlier = [entry for entry in entries if _occasion(entry.source) != newest][-DIGESTED:]
    facts = {
        "heading": heading,
        "latest": [truncate_middle(entry.text, IN_FULL) for entry in latest],
        "earlier": [_digest(entry) for entry in earlier],
    }
    return partials.render_partial(state, leaf.place, "feedback", facts)


def objections(state: State, instance: Instance) -> str:
    """What was said against the work where a run stands still."""
    if isinstance(instance, Leaf):
        entry = described(state, attempt(instance.place.path, instance.attempt))
        return "" if entry is None else entry.text
    return _several(state, instance)[1]


def gathered(site: Site, state: State, leaf: Leaf) -> tuple[Entry, ...]:
    """Every entry, the newest last, from the state or from the file it was written to when it was new."""
    folder = folder_of(site, leaf.place.path)
    known = _files(folder)
    found: list[Entry] = []
    for source in dict.fromkeys(leaf.feedback):
        entry = described(state, source)
        if entry is None:
            entry = _read(state, leaf, source, known.get(source))
        elif source not in known:
            known[source] = _write(site, folder / f"{len(known) + 1}.md", entry)
        found.append(entry)
    return tuple(found)


def folder_of(site: Site, path: StepPath) -> Path:
    return site.run_dir / "feedback" / without_visit(path).replace("/", "+")


def _occasion(source: str) -> str:
    """What belongs together: all that was said about one attempt."""
    found = re.match(r"(.*?#\d+)", source)
    return found[1] if found is not None else source


def _digest(entry: Entry) -> str:
    said = first_line(entry.body.lstrip("`\n"))
    return f"{first_line(entry.title)} {said}".strip()


def described(state: State, source: str) -> Entry | None:
    """What an address stands for; None if the state no longer knows."""
    instance = state.instances.get(StepPath(source))
    own = _ATTEMPT.fullmatch(source)
    owner = None if own is None else state.instances.get(StepPath(own[1]))
    if (
        own is not None
        and owner is not None
        and owner.clash is not None
        and owner.clash.attempt == int(own[2])
    ):
        return Entry(source, *_clashed(state, owner, owner.clash))
    if own is not None and isinstance(owner, Leaf) and not _is_failed(instance):
        return _own(state, owner, source, int(own[2]))
    if instance is None:
        return None
    title, body = _told(state, instance)
    return Entry(source, title, body)


def _is_failed(instance: Instance | None) -> bool:
    """The gates of an attempt stand under the attempt's own address; only if they are why it failed do they speak."""
    return (
        instance is not None
        and instance.ending is not None
        and instance.ending.outcome not in CONTINUING_OUTCOMES
    )


def _sentence(state: State, instance: Instance, kind: str, **known: Any) -> str:
    """What one of them said, in the words of its partial."""
    name = instance.place.step.name
    nothing = {
        "name": name,
        "outcome": "",
        "reason": "",
        "message": "",
        "exit_code": "",
        "who": "",
        "attempt": 0,
    }
    facts = {
        key: truncate_middle(fact, MOST) if isinstance(fact, str) else fact for key, fact in known.items()
    }
    return partials.render_partial(state, instance.place, "said", {**nothing, **facts, "kind": kind}).strip()


def _clashed(state: State, owner: Instance, clash: JoinRefusal) -> tuple[str, str]:
    """Good in itself, so nothing else would say why it is to be done again."""
    refused = clash.refused
    detail = fence(refused.detail) if refused.detail else ""
    return _sentence(state, owner, "clash", outcome=refused.kind, attempt=clash.attempt), detail


def _own(state: State, leaf: Leaf, source: str, number: int) -> Entry | None:
    """The attempt itself was not good enough: what it broke, and its words if they could not be read."""
    answer = leaf.answer
    if answer is None or answer.attempt != number:
        return None
    result = answer.result or {}
    why = str(result.get("message") or answer.reason or answer.kind)
    if answer.protected:
        why = about_protected(answer.protected)
        return Entry(source, _sentence(state, leaf, "protected", attempt=number, message=why))
    title = _sentence(state, leaf, "attempt", attempt=number, outcome=answer.kind, message=why)
    text = str(result.get("text") or "")
    wants_words = answer.kind == "malformed" and text.strip()
    return Entry(source, title, f"It answered:\n{fence(truncate_middle(text, 4000))}" if wants_words else "")


def _told(state: State, instance: Instance) -> tuple[str, str]:
    verb = instance.place.step.verb
    ending = instance.ending
    result: Mapping[str, Any] = (ending.result if ending is not None else None) or {}
    message = ending.message if ending is not None else ""
    match verb:
        case _ if instance.place.role in ("question", "advice"):
            return _said(state, instance, result)
        case Command():
            code = "" if result.get("exit_code") is None else str(result["exit_code"])
            said = _sentence(state, instance, "command", exit_code=code, message=message)
            return said, _output(result)
        case Check():
            return _sentence(state, instance, "check", message=message), ""
        case Human():
            return _said(state, instance, result)
        case Agent(judge=True):
            said = _sentence(state, instance, "reviewer", outcome=_outcome(instance))
            return said, findings_text(state, instance, {**result, "findings": found_by(state, instance)})
        case Review() | Gates():
            return _several(state, instance)
        case _:
            return _step(state, instance, result)


def _output(result: Mapping[str, Any]) -> str:
    """What it said, once: the message of a failed command ends with the end of its output."""
    body = ""
    for key in ("message", "text", "stderr"):
        said = str(result.get(key) or "").strip()
        body = body if said in body else f"{body}\n{said}".strip()
    return fence(body) if body else ""


def _said(state: State, instance: Instance, result: Mapping[str, Any]) -> tuple[str, str]:
    """A person's words, or an advisor's."""
    decision = decision_of(instance) if instance.place.role == "advice" else None
    text = decision.guidance if decision is not None else str(result.get("text") or "")
    verdict = result.get("verdict")
    by = ", ".join(verdict.get("by", ())) if isinstance(verdict, Mapping) else ""
    kind = "person" if decision is None else "advisor"
    return _sentence(state, instance, kind, who=by, outcome=_outcome(instance), message=text.strip()), ""


def _outcome(instance: Instance) -> str:
    return "" if instance.ending is None else instance.ending.outcome


def findings_text(state: State, instance: Instance, result: Mapping[str, Any]) -> str:
    """The findings that are still open, each with its id; then the words around them."""
    found = [_finding(finding) for finding in result.get("findings") or () if _is_open(finding)]
    summary = str(result.get("summary") or "").strip()
    if not found and not summary:
        return ""
    return partials.render_partial(state, instance.place, "findings", {"findings": found, "summary": summary})


def _is_open(finding: Mapping[str, Any]) -> bool:
    return bool(finding.get("status", "open") != "fixed")


def _finding(finding: Mapping[str, Any]) -> Mapping[str, Any]:
    path, line = finding.get("path"), finding.get("line")
    return {
        "id": str(finding.get("id", "?")),
        "severity": str(finding.get("severity", "major")),
        "disputed": finding.get("status") == "disputed",
        "where": f"{path}:{line}" if path and line else str(path or ""),
        "issue": str(finding.get("issue", "")),
        "fix": str(finding.get("fix") or ""),
    }


def _several(state: State, instance: Instance) -> tuple[str, str]:
    """A review or a set of gates: what each of those that objected says."""
    parts = ["\n".join(filter(None, _told(state, child))) for child in _objecting(state, instance)]
    kind = "review" if isinstance(instance.place.step.verb, Review) else "gates"
    message = "" if instance.ending is None else instance.ending.message
    said = _sentence(state, instance, kind, outcome=_outcome(instance), message=message)
    return said, "\n\n".join(parts)


def _objecting(state: State, instance: Instance) -> Iterator[Instance]:
    if not isinstance(instance, Scope):
        return
    children = list(fresh_children(state, instance))
    told = None if instance.told is None else state.instances.get(instance.told)
    for child in (*children, *((told,) if told is not None else ())):
        if child.ending is not None and child.ending.outcome not in CONTINUING_OUTCOMES:
            yield child


def _step(state: State, instance: Instance, result: Mapping[str, Any]) -> tuple[str, str]:
    """Any other step that did not make it, down to what in it went wrong."""
    ending = instance.ending
    known = {} if ending is None else {"reason": ending.reason or "", "message": ending.message}
    title = _sentence(state, instance, "step", outcome=_outcome(instance), **known)
    if isinstance(instance, Scope):
        return title, "\n\n".join(
            "\n".join(filter(None, _told(state, c))) for c in _objecting(state, instance)
        )
    return title, _output(result)


def _files(folder: Path) -> dict[str, Path]:
    """What was written down already, by its address."""
    found: dict[str, Path] = {}
    for path in sorted(folder.glob("*.md")):
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            found[file.readline().removeprefix("# ").rstrip("\n")] = path
    return found


def _write(site: Site, path: Path, entry: Entry) -> Path:
    text = site.mask.text(f"# {entry.source}\n\n{entry.text}\n")
    write_bytes(path, text.encode("utf-8", "surrogateescape"))
    return path


def _read(state: State, leaf: Leaf, source: str, path: Path | None) -> Entry:
    if path is None:
        # Of several merges that were refused the core keeps the words of the last; only a clash is told without a file.
        return Entry(source, _sentence(state, leaf, "clash"))
    text = path.read_text("utf-8", "surrogateescape").partition("\n\n")[2]
    title, _, body = text.strip().partition("\n\n")
    return Entry(source, title, body)
