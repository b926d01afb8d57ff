"""The fields of `steps.X` that can be read once a step has ended, by verb and modifiers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from podium.core.types import CONTINUING_OUTCOMES, OUTCOMES
from podium.fast_dataclass import dataclass
from podium.workflow.expressions.types import ANY, BOOL, INT, NUMBER, TEXT, Choice, ListOf, MapOf, Type
from podium.workflow.lint.analysis.contracts import contract_of
from podium.workflow.lint.analysis.control_flow import NEVER
from podium.workflow.lint.analysis.survey import StepSite
from podium.workflow.outcomes import runs_parallel
from podium.workflow.workers import workers_of

OUTCOME: Final = Choice(OUTCOMES)
FAILURES: Final[frozenset[str]] = frozenset(OUTCOMES) - CONTINUING_OUTCOMES - {"partial"}
ALWAYS: Final[Mapping[str, Type]] = MappingProxyType(
    {
        "outcome": OUTCOME,
        "reason": TEXT,
        "degraded": BOOL,
        "visit": INT,
        "attempts": INT,
        "duration": NUMBER,
        "usd": NUMBER,
        "notes": ANY,
    }
)
VERDICT: Final = MapOf(
    MappingProxyType({"decision": TEXT, "score": NUMBER, "by": ANY, "tree": TEXT}), name="verdict"
)
FINDING: Final = MapOf(
    MappingProxyType(
        {
            **dict.fromkeys(("id", "severity", "issue", "status"), TEXT),
            **dict.fromkeys(("fix", "path", "line"), ANY),
        }
    ),
    name="a finding",
)
JUDGED: Final[Mapping[str, Type]] = {"verdict": VERDICT, "findings": ListOf(FINDING)}
MISSING: Final = ListOf(
    MapOf(MappingProxyType({"name": TEXT, "outcome": OUTCOME, "reason": TEXT}), name="missing")
)
WORK: Final[Mapping[str, Type]] = MappingProxyType({"text": TEXT, "files": ListOf(TEXT), "diff": TEXT})

UNKNOWN: Final[Mapping[str, Type]] = MappingProxyType(
    dict.fromkeys(
        (
            "output",
            "text",
            "files",
            "diff",
            "verdict",
            "findings",
            "members",
            "missing",
            "iterations",
            "steps",
        ),
        ANY,
    )
)
"""The fields of a step whose verb is invalid, which was already reported."""


@dataclass(frozen=True, slots=True)
class Result:
    """`late` are the fields that a step has only if it ran, whatever its outcome."""

    fields: Mapping[str, Type]
    optional: frozenset[str] = frozenset()

    @property
    def late(self) -> frozenset[str]:
        return frozenset(self.fields) - frozenset(ALWAYS)

    def readable_after(self, outcomes: frozenset[str], *, fragile: frozenset[str] = frozenset()) -> MapOf:
        """The type after one of these outcomes; `fragile` are those that may leave no output."""
        optional = self.optional
        if NEVER in outcomes:
            optional = frozenset(self.fields)
        elif "skipped" in outcomes:
            optional |= self.late
        elif fragile & outcomes:
            optional |= {"output"} & frozenset(self.fields)
        return MapOf(MappingProxyType(dict(self.fields)), optional=optional)


def result_of(site: StepSite, *, inner: Mapping[str, Type], item: Type) -> Result:
    """`inner` are the types of the steps inside, `item` that of the loop's items."""
    single = iteration_of(site, inner=inner)
    step = site.step
    if step.for_each is None and step.repeat is None:
        return single
    output = single.fields.get("output", ANY)
    iteration = {
        "index": INT,
        "item": item,
        "key": TEXT,
        "outcome": OUTCOME,
        "output": output,
        "steps": MapOf(MappingProxyType(dict(inner)), open=not inner),
    }
    looped = {
        "output": ListOf(output) if step.for_each is not None else output,
        "iterations": ListOf(MapOf(MappingProxyType(iteration), name="an iteration")),
        "missing": MISSING,
    }
    return Result({**ALWAYS, **WORK, **looped})


def iteration_of(site: StepSite, *, inner: Mapping[str, Type]) -> Result:
    """The result of one iteration, or of a step that is not a loop."""
    fields: dict[str, Type] = {**ALWAYS, **_of_verb(site, inner)}
    if any(gate.verb in {"review", "human"} for gate in site.gates()):
        fields |= JUDGED
    return Result(fields, frozenset(_undeclared(site)))


def _undeclared(site: StepSite) -> tuple[str, ...]:
    """The optional fields of a command: it has tests and coverage only if it declares their reports."""
    if site.step.verb != "run":
        return ()
    return tuple(
        field for field, key in (("tests", site.step.junit), ("coverage", site.step.coverage)) if key is None
    )


def _of_verb(site: StepSite, inner: Mapping[str, Type]) -> Mapping[str, Type]:
    step = site.step
    match step.verb:
        case "agent":
            return _of_agents(site)
        case "run":
            more = {"exit_code": INT, "tests": ANY, "coverage": NUMBER}
            return {**WORK, **more, "output": contract_of(site).type}
        case "review":
            return {**JUDGED, "members": _members(ANY), "missing": MISSING}
        case "human":
            answer = {} if step.output is None else {"output": contract_of(site).type}
            return {**JUDGED, **answer}
        case "wait":
            return {"output": ANY, "text": TEXT}
        case "check" | "set" | "git" | "continue_as":
            return {}
        case "steps":
            return {**WORK, **_of_block(site, inner)}
        case "workflow":
            return {**WORK, "output": _outputs(site)}
        case "build":
            return {**WORK, "output": ANY, "members": ListOf(ANY), "missing": MISSING}
        case _:
            return UNKNOWN


def _of_agents(site: StepSite) -> Mapping[str, Type]:
    output = contract_of(site).type
    if not site.step.has_list:
        return {**WORK, "output": output}
    if site.step.join == "best" and site.step.for_each is None:
        return {**WORK, "output": output, "members": _members(output), "missing": MISSING}
    if site.step.panel_key is not None:
        # The names of the members are known only during the run.
        return {**WORK, "output": ANY, "members": _members(output), "missing": MISSING}
    names = [worker.name for worker in workers_of(site.context, site.step)]
    # Which member will be missing is unknown, so each is optional if the step may continue with some.
    partial = (
        frozenset(names)
        if "partial" in site.step.on or "else" in site.step.on or site.step.pass_
        else frozenset()
    )
    by_member = MapOf(MappingProxyType(dict.fromkeys(names, output)), optional=partial)
    return {**WORK, "output": by_member, "members": _members(output), "missing": MISSING}


def _members(output: Type) -> Type:
    fields = {"name": TEXT, "output": output, "text": TEXT, "files": ListOf(TEXT), "verdict": VERDICT}
    return ListOf(MapOf(MappingProxyType(fields), name="a member"))


def _of_block(site: StepSite, inner: Mapping[str, Type]) -> Mapping[str, Type]:
    steps = site.step.steps or {}
    ordered = not runs_parallel(site.step) and all(step.needs is None for step in steps.values())
    fields: dict[str, Type] = {"output": ANY, "steps": MapOf(MappingProxyType(dict(inner)))}
    if not ordered:
        fields |= {"members": _members(ANY), "missing": MISSING}
    return fields


def _outputs(site: StepSite) -> Type:
    """The type of another workflow's outputs; without `outputs` it is the output of its last step."""
    child = site.context.child(site.step)
    if child is None or not child.file.outputs:
        return ANY
    return MapOf(MappingProxyType(dict.fromkeys(child.file.outputs, ANY)), name=str(site.step.workflow))


def fragile_outcomes(site: StepSite) -> frozenset[str]:
    """The outcomes that may leave the step without an output: text nearly always exists, a checked value may not.

    A loop over items has one once it began: the list of the results that passed.
    """
    step = site.step
    if step.for_each is not None:
        return frozenset({"blocked"}) if site.block.kind == "dag" else frozenset()
    if step.verb in {"human", "wait", "workflow"}:
        return FAILURES
    if step.verb in {"agent", "run"} and contract_of(site).kind in {"schema", "json", "choice"}:
        # What was aborted by a reviewer or could not be merged was complete before.
        return FAILURES - {"aborted", "conflict"}
    return frozenset()
