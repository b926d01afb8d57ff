"""Watches the triggers of a project: finds their events, stores them, and starts runs for those that wait.

Rule: an event is stored before anything is done for it, together with how far its trigger has looked. A process that is
killed between any two steps loses no event and starts no run twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Final

from podium.app.triggers.definitions import CommittedTriggers, DefinedTrigger, TriggerReader
from podium.app.triggers.event_sources import cron_events, file_events, ref_events
from podium.app.triggers.polled_commands import CommandPoller
from podium.app.triggers.start import EventStarter, TriggerLine
from podium.core.types import Millis
from podium.errors import ConfigurationError, PodiumError
from podium.fast_dataclass import dataclass
from podium.ports.store import TriggerEvent

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.app.triggers.webhooks import WebhookListener
    from podium.git.repository import Repository

LOOK_MS: Final = 1000


@dataclass(slots=True)
class TriggerWatch:
    project: Project
    repository: Repository
    branch: str | None = None
    listener: WebhookListener | None = None
    _reader: TriggerReader | None = None
    _starter: EventStarter | None = None
    _commands: CommandPoller | None = None
    _looked: Millis = Millis(0)
    _reported: dict[str, str] = field(default_factory=dict)

    @property
    def reader(self) -> TriggerReader:
        if self._reader is None:
            self._reader = TriggerReader(self.project, self.repository, self.branch)
        return self._reader

    def look(self, now: Millis, *, anew: bool = False) -> Iterator[TriggerLine]:
        """What was done since the last look, which was a second ago or more, unless it looks `anew`."""
        if self.listener is not None:
            self.listener.record(self.project.runtime)
        if 0 <= now - self._looked < LOOK_MS and not anew:
            return
        self._looked = now
        try:
            committed = self.reader.read()
        except ConfigurationError as error:
            yield from self._report({"": error.message})
            return
        yield from self._report(dict(committed.refused))
        if self.listener is not None:
            self.listener.triggers = {each.key: each for each in committed.triggers}
        yield from self._find(committed, now)
        if self._starter is None:
            self._starter = EventStarter(self.project, self.repository)
        yield from self._starter.start(committed, now)

    def _find(self, committed: CommittedTriggers, now: Millis) -> Iterator[TriggerLine]:
        """Store the new events of all triggers."""
        problems = {}
        for defined in committed.triggers:
            runtime = self.project.runtime
            try:
                events, mark = self._events(defined, runtime.trigger_mark(*defined.key), now)
            except (PodiumError, OSError) as error:
                # A file may vanish while it is looked at; the others are watched all the same.
                problems[defined.label] = error.message if isinstance(error, PodiumError) else str(error)
                continue
            if events or mark is not None:
                runtime.record_events(events, {} if mark is None else {defined.key: mark})
        yield from self._report(problems, of="trigger")

    def _events(
        self, defined: DefinedTrigger, mark: str | None, now: Millis
    ) -> tuple[list[TriggerEvent], str | None]:
        """The new events, and the new mark if it differs."""
        match defined.trigger.source:
            case "cron":
                events, new_mark = cron_events(defined, mark, now)
                # Written only with an event: until then, the old mark finds the same times.
                return events, new_mark if events or mark is None else None
            case "file":
                events, new_mark = file_events(self.project, defined, mark, now)
            case "ref":
                events, new_mark = ref_events(self.project, self.repository, defined, mark, now)
            case "command":
                if self._commands is None:
                    self._commands = CommandPoller(self.project)
                return self._commands.events(defined, now), None
            case _:
                return [], None
        return events, None if new_mark == mark else new_mark

    @property
    def is_busy(self) -> bool:
        """Whether a command is still running, whose events are not known yet."""
        return self._commands is not None and self._commands.is_busy

    def close(self) -> None:
        if self.listener is not None:
            self.listener.close()
        if self._commands is not None:
            self._commands.close()

    def _report(self, problems: Mapping[str, str], *, of: str = "file") -> Iterator[TriggerLine]:
        """Report each problem once, until it is gone or another one."""
        for name, message in problems.items():
            if self._reported.get(f"{of} {name}") != message:
                text = f"{name}: {message}" if name else message
                yield TriggerLine("refused", text, name)
        others = {key: text for key, text in self._reported.items() if not key.startswith(f"{of} ")}
        self._reported = {**others, **{f"{of} {name}": text for name, text in problems.items()}}
