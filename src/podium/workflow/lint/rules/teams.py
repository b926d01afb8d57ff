"""Team members that a worker may ask (37), and needs of the components of a feature (38)."""

from __future__ import annotations

from collections.abc import Iterator

from podium.workflow.context import WorkflowSource
from podium.workflow.lint.analysis.cycles import find_cycles
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite, feature_of
from podium.workflow.problems import Problem, did_you_mean
from podium.workflow.schema.step import Feature


def check(survey: FileSurvey) -> Iterator[Problem]:
    for site in survey.sites:
        yield from _team(site)
        if site.step.verb == "build":
            feature, context = feature_of(site)
            if feature is not None:
                yield from _feature(context, feature)


def _team(site: StepSite) -> Iterator[Problem]:
    team = site.step.team or {}
    for name, member in team.items():
        if member.role is None and member.agent is None:
            yield site.problem(37, "team", name, message=f'"{name}" has no role or agent', key=True)
        for number, other in enumerate(member.asks):
            place = ("team", name, "asks", number)
            if other == name:
                yield site.problem(37, *place, message=f'"{name}" asks itself')
            elif other not in team:
                message = f'"{name}" asks "{other}", which is not in the team'
                yield site.problem(37, *place, message=message, hint=did_you_mean(other, team))


def _feature(context: WorkflowSource, feature: Feature) -> Iterator[Problem]:
    components = [f"{phase}.{name}" for phase, body in feature.phases.items() for name in body.components]
    edges: dict[str, list[str]] = {name: [] for name in components}
    for phase, body in feature.phases.items():
        for name, component in body.components.items():
            for number, need in enumerate(component.needs or ()):
                full = need if "." in need else f"{phase}.{need}"
                if full in edges:
                    edges[f"{phase}.{name}"].append(full)
                    continue
                message = f"component {phase}.{name} needs {full}, which does not exist"
                hint = did_you_mean(full, components)
                yield context.problem(38, component.at("needs", number), message, hint=hint)
    for cycle in find_cycles({**edges, **_with_barriers(feature, edges)}):
        names = [name for name in cycle if not name.startswith("!")]
        phase, _, name = names[0].partition(".")
        place = feature.phases[phase].components[name].at("needs")
        yield context.problem(38, place, f"cycle: {' -> '.join((*names, names[0]))}", key=True)


def _with_barriers(feature: Feature, edges: dict[str, list[str]]) -> dict[str, list[str]]:
    """The edges with barriers: a strict barrier makes every component of a phase wait for all earlier phases."""
    edges_with_barriers: dict[str, list[str]] = {}
    earlier: list[str] = []
    for phase, body in feature.phases.items():
        own = [f"{phase}.{name}" for name in body.components]
        if body.barrier == "strict" and earlier:
            # A single node for all earlier components keeps this linear.
            edges_with_barriers[f"!{phase}"] = list(earlier)
            edges_with_barriers |= {name: [*edges[name], f"!{phase}"] for name in own}
        earlier += own
    return edges_with_barriers
