"""Finds the events of triggers that watch a time, files, or refs. An event that was found before is stored only once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from podium.app.triggers.definitions import DefinedTrigger
from podium.core.types import Millis
from podium.errors import PathViolation
from podium.files import bounded_json
from podium.files.inside import open_inside
from podium.git.branches.committed_files import landing_of, tips
from podium.ports.store import TriggerEvent
from podium.views.format import iso
from podium.workflow.cron import parse_cron, read_zone

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.git.repository import Repository

MAX_CATCH_UP: Final = 1000
"""Missed times that `catch_up: all` starts at most."""
GRACE_MS: Final = 60_000
"""A time that is older was missed."""
MAX_FILES: Final = 10_000
MAX_FILE: Final = 64 << 20
SETTLE_MS: Final = 1000
"""A file that was changed later may still be written to."""
BRANCH: Final = "refs/heads/"
THERE_BEFORE: Final = "it was there when the trigger was first seen"


def new_event(
    defined: DefinedTrigger, name: str, at: Millis, facts: Mapping[str, Any], *, dropped: str = ""
) -> TriggerEvent:
    """`at` is when it happened; `facts` are what only this kind of event has. Raises ValueError if they nest too deeply."""
    time, name = iso(at), bounded_json.without_lone_surrogates(name)
    facts = bounded_json.storable(dict(facts))
    body = {"id": name, "trigger": defined.name, "time": time, "day": time[:10], **facts}
    return TriggerEvent(
        defined.file,
        defined.name,
        name,
        at,
        {} if dropped else body,
        "dropped" if dropped else "waiting",
        reason=dropped,
    )


def cron_events(defined: DefinedTrigger, mark: str | None, now: Millis) -> tuple[list[TriggerEvent], str]:
    """The planned times since the mark, as `catch_up` wants them, and the new mark."""
    if mark is None:
        return [], str(now)
    last = int(mark)
    if now <= last:
        # The clock was set back: what has happened already does not happen again.
        return [], mark
    trigger = defined.trigger
    cron, zone = parse_cron(trigger.cron or ""), read_zone(trigger.zone or "UTC")
    times = cron.times_back(_datetime(now), _datetime(Millis(last)), zone)
    planned = [Millis(int(at.timestamp() * 1000)) for at in islice(times, MAX_CATCH_UP)]
    if trigger.catch_up == "none":
        planned = [at for at in planned if at >= now - GRACE_MS]
    elif trigger.catch_up != "all":
        planned = planned[:1]
    return [new_event(defined, _minute(at), at, {}) for at in reversed(planned)], str(now)


def next_time(defined: DefinedTrigger, now: Millis) -> Millis | None:
    trigger = defined.trigger
    zone = read_zone(trigger.zone or "UTC")
    at = parse_cron(trigger.cron or "").next_time(_datetime(now), zone)
    return None if at is None else Millis(int(at.timestamp() * 1000))


def _minute(at: Millis) -> str:
    return _datetime(at).strftime("%Y-%m-%dT%H:%MZ")


def _datetime(at: Millis) -> datetime:
    return datetime.fromtimestamp(at / 1000, UTC)


def file_events(
    project: Project, defined: DefinedTrigger, mark: str | None, now: Millis
) -> tuple[list[TriggerEvent], str]:
    """Each content of each file is one event. The mark has the stamps of the files, so that unchanged ones are not read."""
    previous: dict[str, list[int]] = {} if mark is None else json.loads(mark)
    stamps: dict[str, list[int]] = {}
    events: list[TriggerEvent] = []
    for path in islice(_matching(project.root, defined.trigger.file or ()), MAX_FILES):
        name = path.relative_to(project.root).as_posix()
        status = path.lstat()
        stamp = [status.st_mtime_ns, status.st_size]
        if stamp != previous.get(name) and 0 <= now - status.st_mtime_ns // 1_000_000 < SETTLE_MS:
            continue
        stamps[name] = stamp
        if stamp == previous.get(name):
            continue
        digest = _hash(project.root, name)
        if digest is not None:
            facts = {"path": name, "hash": digest}
            dropped = THERE_BEFORE if mark is None else ""
            events.append(new_event(defined, f"{name}@{digest}", now, facts, dropped=dropped))
    return events, json.dumps(stamps)


def _matching(root: Path, globs: tuple[str, ...]) -> Iterator[Path]:
    seen: set[Path] = set()
    for glob in globs:
        for path in sorted(root.glob(glob)):
            parts = path.relative_to(root).parts
            # A link could name a file outside, and Podium's own folder changes all the time.
            if (
                path not in seen
                and parts[0] not in (".git", ".podium")
                and path.is_file()
                and not path.is_symlink()
            ):
                seen.add(path)
                yield path


def _hash(root: Path, name: str) -> str | None:
    """None if the file has vanished, or is too large to be a message."""
    digest, size = hashlib.sha256(), 0
    try:
        with open_inside(root, name, "rb") as file:
            while block := file.read(1 << 20):
                size += len(block)
                if size > MAX_FILE:
                    return None
                digest.update(block)
    except (OSError, PathViolation):
        return None
    return digest.hexdigest()


def ref_events(
    project: Project, repository: Repository, defined: DefinedTrigger, mark: str | None, now: Millis
) -> tuple[list[TriggerEvent], str]:
    """Each commit of each ref is one event. The mark has the commits that the refs had."""
    previous: dict[str, str] = {} if mark is None else json.loads(mark)
    current = dict(tips(repository, defined.trigger.ref or ()))
    events = []
    for ref, commit in current.items():
        if previous.get(ref) == commit:
            continue
        branch = ref.removeprefix(BRANCH) if ref.startswith(BRANCH) else ""
        dropped = THERE_BEFORE if mark is None else _own_landing(project, repository, defined, commit)
        facts = {"ref": ref, "branch": branch, "commit": commit}
        events.append(new_event(defined, f"{ref}@{commit}", now, facts, dropped=dropped))
    return events, json.dumps(current)


def _own_landing(project: Project, repository: Repository, defined: DefinedTrigger, commit: str) -> str:
    """Why a commit starts nothing: a run of the same workflow landed it. Else runs would start each other without end."""
    run = (landing_of(repository, commit) or "").partition("/")[0]
    heads = [head for head in project.runtime.heads() if head.run == run]
    is_own = any(json.loads(head.source)["file"] == defined.file for head in heads)
    return f"run {run} of the same workflow landed it" if is_own else ""
