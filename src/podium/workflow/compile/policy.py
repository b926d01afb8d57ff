"""Compiles limits, breaker, retry, estimates and policies on top of the shipped defaults."""

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
    Reserve,
    Retry,
    Stop,
    Upgrade,
)
from podium.core.queries.computed import LIMIT_UNITS
from podium.core.types import MicroUsd, Millis
from podium.workflow.agent_capabilities import HUMAN
from podium.workflow.compile.values import CompileContext
from podium.workflow.defaults import BREAKER, ESTIMATE, LIMITS, PRESETS
from podium.workflow.schema import file, parts
from podium.workflow.schema.fields import DocPath
from podium.workflow.schema.step import Step as RawStep


def micro_usd(usd: float) -> MicroUsd:
    return MicroUsd(round(usd * 1_000_000))


def limits(context: CompileContext, raw: parts.Limits | None, base: Limits) -> Limits:
    """The limits in `raw` on top of `base`."""
    if raw is None:
        return base
    return replace(base, **{name: _limit(context, raw, name) for name in LIMIT_UNITS if raw.has(name)})


def _limit(context: CompileContext, raw: parts.Limits, name: str) -> Any:
    """One limit; `at_most` bounds a computed one, also where its value is not known yet."""
    value, most = raw.get(name), None if raw.at_most is None else raw.at_most.get(name)
    if name == "usd":
        value = micro_usd(value) if isinstance(value, int | float) else value
        most = None if most is None else micro_usd(most)
    return context.setting(value, raw.at(name), LIMIT_UNITS[name], most=most, unknown=most)


def limits_of_run(context: CompileContext, raw: parts.TopLimits | None, *, has_finally: bool) -> Limits:
    """The limits of a workflow on top of the shipped ones; without `finally` nothing is reserved for it."""
    whole = limits(context, raw, LIMITS)
    if raw is not None and raw.per is not None:
        whole = replace(whole, per=raw.per)
    own = raw.finally_ if raw is not None and has_finally else None
    if own is None:
        return whole
    reserve = Reserve(micro_usd(own.usd or 0), own.tokens or 0, own.calls or 0)
    return replace(whole, finally_=reserve)


def breaker(raw: parts.Breaker | None) -> Breaker:
    """The breaker on top of the default; a rule with the value null is disabled."""
    if raw is None:
        return BREAKER
    values: dict[str, Any] = {name: getattr(raw, name) for name in raw.written_keys()}
    if raw.usd is not None:
        values["usd"] = micro_usd(raw.usd)
    if raw.failures is not None:
        values["failures"] = Failures(raw.failures.count, raw.failures.within)
    return replace(BREAKER, **values)


def policies(context: CompileContext) -> Mapping[str, tuple[PolicyRule, ...]]:
    return MappingProxyType(
        {
            name: tuple(
                _policy_rule(context, rule, f"policy {name}, rule {number} of {len(rules)}")
                for number, rule in enumerate(rules, 1)
            )
            for name, rules in context.source.file.policies.items()
        }
    )


def _policy_rule(context: CompileContext, rule: file.PolicyRule, place: str) -> PolicyRule:
    return PolicyRule(
        level=rule.level,
        when=context.optional(rule.when, rule.at("when")),
        by=context.names(rule.by, rule.at("by")),
        approvals=rule.approvals,
        veto=context.duration(rule.veto, rule.at("veto"), unknown=0) or Millis(0),
        presence=rule.presence,
        text=f"{place}: {'no other rule holds' if rule.when is None else rule.when}",
    )


def retry(
    context: CompileContext,
    layers: Iterator[tuple[parts.Retry | str, DocPath]],
    base: Retry,
    *,
    upgrades: bool = False,
) -> Retry:
    """`layers` are the role's and the step's settings, the nearest last; `upgrades` says that another agent may take over."""
    for raw, path in layers:
        base = _apply_layer(context, raw, path, base)
    return base if upgrades else replace(base, upgrade=())


def _apply_layer(context: CompileContext, raw: parts.Retry | str, path: DocPath, base: Retry) -> Retry:
    if isinstance(raw, parts.Retry):
        return _merge_retry(context, raw, base)
    own = context.source.file.retries.get(raw)
    if own is not None:
        return _merge_retry(context, own, PRESETS["default"])
    preset = PRESETS.get(raw)
    if preset is None:
        context.problem(7, path, f'retry preset "{raw}" does not exist')
    return preset or base


def _merge_retry(context: CompileContext, raw: parts.Retry, base: Retry) -> Retry:
    values: dict[str, Any] = {
        name: getattr(raw, name)
        for name in ("per", "transient", "repair", "visits", "on_exhausted")
        if getattr(raw, name) is not None
    }
    if raw.attempts is not None:
        values["attempts"] = context.count(raw.attempts, raw.at("attempts"))
    if raw.backoff is not None:
        values["backoff"] = _backoff(raw.backoff, base.backoff)
    if raw.stop is not None:
        values["stop"] = Stop(raw.stop.similar, raw.stop.plateau)
    if raw.degrade is not None:
        values["degrade"] = tuple(
            context.prompt(text, raw.at("degrade", number)).text for number, text in enumerate(raw.degrade)
        )
    if raw.upgrade is not None:
        values["upgrade"] = tuple(_upgrade(context, entry) for entry in raw.upgrade)
    return replace(base, **values, stated=base.stated or raw.on_exhausted is not None)


def _upgrade(context: CompileContext, raw: parts.Upgrade) -> Upgrade:
    own = raw.agent is not None or raw.estimate is not None
    declared = estimate(context, raw.estimate, raw.agent, has_fallback=False) if own else None
    return Upgrade(raw.after, raw.agent, raw.model, declared)


def _backoff(raw: parts.Backoff, base: Backoff) -> Backoff:
    return Backoff(
        first=base.first if raw.first is None else raw.first,
        times=base.times if raw.times is None else raw.times,
        max=base.max if raw.max is None else raw.max,
        jitter=base.jitter if raw.jitter is None else raw.jitter,
    )


def handles_failure(step: RawStep) -> bool:
    """Whether the step routes a failure or needs only some members to pass, so that no person has to be asked."""
    return bool({"failed", "partial", "else"} & set(step.on)) or step.pass_ not in {None, "all"}


def with_exhausted_default(context: CompileContext, settings: Retry) -> Retry:
    """For an agent step: asks a person after the last attempt, unless the failure is handled or the file says otherwise."""
    if settings.stated:
        return settings
    word: Exhausted = "fail" if context.failure_handled else "human"
    return replace(settings, on_exhausted=word)


def estimate(
    context: CompileContext, step: parts.Estimate | None, agent: str | None, *, has_fallback: bool
) -> Estimate:
    """What a call is taken to use: as declared; nothing of an agent that is free, unless another may take its place."""
    configured = context.source.file.agents.get(agent) if agent is not None else None
    is_free = agent is not None and not has_fallback and _is_free(context, agent, configured)
    estimate_ = replace(ESTIMATE, usd=MicroUsd(0)) if is_free else ESTIMATE
    default = estimate_
    for raw in (configured.estimate if configured is not None else None, step):
        if raw is not None:
            estimate_ = Estimate(
                usd=default.usd if raw.usd is None else micro_usd(raw.usd),
                tokens=default.tokens if raw.tokens is None else raw.tokens,
            )
    cap = configured.max_usd if configured is not None else None
    return estimate_ if cap is None else replace(estimate_, cap=micro_usd(cap))


def _is_free(context: CompileContext, agent: str, configured: file.Agent | None) -> bool:
    """Whether its calls are known to cost nothing: by its own prices, else because its type has none."""
    price = None if configured is None else configured.price
    if price is not None:
        rates = (price.input, price.output, price.cache_read, price.cache_write)
        return all(rate is not None for rate in rates[:2]) and not any(rates)
    kind = (configured and configured.type) or agent
    if kind == HUMAN:
        return False
    capabilities = context.source.agent_types.find(kind)
    return capabilities is not None and capabilities.price == "free"
