"""Counts: loops without an end (23), rules that cannot be met (29), trees that cannot be joined (31)."""

from __future__ import annotations

from collections.abc import Iterator

from podium.workflow.context import WorkflowSource
from podium.workflow.defaults import LIMITS
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite, feature_of
from podium.workflow.lint.rules.file_claims import changes_files
from podium.workflow.outcomes import runs_parallel
from podium.workflow.problems import Problem, did_you_mean
from podium.workflow.schema.parts import DocPath
from podium.workflow.schema.scalars import INSERT
from podium.workflow.schema.step import Gate, StepOrGate
from podium.workflow.workers import workers_of


def check(survey: FileSurvey) -> Iterator[Problem]:
    yield from _policies(survey.context)
    yield from _reserve(survey.context)
    for named in survey.context.file.gates.values():
        yield from _approvals(survey.context, named)
    for site in survey.sites:
        yield from _approvals(site.context, site.step)
        yield from _loop_bounds(site)
        yield from _pass(site)
        yield from _members(site)
        yield from _carry(site)
        yield from _join(site)
        for gate in site.step.gates:
            if isinstance(gate, Gate):
                yield from _judges(site, gate)
                yield from _approvals(site.context, gate)


def _loop_bounds(site: StepSite) -> Iterator[Problem]:
    repeat = site.step.repeat
    if repeat is None:
        return
    if repeat.max is None and not _is_broken(site, "repeat", "max"):
        yield site.problem(23, "repeat", message="repeat needs max", hint="max: 5", key=True)
    tests = [word for word in ("until", "while") if repeat.has(word) or _is_broken(site, "repeat", word)]
    if len(tests) != 1:
        yield site.problem(23, "repeat", message="repeat needs exactly one of until and while", key=True)


def _is_broken(site: StepSite, *keys: str) -> bool:
    """Whether a key was invalid, and therefore reported and omitted."""
    return site.step.at(*keys) in site.context.broken


def _pass(site: StepSite) -> Iterator[Problem]:
    """Rule 29: a number of members that can be reached."""
    step = site.step
    count = _member_count(site)
    if type(step.pass_) is int and count is not None and step.pass_ > count:
        yield site.problem(29, "pass", message=f"pass: {step.pass_} is more than {count} members")
    inner_is_ordered = step.verb == "steps" and step.for_each is None and not _is_wide(site)
    if step.pass_ is not None and inner_is_ordered:
        message = f'pass has no effect on "{site.name}": its steps run one after another and must all pass'
        yield site.problem(
            29, "pass", message=message, hint="add parallel: true to run them in parallel", key=True
        )


def _judges(site: StepSite, gate: StepOrGate) -> Iterator[Problem]:
    count = len(gate.review) if isinstance(gate.review, tuple) else 1
    if type(gate.pass_) is int and gate.review is not None and gate.pass_ > count:
        yield site.context.problem(29, gate.at("pass"), f"pass: {gate.pass_} is more than {count} members")


def _approvals(context: WorkflowSource, judge: StepOrGate) -> Iterator[Problem]:
    """Checks a level that needs answers; a policy has its own people, and below `human` no answer is needed."""
    level = judge.level or "human"
    if judge.approvals is not None and (level == "human" or INSERT in level):
        more = judge.escalate.to if judge.escalate is not None else ()
        yield from _enough_people(context, judge.approvals, (*(judge.by or ()), *more), judge.at("approvals"))


def _policies(context: WorkflowSource) -> Iterator[Problem]:
    for name, rules in context.file.policies.items():
        for number, rule in enumerate(rules):
            if rule.level == "human":
                path = ("policies", name, number, "approvals")
                yield from _enough_people(context, rule.approvals, rule.by, path)


def _reserve(context: WorkflowSource) -> Iterator[Problem]:
    """Rule 29: what is reserved for `finally` leaves something for the steps."""
    limits = context.file.limits
    reserve = None if limits is None else limits.finally_
    if limits is None or reserve is None:
        return
    usd = LIMITS.usd / 1_000_000 if LIMITS.usd is not None else None
    for unit, amount, limit in (
        ("usd", reserve.usd, limits.most("usd") if limits.has("usd") else usd),
        ("tokens", reserve.tokens, limits.most("tokens")),
        ("calls", reserve.calls, limits.most("calls")),
    ):
        if amount is not None and limit is not None and amount >= limit:
            message = f"limits.finally.{unit}: {amount} leaves nothing of limits.{unit}: {limit}"
            yield context.problem(29, ("limits", "finally", unit), message=message)


def _enough_people(
    context: WorkflowSource, approvals: int, by: tuple[str, ...], path: DocPath
) -> Iterator[Problem]:
    """Rule 29; without a known group, a name may be that of a group in another configuration."""
    groups = {name: context.file.people[name] for name in by if name in context.file.people}
    people = {person for name in by for person in groups.get(name, (name,))}
    if groups and approvals > len(people):
        names = ", ".join(sorted(people)) or "no one"
        message = f"approvals: {approvals}, but only {len(people)} may answer"
        yield context.problem(29, path, message, hint=f"{', '.join(by)}: {names}")


def _member_count(site: StepSite) -> int | None:
    """The number of members, as far as the file says."""
    step = site.step
    if step.panel_key is not None and step.limits is not None:
        most: int | None = step.limits.most("members")
        return most
    if step.for_each is not None:
        return len(step.for_each.in_) if isinstance(step.for_each.in_, tuple) else None
    if step.verb == "review":
        return len(step.review) if isinstance(step.review, tuple) else 1
    if step.verb == "agent":
        return len(workers_of(site.context, step))
    if step.verb == "build":
        feature, _ = feature_of(site)
        is_designed = feature is None or step.design is not None
        return (
            None
            if is_designed or feature is None
            else max((len(p.components) for p in feature.phases.values()), default=0)
        )
    return len(step.steps) if step.steps is not None and _is_wide(site) else None


def _is_wide(site: StepSite) -> bool:
    steps = site.step.steps or {}
    return runs_parallel(site.step) or any(step.needs is not None for step in steps.values())


def _members(site: StepSite) -> Iterator[Problem]:
    """Rule 29: no more members than the limit."""
    limits = site.context.file.limits
    own = site.step.limits.most("members") if site.step.limits is not None else None
    maximum = own or (limits.most("members") if limits is not None else None) or LIMITS.members or 0
    loop = site.step.for_each
    if loop is not None and isinstance(loop.in_, tuple) and len(loop.in_) > maximum:
        message = f"for_each over {len(loop.in_)} items exceeds limits.members"
        yield site.problem(29, "for_each", message=message, hint=f"limits.members is {maximum}", key=True)
    for key in ("role", "agent", "review"):
        names = site.step.get(key)
        if isinstance(names, tuple) and len(names) > maximum:
            message = f'a list of {len(names)} under "{key}" exceeds limits.members'
            yield site.problem(29, key, message=message, hint=f"limits.members is {maximum}", key=True)


def _carry(site: StepSite) -> Iterator[Problem]:
    """Carried variables exist, and their iterations come one after another."""
    loop, declared = site.step.for_each, site.context.file.vars
    if loop is None or loop.carry is None:
        return
    if runs_parallel(site.step) or loop.needs is not None:
        hint = "remove parallel and needs, or carry nothing"
        message = "carry needs iterations that run one after another"
        yield site.problem(5, "for_each", "carry", message=message, hint=hint, key=True)
    for name in loop.carry:
        if name not in declared:
            hint = did_you_mean(name, declared) or f"declare it at the top: vars: {{{name}: ...}}"
            message = f'carry names "{name}", which is not a variable'
            yield site.problem(15, "for_each", "carry", message=message, hint=hint, key=True)


def _join(site: StepSite) -> Iterator[Problem]:
    """Rule 31."""
    step = site.step
    has_list = step.verb == "agent" and step.has_list
    if step.join == "best" and (not has_list or step.for_each is not None):
        yield site.problem(31, "join", message="join: best needs a list of agents")
    if has_list and step.join is None and step.for_each is None:
        workers = workers_of(site.context, step)
        if (len(workers) > 1 or step.panel_key) and any(
            changes_files(site, worker.known_role) for worker in workers
        ):
            number = "several" if step.panel_key else len(workers)
            message = (
                f'"{site.name}" has {number} workers that change files; add join: best, queue or discard'
            )
            yield site.problem(31, message=message, key=True)
