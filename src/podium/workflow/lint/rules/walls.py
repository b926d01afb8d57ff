"""Rule 39: no agent that approves its own actions runs behind walls weaker than it needs."""

from __future__ import annotations

from collections.abc import Iterator

from podium.workflow.agent_capabilities import LADDER
from podium.workflow.lint.analysis.assigned_agents import Player, agent_of, capabilities_of, players, type_of
from podium.workflow.lint.analysis.survey import Survey
from podium.workflow.problems import Problem


def check(survey: Survey, available: str) -> Iterator[Problem]:
    """`available` is the strongest level that this machine has."""
    best = LADDER.index(available)
    for player in players(survey):
        demanded = _demanded(player)
        if demanded is not None:
            if LADDER.index(demanded) > best:
                message = f"sandbox: {demanded} is not available; available: {available}"
                yield player.site.context.problem(39, player.path, message)
            continue
        agent = agent_of(player.worker)
        able = capabilities_of(player.site.context, agent) if agent is not None else None
        if agent is not None and able is not None and LADDER.index(able.needs) > best:
            shown = type_of(player.site.context, agent)
            message = f"{shown} with auto-approval needs at least {able.needs}; available: {available}"
            hint = "sandbox: none, if you accept that it can do whatever you can"
            yield player.site.context.problem(39, player.path, message, hint=hint)


def _demanded(player: Player) -> str | None:
    """The level that was typed, the nearest first; `auto` leaves it to the machine."""
    role, file = player.worker.known_role, player.site.context.file
    own = (player.judge or player.site.step).sandbox
    for sandbox in (own, role.sandbox if role is not None else None, file.sandbox):
        if sandbox is not None and sandbox.level is not None:
            return None if sandbox.level == "auto" else sandbox.level
    return None
