"""Compiles leaves: a command, a question, a check, publishing, waiting; the same for a step and a gate."""

from __future__ import annotations

from typing import Any

from podium.core.model import Command, Fields, Git, Human, Tests, Wait
from podium.core.policy import Oversight
from podium.core.types import Millis
from podium.workflow.compile.values import CompileContext, present_fields
from podium.workflow.defaults import POLL_EVERY
from podium.workflow.schema import parts
from podium.workflow.schema.parts import Script
from podium.workflow.schema.step import StepOrGate
from podium.workflow.schema.verb_keys import WAIT_FORMS


def command(context: CompileContext, raw: StepOrGate) -> Command:
    script = raw.run if isinstance(raw.run, Script) else None
    words = () if isinstance(raw.run, Script) or raw.run is None else raw.run
    return Command(
        argv=context.argv(words, raw.at("run")),
        script=script.script if script is not None else None,
        shell=script.shell if script is not None else None,
        stdin=context.value(raw.stdin, raw.at("stdin")),
        junit=context.value(raw.junit, raw.at("junit")),
        coverage=_coverage(context, raw.coverage),
        must_fail_before=raw.must_fail_before,
        exit_codes=raw.exit_codes,
        tests=_tests(context, raw.tests),
    )


def _tests(context: CompileContext, raw: bool | parts.Tests | None) -> Tests | None:
    if not isinstance(raw, parts.Tests):
        return None if raw is None else Tests(counts=raw)
    return Tests(
        context.values(raw.files, raw.at("files")),
        context.values(raw.may_change, raw.at("may_change")),
        min_new=raw.min_new or 0,
    )


def _coverage(context: CompileContext, raw: parts.Coverage | None) -> Fields | None:
    if raw is None:
        return None
    return present_fields({"report": context.value(raw.report, raw.at("report")), "min": raw.min})


def human(context: CompileContext, raw: StepOrGate, *, answers: bool) -> Human:
    return Human(
        question=context.prompt(raw.human or "", raw.at("human")),
        oversight=oversight(context, raw, default="human"),
        answers=answers,
    )


def oversight(context: CompileContext, raw: StepOrGate, *, default: str) -> Oversight:
    """Notifications go to the step's channels, else to the file's."""
    channels = raw.notify if raw.notify is not None else context.source.file.notify
    return Oversight(
        level=context.value(raw.level or default, raw.at("level")),
        by=context.names(raw.by, raw.at("by")),
        approvals=raw.approvals or 1,
        veto=context.duration(raw.veto, raw.at("veto"), unknown=0) or Millis(0),
        notify=channels,
        remind=context.duration(raw.remind, raw.at("remind")),
        escalate_after=None
        if raw.escalate is None
        else context.duration(raw.escalate.after, raw.escalate.at("after")),
        escalate_to=() if raw.escalate is None else context.names(raw.escalate.to, raw.escalate.at("to")),
        show=context.values(raw.show or (), raw.at("show")),
        presence=bool(raw.presence),
    )


def git(context: CompileContext, raw: parts.Git) -> Git:
    return Git(
        land=context.value(raw.land, raw.at("land")),
        message=context.value(raw.message, raw.at("message")),
        how=raw.how or "squash",
        branch=context.value(raw.branch, raw.at("branch")),
        push=context.value(raw.push, raw.at("push")),
        pull_request=raw.pull_request,
        stash=context.value(raw.stash, raw.at("stash")),
    )


def wait(context: CompileContext, raw: parts.Wait) -> Wait:
    form: Any = next(form for form in WAIT_FORMS if raw.get(form) is not None)
    detail: dict[str, Any] = {}
    if form == "poll":
        every = POLL_EVERY if raw.every is None else context.duration(raw.every, raw.at("every"))
        detail = {
            "argv": context.argv(raw.poll or (), raw.at("poll")),
            "every": every,
            "pending": raw.pending,
        }
    elif form not in {"timer", "until_time"}:
        detail = {
            form: context.value(raw.get(form), raw.at(form)),
            "branch": context.value(raw.branch, raw.path),
        }
    timer = context.duration(raw.timer, raw.at("timer"), unknown=0)
    return Wait(form, present_fields(detail), timer, _minute_of_day(raw.until_time))


def _minute_of_day(text: str | None) -> int | None:
    if text is None:
        return None
    hours, minutes = text.split(":")
    return int(hours) * 60 + int(minutes)
