"""Limits, breaker, retry, estimates and policies: from what was written, on top of what is shipped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from podium.core.policy import (
    Backoff,
    Breaker,
    Estimate,
    Exhausted,
    Failures,
    Limits,
    PolicyRule,
    Retry,
    Stop,
)
from podium.core.types import MicroUsd, Millis
from podium.workflow.compile.values import CompileContext
from podium.workflow.defaults import BREAKER, ESTIMATE, PRESETS
from podium.workflow.schema import file, parts
from podium.workflow.schema.fields import DocPath, known_keys
from podium.workflow.schema.step import Step as RawStep


def micro(usd: float) -> MicroUsd:
    return MicroUsd(round(usd * 1_000_000))


def limits(raw: parts.Limits | None, base: Limits) -> Limits:
    """Each unit that was written, on top of `base`."""
    if raw is None:
        return base
    said = {name: getattr(raw, name) for name in known_keys(parts.Limits) if raw.has(name)}
    if said.get("usd") is not None:
        said["usd"] = micro(said["usd"])
    return replace(base, **said)


def breaker(raw: parts.Breaker | None) -> Breaker:
    """A rule that is written as null is switched off."""
    if raw is None:
        return BREAKER
    said: dict[str, Any] = {name: getattr(raw, name) for name in raw.written_keys()}
    if raw.usd is not None:
        said["usd"] = micro(raw.usd)
    if raw.failures is not None:
        said["failures"] = Failures(raw.failures.count, raw.failures.within)
    return replace(BREAKER, **said)


def policies(site: CompileContext) -> Mapping[str, tuple[PolicyRule, ...]]:
    return MappingProxyType(
        {
            name: tuple(_policy_rule(site, rule) for rule in rules)
            for name, rules in site.context.file.policies.items()
        }
    )


def _policy_rule(site: CompileContext, rule: file.PolicyRule) -> PolicyRule:
    return PolicyRule(
        level=rule.level,
        when=site.optional(rule.when, rule.at("when")),
        by=rule.by,
        approvals=rule.approvals,
        veto=rule.veto or Millis(0),
    )


def retry(site: CompileContext, layers: Iterator[tuple[parts.Retry | str, DocPath]], base: Retry) -> Retry:
    """`layers` are the role's and the step's own, the nearest last."""
    for raw, path in layers:
        base = _retry_on(site, raw, path, base)
    return base


def _retry_on(site: CompileContext, raw: parts.Retry | str, path: DocPath, base: Retry) -> Retry:
    if isinstance(raw, parts.Retry):
        return _written_retry(site, raw, base)
    own = site.context.file.retries.get(raw)
    if own is not None:
        return _written_retry(site, own, PRESETS["default"])
    preset = PRESETS.get(raw)
    if preset is None:
        site.problem(7, path, f'no retry preset "{raw}"')
    return preset or base


def _written_retry(site: CompileContext, raw: parts.Retry, base: Retry) -> Retry:
    said: dict[str, Any] = {
        name: getattr(raw, name)
        for name in ("transient", "repair", "visits", "on_exhausted")
        if getattr(raw, name) is not None
    }
    if raw.attempts is not None:
        said["attempts"] = site.count(raw.attempts, raw.at("attempts"))
    if raw.backoff is not None:
        said["backoff"] = _backoff(raw.backoff, base.backoff)
    if raw.stop is not None:
        said["stop"] = Stop(raw.stop.similar, raw.stop.plateau)
    if raw.degrade is not None:
        said["degrade"] = tuple(
            site.prompt(text, raw.at("degrade", number)).text for number, text in enumerate(raw.degrade)
        )
    return replace(base, **said, stated=base.stated or raw.on_exhausted is not None)


def _backoff(raw: parts.Backoff, base: Backoff) -> Backoff:
    return Backoff(
        first=base.first if raw.first is None else raw.first,
        times=base.times if raw.times is None else raw.times,
        max=base.max if raw.max is None else raw.max,
        jitter=base.jitter if raw.jitter is None else raw.jitter,
    )


def is_provided_for(step: RawStep) -> bool:
    """Whether a failure here has somewhere to go, so that no person need be asked about it."""
    return bool({"failed", "partial", "else"} & set(step.on)) or step.pass_ not in {None, "all"}


def exhausted_default(site: CompileContext, found: Retry) -> Retry:
    """For an agent step: a person is asked, unless the failure is provided for or the file says otherwise."""
    if found.stated:
        return found
    word: Exhausted = "fail" if site.provided else "human"
    return replace(found, on_exhausted=word)


def estimate(site: CompileContext, step: parts.Estimate | None, agent: str | None) -> Estimate:
    configured = site.context.file.agents.get(agent) if agent is not None else None
    found = ESTIMATE
    for raw in (configured.estimate if configured is not None else None, step):
        if raw is not None:
            found = Estimate(
                usd=ESTIMATE.usd if raw.usd is None else micro(raw.usd),
                tokens=ESTIMATE.tokens if raw.tokens is None else raw.tokens,
            )
    most = configured.max_usd if configured is not None else None
    return found if most is None else replace(found, cap=micro(most))
