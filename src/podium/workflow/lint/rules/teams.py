"""Team members that a worker may ask (37), and needs of the components of a feature (38)."""

from __future__ import annotations

from collections.abc import Iterator

from podium.workflow.agent_capabilities import HUMAN
from podium.workflow.context import WorkflowSource
from podium.workflow.defaults import TEAM_MESSAGES
from podium.workflow.lint.analysis.cycles import find_cycles
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite, feature_of
from podium.workflow.problems import Problem, did_you_mean
from podium.workflow.schema.step import Feature, TeamMember


def check(survey: FileSurvey) -> Iterator[Problem]:
    for site in survey.sites:
        yield from _team(site)
        if site.step.verb == "build":
            feature, context = feature_of(site)
            if feature is not None:
                yield from _feature(context, feature)


def _team(site: StepSite) -> Iterator[Problem]:
    team = site.step.team or {}
    if team and site.step.agent == HUMAN:
        yield site.problem(37, "team", message="a person who does a step has no team to ask", key=True)
    own = site.step.role if isinstance(site.step.role, str) else site.name
    gates = {gate.name for gate in site.gates()}
    for name, member in team.items():
        if name == own:
            message = f'"{name}" is what the worker of the step itself is called; choose another name'
            yield site.problem(37, "team", name, message=message, key=True)
        if name in gates:
            message = f'"{name}" is the name of a gate of this step; choose another name'
            yield site.problem(37, "team", name, message=message, key=True)
        yield from _person(site, name, member)
        yield from _conversation(site, name, member)
        if member.role is None and member.agent is None:
            yield site.problem(37, "team", name, message=f'"{name}" has no role or agent', key=True)
        for number, other in enumerate(member.asks):
            place = ("team", name, "asks", number)
            if other == name:
                yield site.problem(37, *place, message=f'"{name}" asks itself')
            elif other not in team:
                message = f'"{name}" asks "{other}", which is not in the team'
                yield site.problem(37, *place, message=message, hint=did_you_mean(other, team))


def _person(site: StepSite, name: str, member: TeamMember) -> Iterator[Problem]:
    """A person only answers: other keys would have no effect."""
    if member.agent != HUMAN:
        return
    for key in member.written_keys():
        if key not in ("agent", "when_done", "timeout", "until", "turns"):
            message = f'"{name}" is a person, who answers questions; {key} has no effect'
            yield site.problem(37, "team", name, key, message=message, key=True)


def _conversation(site: StepSite, name: str, member: TeamMember) -> Iterator[Problem]:
    """A worker takes turns with one person, and its prompt must have room for what was said."""
    if not member.converses:
        return
    key = "until" if member.until is not None else "turns"
    if member.agent != HUMAN:
        message = f'{key} makes "{name}" a conversation, which is possible only with a person'
        yield site.problem(37, "team", name, key, message=message, hint="write agent: human", key=True)
        return
    others = [other for other, each in (site.step.team or {}).items() if each.converses]
    if others[0] != name:
        message = f'the step has a conversation with "{others[0]}" already; "{name}" can only be asked'
        yield site.problem(37, "team", name, key, message=message, key=True)
    if member.until is not None and not member.until.strip():
        yield site.problem(37, "team", name, "until", message="until needs a word")
    if member.when_done:
        message = f'"{name}" has a conversation before the work is done; when_done has no effect'
        yield site.problem(37, "team", name, "when_done", message=message, key=True)
    if site.step.stdin is not None:
        message = "with stdin nothing is added to the prompt, so the agent would not get the answers"
        yield site.problem(37, "team", name, key, message=message, hint="write prompt:", key=True)
    messages = None if site.step.limits is None else site.step.limits.messages
    most = messages if isinstance(messages, int) else TEAM_MESSAGES if messages is None else None
    if member.turns is not None and most is not None and member.turns > most:
        message = f"turns: {member.turns} is more than the {most} messages that the team may send"
        hint = f"write limits: {{messages: {member.turns}}}"
        yield site.problem(37, "team", name, "turns", message=message, hint=hint)


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
