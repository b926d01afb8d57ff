"""Raise a limit that has ended a run, and continue it in a new run, without an edit of its file.

A limit of the run is a promise to the person who pays, so only a person raises it: never a process of a step, never for a
run that was started without people, and beyond what the user's or the project's configuration allows only if they say so.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from podium.app.run.rerun import RerunPreview, preview_rerun
from podium.app.run.start import RunSource, load_source
from podium.core.events import RunEnded, RunStarted
from podium.core.hash_chain import RunId
from podium.core.payloads import RaisedLimit
from podium.core.policy import Limits
from podium.core.queries.computed import entered
from podium.errors import ConfigurationError
from podium.process.procfs import has_marked_ancestor
from podium.runtime.records import events_of
from podium.views.run.why import limit_of_message
from podium.workflow.merge.config_layers import MEASURES
from podium.workflow.merge.sources import gather
from podium.workflow.problems import did_you_mean
from podium.workflow.schema.fields import InvalidValue
from podium.workflow.source import yaml
from podium.workflow.source.nodes import Node, fields

if TYPE_CHECKING:
    from podium.app.project import Project

UNITS: Final = ("usd", "tokens", "calls", "time", "transitions", "members")


def preview_raise(
    project: Project, run: RunId, pairs: Iterable[str], *, by: str, why: str = "", over_ceiling: bool = False
) -> RerunPreview:
    """What a new run with these limits (`usd=5`) would reuse and repeat; raises if the limits may not be raised."""
    check_may_raise(project, run)
    source = RunSource.of(project.run(run))
    values = dict(_parse(pair) for pair in pairs)
    if not values:
        raise ConfigurationError("no limit to raise", hint=f"name one, such as: podium raise {run} usd=5")
    current = _limits_in_force(project, run, source)
    for unit, value in values.items():
        _check_higher(unit, value, current)
    if not over_ceiling:
        _check_ceilings(project, source, values)
    raised = tuple(RaisedLimit(unit, str(value), by, why) for unit, value in values.items())
    limits = {**source.settings.get("limits", {}), **values}
    return preview_rerun(project, run, settings={**source.settings, "limits": limits}, raised=raised)


def _limits_in_force(project: Project, run: RunId, source: RunSource) -> Limits:
    started = events_of(project.runtime.events(run))[0]
    assert isinstance(started, RunStarted)
    return entered(load_source(project, source).workflow, started.inputs).limits


def check_may_raise(project: Project, run: RunId) -> None:
    """Raises unless the run has reached a limit of its own, and a person may raise it."""
    if has_marked_ancestor(os.getpid()):
        raise ConfigurationError(
            "a process of a step cannot raise the limits of a run", hint="ask a person to raise it"
        )
    events = events_of(project.runtime.events(run))
    ended = events[-1] if events else None
    if not isinstance(ended, RunEnded) or ended.status != "limited":
        status = project.run(run).status
        raise ConfigurationError(
            f"run {run} has not ended at a limit: {status}",
            hint=f"see: podium show {run}",
            code="not_limited",
        )
    owner = limit_of_message(ended.message)
    if owner is not None and owner.step:
        raise ConfigurationError(
            f'run {run} reached a limit of its step "{owner.step}", not of the run',
            hint=f"raise `limits` of that step in the file, then run: podium resume {run}",
            code="not_limited",
        )
    started = events[0]
    assert isinstance(started, RunStarted)
    if started.no_human:
        raise ConfigurationError(
            f"run {run} was started with --no-human, so its limits stay as they are",
            hint="raise them in the file or by --set, and start a new run",
        )


def _parse(pair: str) -> tuple[str, Any]:
    unit, sign, text = pair.partition("=")
    if not sign or not text:
        raise ConfigurationError(f"{pair!r} is not a limit", hint="write unit=value, such as usd=5")
    if unit not in UNITS:
        hint = did_you_mean(unit, UNITS) or f"one of {', '.join(UNITS)}"
        raise ConfigurationError(f'"{unit}" is not a limit that can be raised', hint=hint)
    value = yaml.load(text, name=unit).value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ConfigurationError(f"{unit} must be a number, not {text!r}")
    return unit, value


def _check_higher(unit: str, value: Any, current: Limits) -> None:
    """Raises unless the new value is above the limit in force."""
    amount, limit = _measure(unit, value), getattr(current, unit)
    scale = 1_000_000 if unit == "usd" else 1
    if limit is None:
        raise ConfigurationError(f"the run has no limit on {unit}, so there is nothing to raise")
    if round(amount * scale) <= limit:
        now = f"{limit / 1_000_000:g}" if unit == "usd" else f"{limit // 1000}s" if unit == "time" else limit
        raise ConfigurationError(f"{unit}={value} is not above the limit in force, {now}")


def _measure(unit: str, value: Any) -> float:
    measure: Callable[[Any], float] = MEASURES.get(unit, float)
    try:
        return measure(value)
    except (InvalidValue, ValueError, TypeError) as error:
        expected = error if isinstance(error, InvalidValue) else "a number"
        raise ConfigurationError(f"{unit} must be {expected}, not {value!r}") from error


def _check_ceilings(project: Project, source: RunSource, values: Mapping[str, Any]) -> None:
    """Raises for a value beyond what the configuration of the user or of the project allows."""
    sources = gather(project.root / source.file, project_root=project.root, user_dir=project.user_dir)
    for unit, value in values.items():
        for bound in sources.bounds:
            ceiling = _ceiling(bound, unit)
            if ceiling is not None and _measure(unit, value) > _measure(unit, ceiling.value):
                raise ConfigurationError(
                    f"{unit}={value} is above the ceiling {ceiling.value}, set by {ceiling.place}",
                    hint="if you may raise it: --over-ceiling",
                )


def _ceiling(bound: Node, unit: str) -> Node | None:
    limits = fields(bound).get("limits")
    return None if limits is None else fields(limits).get(unit)
