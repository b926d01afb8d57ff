"""Leaves: a command, a question, a check, publishing, waiting. The same for a step and for a gate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podium.core.model import Command, Fields, Git, Human, Oversight, Wait
from podium.core.types import Millis
from podium.workflow.compile.values import CompileContext, fields
from podium.workflow.defaults import POLL_EVERY
from podium.workflow.schema import parts
from podium.workflow.schema.fields import DocPath
from podium.workflow.schema.file import Role
from podium.workflow.schema.parts import Script
from podium.workflow.schema.step import StepOrGate
from podium.workflow.schema.verb_keys import WAIT_FORMS


def command(site: CompileContext, raw: StepOrGate) -> Command:
    script = raw.run if isinstance(raw.run, Script) else None
    words = () if isinstance(raw.run, Script) or raw.run is None else raw.run
    return Command(
        argv=site.argv(words, raw.at("run")),
        script=script.script if script is not None else None,
        shell=script.shell if script is not None else None,
        stdin=site.value(raw.stdin, raw.at("stdin")),
        junit=site.value(raw.junit, raw.at("junit")),
        coverage=_coverage(site, raw.coverage),
        must_fail_before=raw.must_fail_before,
        exit_codes=raw.exit_codes,
    )


def _coverage(site: CompileContext, raw: parts.Coverage | None) -> Fields | None:
    if raw is None:
        return None
    return fields({"report": site.value(raw.report, raw.at("report")), "min": raw.min})


def human(site: CompileContext, raw: StepOrGate, *, answers: bool) -> Human:
    return Human(
        question=site.prompt(raw.human or "", raw.at("human")),
        oversight=oversight(site, raw, default="human"),
        answers=answers,
    )


def oversight(site: CompileContext, raw: StepOrGate, *, default: str) -> Oversight:
    """Channels are the step's, else the file's own."""
    common = site.context.file.notify
    channels = raw.notify if raw.notify is not None else (common if isinstance(common, tuple) else ())
    return Oversight(
        level=site.value(raw.level or default, raw.at("level")),
        by=raw.by or (),
        approvals=raw.approvals or 1,
        veto=raw.veto or Millis(0),
        notify=channels,
        remind=raw.remind,
        escalate_after=raw.escalate.after if raw.escalate is not None else None,
        escalate_to=raw.escalate.to if raw.escalate is not None else (),
        show=site.values(raw.show or (), raw.at("show")),
    )


def git(site: CompileContext, raw: parts.Git) -> Git:
    return Git(
        land=site.value(raw.land, raw.at("land")),
        message=site.value(raw.message, raw.at("message")),
        how=raw.how or "squash",
        branch=site.value(raw.branch, raw.at("branch")),
        push=site.value(raw.push, raw.at("push")),
    )


def wait(site: CompileContext, raw: parts.Wait) -> Wait:
    what: Any = next(form for form in WAIT_FORMS if raw.get(form) is not None)
    detail: dict[str, Any] = {}
    if what == "poll":
        every = raw.every if raw.every is not None else POLL_EVERY
        detail = {"argv": site.argv(raw.poll or (), raw.at("poll")), "every": every, "pending": raw.pending}
    elif what not in {"timer", "until_time"}:
        detail = {what: site.value(raw.get(what), raw.at(what)), "branch": site.value(raw.branch, raw.path)}
    return Wait(what, fields(detail), raw.timer, _minute_of_day(raw.until_time))


def _minute_of_day(text: str | None) -> int | None:
    if text is None:
        return None
    hours, minutes = text.split(":")
    return int(hours) * 60 + int(minutes)


def retry_layers(raw: StepOrGate, role: Role | None = None) -> Iterator[tuple[parts.Retry | str, DocPath]]:
    if role is not None and role.retry is not None:
        yield role.retry, role.at("retry")
    if raw.retry is not None:
        yield raw.retry, raw.at("retry")
