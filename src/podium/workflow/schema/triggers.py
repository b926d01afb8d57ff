"""What starts runs of a workflow while `podium serve` watches, as it is written in the file."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from podium.workflow.schema.fields import InvalidValue, Raw, Scalar, Short
from podium.workflow.schema.parts import Texts
from podium.workflow.schema.scalars import (
    TEXT,
    TEXTS,
    Duration,
    Expression,
    Network,
    Number,
    Positive,
    TextList,
)

SOURCES: Final = ("cron", "file", "ref", "webhook", "command")
"""A trigger has exactly one of them."""


def cron_line(value: Any) -> str:
    # Few files have one, and the calendar takes time to import.
    from podium.workflow.cron import CronError, parse_cron

    if not isinstance(value, str):
        raise InvalidValue('a cron line such as "0 3 * * 1-5"')
    try:
        parse_cron(value)
    except CronError as error:
        raise InvalidValue(f'a cron line such as "0 3 * * 1-5": {error}') from None
    return value


def time_zone(value: Any) -> str:
    from podium.workflow.cron import CronError, read_zone

    if not isinstance(value, str):
        raise InvalidValue("a time zone such as Europe/Berlin")
    try:
        read_zone(value)
    except CronError as error:
        raise InvalidValue(f"a time zone such as Europe/Berlin: {error}") from None
    return value


CronLine: TypeAlias = Annotated[str, Scalar(cron_line, {"type": "string"})]
Zone: TypeAlias = Annotated[str, Scalar(time_zone, {"type": "string"})]


class Webhook(Raw):
    noun: ClassVar[str] = "webhook"

    secret: str
    scheme: Literal["github", "standard"] = "github"
    events: TextList = ()


class PolledCommand(Raw):
    """A command that prints a line for each event; the keys are those of a `run` step."""

    noun: ClassVar[str] = "command"

    run: str | Texts
    network: Network | None = None
    secrets: Texts = ()
    env: Texts = ()
    timeout: Duration | None = None


class PerDay(Raw):
    """The most that a trigger may start in a day of UTC."""

    noun: ClassVar[str] = "per_day"

    usd: Number | None = None
    runs: Positive | None = None


class Trigger(Raw):
    noun: ClassVar[str] = "trigger"

    cron: CronLine | None = None
    zone: Zone | None = None
    catch_up: Literal["last", "none", "all"] | None = None
    file: TextList | None = None
    ref: TextList | None = None
    webhook: Annotated[Webhook, Short(lambda value: {"secret": value}, {"type": "string"})] | None = None
    command: (
        Annotated[PolledCommand, Short(lambda value: {"run": value}, {"anyOf": [TEXT, TEXTS]})] | None
    ) = None
    every: Duration | None = None
    inputs: dict[str, Any] | None = None
    skip_if: Expression | None = None
    group: str | None = None
    when_busy: Literal["wait", "skip", "cancel"] | None = None
    per_day: PerDay | None = None

    @property
    def source(self) -> str:
        """What it watches; the loader has checked that there is exactly one."""
        return next(name for name in SOURCES if self.get(name) is not None)
